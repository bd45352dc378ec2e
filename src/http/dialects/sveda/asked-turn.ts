// A turn as it is asked for: what the body says, who asks, under which policy. Begins nothing.
import * as v from "valibot";
import type { Policy } from "../../../../schemas/config.ts";
import { readTurn, type SvedaTurn } from "../../../dialects/sveda-request.ts";
import { sha256Hex } from "../../digest.ts";
import { IDEMPOTENCY_KEY } from "../../idempotency-key.ts";
import { readBody } from "./body.ts";
import type { SvedaContext } from "./context.ts";
import { chosenModel, type ChosenModel } from "./models.ts";
import { svedaFound, svedaRefused, type SvedaResult } from "./problem.ts";
import { policyOf, visitorOf, type Visitor } from "./visitor.ts";

export interface AskedTurn {
  visitor: Visitor;
  policy: Policy | undefined;
  turn: SvedaTurn;
  body: Record<string, unknown>;
  chatId: string;
  /** `undefined`: the request names none that is known. */
  model: ChosenModel | undefined;
}

/** In the order in which clients are told: the body, the token, the policy. */
export async function askedTurn(context: SvedaContext): Promise<SvedaResult<AskedTurn>> {
  const read = await readRequest(context);
  if (!read.ok) return read;
  const { turn, key, body } = read.value;
  const visitor = await visitorOf(context.request, context.env);
  if (!visitor.ok) return visitor;
  const policy = policyOf(visitor.value, context.config);
  if (!policy.ok) return policy;
  const chatId = turn.chatId ?? (await newChatId(visitor.value, key));
  const model = chosenModel(turn.model ?? "", context.config);
  return svedaFound({ visitor: visitor.value, policy: policy.value, turn, body, chatId, model });
}

interface ReadRequest {
  turn: SvedaTurn;
  key: string | undefined;
  body: Record<string, unknown>;
}

async function readRequest({ request, config }: SvedaContext): Promise<SvedaResult<ReadRequest>> {
  const body = await readBody(request, v.record(v.string(), v.unknown()), config.limits.maxBodyBytes);
  if (!body.ok) return body;
  const key = request.headers.get("idempotency-key") ?? undefined;
  if (key !== undefined && !IDEMPOTENCY_KEY.test(key)) {
    return svedaRefused({ code: "field", message: "Idempotency-Key must be 1 to 255 visible ASCII characters." });
  }
  const reading = readTurn(body.value, key);
  if (!reading.ok) {
    return svedaRefused({ code: "field", message: `The body is not valid: ${reading.path} ${reading.message}.` });
  }
  return svedaFound({ turn: reading.turn, key, body: body.value });
}

/** With a key a repeat finds the chat that was made for the first one. */
async function newChatId({ tenant, visitor }: Visitor, key: string | undefined): Promise<string> {
  if (key === undefined) return `chat_${crypto.randomUUID()}`;
  const hash = await sha256Hex(`${tenant}/${visitor}\n${key}`);
  return `chat_${hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")}`;
}
