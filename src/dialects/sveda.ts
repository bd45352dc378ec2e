// The Sveda dialect: the log as the eleven events of the Sveda stream protocol 1.0, over SSE. It shows no retraction: its clients have no word for one.
import * as v from "valibot";
import type { SvedaEvent } from "../../schemas/dialects/sveda.ts";
import { payloadSchemas, type LogEntry, type Payload } from "../../schemas/event.ts";
import { outcomeSchema } from "../../schemas/outcome.ts";
import { parseJson } from "../wire/json.ts";
import { exactInputOf, exactOutputOf, renderDataOf } from "../wire/log-entry.ts";
import { SSE_HEARTBEAT, sseData, sseFrame, ssePreamble } from "../wire/sse-writer.ts";
import type { EntryDialect, DialectRun } from "./dialect.ts";
import { errorEvent, finishOf } from "./sveda-end.ts";

const DONE = "[DONE]";

/** What the events of a turn's message have in common. */
interface Names {
  chatId?: string;
  messageId: string;
  timestamp: string;
}

export const svedaSse: EntryDialect = {
  contentType: "text/event-stream",
  preamble: ssePreamble(),
  heartbeat: SSE_HEARTBEAT,
  replaces: false,
  ending: sseData(DONE),
  encoder(run) {
    const names = namesOf(run);
    const rest = JSON.stringify(names).slice(1);
    return (entry) => {
      const { sequence, type } = entry;
      if (type === "content_delta")
        return sseFrame(sequence, `{"type":"text.delta","delta":${textJson(entry)},${rest}`);
      if (type === "reasoning_delta") {
        return sseFrame(sequence, `{"type":"reasoning.delta","delta":${textJson(entry)},${rest}`);
      }
      if (type === "content_snapshot") {
        const text = wholeText(entry);
        return text === "" ? "" : sseFrame(sequence, `{"type":"text.delta","delta":${JSON.stringify(text)},${rest}`);
      }
      if (type === "terminal") return ending(entry, names);
      const event = eventOf(entry, names);
      return event === undefined ? "" : sseFrame(sequence, JSON.stringify(event));
    };
  },
  failure: (error) => frame(errorEvent(error)) + frame({ type: "message.end", finishReason: "error" }) + sseData(DONE),
};

const frame = (event: SvedaEvent): string => sseData(JSON.stringify(event));

const rfc3339 = (at: number): string => new Date(at).toISOString();

const payloadOf = (entry: LogEntry): unknown => parseJson(entry.payload)?.value;

function namesOf({ runId, startedAt, chatId }: DialectRun): Names {
  return { ...(chatId !== undefined && { chatId }), messageId: `msg_${runId}`, timestamp: rfc3339(startedAt) };
}

/** The text as JSON. Deltas are nearly all of a stream: what is stored as nothing but a text is not parsed. */
function textJson(entry: LogEntry): string {
  if (entry.text !== undefined) return JSON.stringify(entry.text);
  const payload = payloadOf(entry);
  return JSON.stringify(v.is(payloadSchemas.content_delta, payload) ? payload.text : "");
}

/** A text that came at once: of one that replaces another no frame is asked for. What is restated was shown. */
function wholeText(entry: LogEntry): string {
  const payload = payloadOf(entry);
  const isFirst = v.is(payloadSchemas.content_snapshot, payload) && payload.releasedFrom === undefined;
  return isFirst ? payload.text : "";
}

/** The event that an entry is shown as; `undefined` when it is not shown. */
function eventOf(entry: LogEntry, names: Names): SvedaEvent | undefined {
  switch (entry.type) {
    case "lifecycle":
    case "tool_call":
    case "tool_result":
    case "tool_progress":
    case "context_usage":
    case "max_steps":
      return shown(entry, payloadOf(entry), names);
  }
  return undefined;
}

function shown({ type, at }: LogEntry, payload: unknown, names: Names): SvedaEvent | undefined {
  if (type === "lifecycle" && v.is(payloadSchemas.lifecycle, payload)) {
    return payload.phase === "started" ? { type: "message.start", ...names } : undefined;
  }
  if (type === "tool_call" && v.is(payloadSchemas.tool_call, payload)) return toolCall(payload, names);
  if (type === "tool_result" && v.is(payloadSchemas.tool_result, payload)) return toolResult(payload, at, names);
  if (type === "tool_progress" && v.is(payloadSchemas.tool_progress, payload)) {
    const { phase, tasks, carried } = payload;
    const own = carried === undefined ? names : { timestamp: rfc3339(at) };
    return { type: "tool.progress", ...(phase !== undefined && { phase }), tasks, ...own };
  }
  if (type === "context_usage" && v.is(payloadSchemas.context_usage, payload)) {
    const { usedTokens, maxTokens, percent } = payload;
    return { type: "context.usage", usedTokens, maxTokens, percent, ...names };
  }
  if (type === "max_steps" && v.is(payloadSchemas.max_steps, payload)) {
    const { maxSteps, canContinue } = payload;
    return { type: "max_steps", maxSteps, canContinue, ...names };
  }
  return undefined;
}

function toolCall(call: Payload<"tool_call">, names: Names): SvedaEvent {
  const { toolCallId, toolName, execution, confirmation } = call;
  return {
    type: "tool.call",
    toolCallId,
    toolName,
    target: execution === "server" ? "backend" : "frontend",
    input: exactInputOf(call),
    ...(confirmation !== undefined && { confirmation }),
    ...names,
  };
}

/** The result of a decision, and its progress too, belongs to a message of an earlier turn, and comes before this turn's. */
function toolResult(result: Payload<"tool_result">, at: number, names: Names): SvedaEvent {
  const { toolCallId, toolName, renderHint } = result;
  const renderData = renderDataOf(result);
  return {
    type: "tool.result",
    toolCallId,
    toolName,
    output: exactOutputOf(result),
    ...(renderHint !== undefined && { renderHint }),
    ...(renderData !== undefined && { renderData }),
    ...(result.decision === undefined ? names : { timestamp: rfc3339(at) }),
  };
}

/** All that a turn ends with, in one piece: a client that stops reading at the error has the rest already. */
function ending(entry: LogEntry, names: Names): string {
  const { error, end, titles } = finishOf(v.parse(outcomeSchema, payloadOf(entry)));
  const { messageId: _, ...chat } = { ...names, timestamp: rfc3339(entry.at) };
  const events: SvedaEvent[] = [
    ...(error === undefined ? [] : [{ ...error, ...names }]),
    { ...end, ...names },
    ...titles.map((title) => ({ type: "chat.title" as const, title, ...chat })),
  ];
  return events.map(frame).join("") + sseFrame(entry.sequence, DONE);
}
