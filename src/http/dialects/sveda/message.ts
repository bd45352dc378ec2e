// `POST /sveda/message`: a turn, answered as one JSON object when it has ended.
import { sseReader } from "../../../wire/sse-reader.ts";
import { asCount, asRecord, asText, parseJson } from "../../../wire/json.ts";
import type { SvedaContext } from "./context.ts";
import { svedaFound, svedaProblemResponse } from "./problem.ts";
import { runHeaders } from "./reading.ts";
import { openTurn } from "./turn.ts";

/** Bytes of one event: what a run may produce at most, written as JSON, stays below. */
const MAX_EVENT = 256 * 1024 * 1024;

export async function answerTurn(context: SvedaContext): Promise<Response> {
  // A cursor is for streams: the answer is the whole one.
  const turn = await openTurn(context, () => svedaFound("start"));
  if (!turn.ok) return svedaProblemResponse(turn.problem);
  const { runId, chatId, reading } = turn.value;
  const { text, tokens, finishReason, error } = await collect(reading.body);
  const headers = { "cache-control": "no-store", ...runHeaders(runId) };
  if (error !== undefined && text === "") {
    return svedaProblemResponse({ code: "failed", message: error.message }, headers);
  }
  return Response.json(
    {
      explanation: text,
      tokens_used: tokens,
      chat_id: chatId,
      ...(finishReason !== "stop" && { finish_reason: finishReason }),
      ...(error !== undefined && { error }),
    },
    { headers },
  );
}

interface Answer {
  text: string;
  tokens: number;
  finishReason: string;
  error: { code: string; message: string } | undefined;
}

async function collect(body: ReadableStream<Uint8Array> | null): Promise<Answer> {
  const answer: Answer = { text: "", tokens: 0, finishReason: "stop", error: undefined };
  const frames = sseReader(MAX_EVENT);
  for await (const bytes of body ?? []) {
    for (const item of frames.feed(bytes)) if ("data" in item) note(answer, asRecord(parseJson(item.data)?.value));
  }
  return answer;
}

function note(answer: Answer, event: Record<string, unknown> = {}): void {
  if (event["type"] === "text.delta") answer.text += asText(event["delta"]) ?? "";
  if (event["type"] === "error") {
    answer.error = { code: asText(event["code"]) ?? "unknown", message: asText(event["message"]) ?? "" };
  }
  if (event["type"] === "message.end") {
    answer.tokens = asCount(asRecord(event["usage"])?.["totalTokens"]) ?? 0;
    answer.finishReason = asText(event["finishReason"]) ?? "stop";
  }
}
