// From the body of a Sveda turn to what is asked: which prompt, the conversation before it, tools, decisions. Pure; knows no stored chat.
import * as v from "valibot";
import type { DisplayMessage, TurnRequest } from "../../schemas/chat.ts";
import { svedaRequestSchema } from "../../schemas/dialects/sveda.ts";
import { objectSchema } from "../../schemas/json-schema.ts";
import { crc32 } from "../wire/crc32.ts";
import { asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { readMessage, type MessageReading } from "./sveda-message.ts";

export interface ClientTool {
  name: string;
  description: string;
  /** JSON Schema of the input object. */
  parameters: JsonRecord;
}

export interface SvedaTurn extends Pick<TurnRequest, "display" | "history" | "prompt" | "images" | "decisions"> {
  /** `undefined`: the client names no chat. */
  chatId: string | undefined;
  /** The same for a repeat of the turn; `undefined`: nothing but the body's bytes can tell. */
  identity: string | undefined;
  clientTools: ClientTool[];
  /** What the host page says of itself. */
  context: JsonRecord | undefined;
  model: string | undefined;
  thinking: boolean;
}

/** `path`: JSON pointer to the field. */
export type TurnReading = { ok: true; turn: SvedaTurn } | { ok: false; path: string; message: string };

const toolName = /^[A-Za-z0-9_-]{1,64}$/;

/** `body`: parsed JSON of a bounded depth. `key`: the request's Idempotency-Key. */
export function readTurn(body: unknown, key: string | undefined): TurnReading {
  // The body itself goes on, not valibot's copy: the copy lacks user keys named `constructor` and `prototype`.
  if (!v.is(svedaRequestSchema, body)) return typeFault(body);
  const tools = readTools(body.clientTools ?? []);
  if (!tools.ok) return tools;
  const { clientTools } = tools;
  const names = new Set(clientTools.map(({ name }) => name));
  const messages = withoutEmptyEnd(
    (body.messages ?? []).map((message) => readMessage(message, (name) => (names.has(name) ? "client" : "server"))),
  );
  const last = messages.at(-1);
  const asked = last?.role === "user" ? last : undefined;
  const prompt = promptOf(last, body.prompt ?? "");
  const before = asked === undefined ? messages : messages.slice(0, -1);
  const decisions = readDecisions(body.toolDecisions ?? []);
  return {
    ok: true,
    turn: {
      chatId: asText(body.chatId?.trim().toWellFormed()),
      identity: identityOf(key, decisions, last, prompt),
      display: displayOf(messages),
      history: before.flatMap(({ entries }) => entries),
      prompt,
      ...(asked !== undefined && asked.images.length > 0 && { images: asked.images }),
      decisions,
      clientTools,
      context: body.context ?? undefined,
      model: asText(body.model?.trim()),
      thinking: body.options?.["thinking"] !== false,
    },
  };
}

function typeFault(body: unknown): TurnReading {
  const [issue] = v.safeParse(svedaRequestSchema, body).issues ?? [];
  const path = (issue?.path ?? []).map(({ key }) => `/${String(key)}`).join("");
  const message = issue?.type === "max_length" ? "is too long" : "has the wrong type or value";
  return { ok: false, path, message };
}

/** Clients that are asked to go on send the answer that was begun, and it may be empty. */
function withoutEmptyEnd(messages: readonly MessageReading[]): readonly MessageReading[] {
  const end = messages.findLastIndex(
    ({ role, text, reasoning, entries }) =>
      role !== "assistant" || text !== "" || reasoning !== "" || entries.length > 0,
  );
  return messages.slice(0, end + 1);
}

function promptOf(last: MessageReading | undefined, prompt: string): string {
  switch (last?.role) {
    case "user":
      return last.text;
    case "tool":
      return "";
    case "assistant":
    case "system":
    case undefined:
      return prompt.trim();
  }
}

/** An entry without a name is dropped; one that a provider would refuse is the client's fault, and told so. */
function readTools(
  entries: readonly unknown[],
): { ok: true; clientTools: ClientTool[] } | { ok: false; path: string; message: string } {
  const tools = new Map<string, ClientTool>();
  for (const [index, entry] of entries.entries()) {
    const tool = asRecord(entry);
    const name = asText(tool?.["name"]);
    if (tool === undefined || name === undefined) continue;
    const path = `/clientTools/${index}`;
    if (!toolName.test(name)) {
      return { ok: false, path: `${path}/name`, message: "must be 1 to 64 letters, digits, '_' or '-'" };
    }
    const parameters = objectSchema(tool["parameters"] ?? {});
    if ("fault" in parameters) {
      return { ok: false, path: `${path}/parameters${parameters.fault}`, message: "is not a JSON Schema of an object" };
    }
    const description = asText(tool["description"]) ?? "";
    if (!tools.has(name)) tools.set(name, { name, description, parameters: parameters.schema });
  }
  return { ok: true, clientTools: [...tools.values()] };
}

function readDecisions(entries: readonly unknown[]): TurnRequest["decisions"] {
  const decisions = new Map<string, "approve" | "deny">();
  for (const entry of entries) {
    const id = asText(asRecord(entry)?.["toolCallId"]);
    const word = asText(asRecord(entry)?.["decision"])?.trim().toLowerCase();
    if (id === undefined || (word !== "approve" && word !== "deny") || decisions.has(id)) continue;
    decisions.set(id, word);
  }
  return [...decisions].map(([toolCallId, decision]) => ({ toolCallId, decision }));
}

/** A turn that goes on from an answer has no message of its own: what is new in it counts too. */
function identityOf(
  key: string | undefined,
  decisions: TurnRequest["decisions"],
  last: MessageReading | undefined,
  prompt: string,
): string | undefined {
  if (key !== undefined) return `key ${key}`;
  if (decisions.length > 0) {
    const pairs = decisions.map(({ toolCallId, decision }) => [toolCallId, decision]);
    return `decisions ${JSON.stringify(pairs.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)))}`;
  }
  if (last === undefined || asText(last.id) === undefined) return undefined;
  const { id, text, images, results } = last;
  // Some clients give one id to all of their messages.
  return last.role === "assistant"
    ? `answer ${JSON.stringify([id, prompt, results])}`
    : `message ${JSON.stringify([id, text, images, results])}`;
}

/** Ids stay as they are. A message without one is named by its place and all that was said up to it: the same in every turn. */
function displayOf(messages: readonly MessageReading[]): DisplayMessage[] {
  const encoder = new TextEncoder();
  const free = freeNames();
  let said = 0;
  return messages.map(({ id, role, content, parts, reasoning }, index) => {
    said = crc32(encoder.encode(JSON.stringify([said, role, content, parts])));
    const named = free(asText(id) ?? `message_${index}_${said.toString(16)}`);
    return { id: named, role, content, parts, ...(reasoning !== "" && { reasoning }) };
  });
}

/** Gives each name once: a name that comes again gets a number. */
function freeNames(): (name: string) => string {
  const taken = new Map<string, number>();
  return (name) => {
    let number = taken.get(name) ?? 0;
    let wanted = name;
    do wanted = ++number === 1 ? name : `${name}.${number}`;
    while (wanted !== name && taken.has(wanted));
    taken.set(name, number);
    if (wanted !== name) taken.set(wanted, 1);
    return wanted;
  };
}
