// OpenAI Chat Completions and its family: SSE chunks to events. Complete only with a finish_reason and then [DONE] or a clean end; [DONE] alone proves nothing.
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import { asArray, asCount, asName, asRecord, asText, parseJson, type JsonRecord } from "../wire/json.ts";
import { gluedValues } from "../wire/json-array.ts";
import { jsonTemplate } from "../wire/json-template.ts";
import { sseReader, startsLikeSse, type KnownFrame, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf, type Ending } from "./answer-end.ts";
import { errorEventFacts, errorFacts } from "./error-facts.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import { openAiChatRequest } from "./openai-chat-request.ts";
import { chatUsage, pushContent, reasoningText, toolPiece } from "./openai-chunk.ts";
import { continuationOf } from "./openai-presets.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { inputPiece, toolCallCollector } from "./tool-calls.ts";
import { untilVerdict } from "./until-verdict.ts";

export const openAiChat: Adapter = {
  request: openAiChatRequest,
  reader: openAiChatReader,
  failure: httpFailure,
  starts: startsLikeSse,
  continues: (target) => continuationOf(target) !== "none",
};

export function openAiChatReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  // OpenAI pads every event to hide the length of its text.
  const template = jsonTemplate(["obfuscation"]);
  const frames = sseReader(maxEvent, { template, event: undefined });
  const calls = toolCallCollector();
  let finish: Ending | undefined;
  let refused = false;
  let streamed = false;
  let toolPieces = 0;
  let finalText: string | undefined;
  let model: string | undefined;
  let done = false;

  const end = (events: ProviderEvent[], verdict: Verdict): void => {
    done = true;
    events.push(verdict);
  };
  const fail = (events: ProviderEvent[], failureClass: "malformed", message: string): void =>
    end(events, { type: "verdict", verdict: "failed", failure: { failureClass, message } });

  const complete = (events: ProviderEvent[]): void => {
    if (finish === undefined) return end(events, { type: "verdict", verdict: "truncated" });
    done = true;
    events.push(...answerEnd(calls, finish, { refused, finalText }));
  };

  /** Some servers send the whole answer in one event. What deltas have shown before is not shown again, but checked. */
  const wholeMessage = (message: JsonRecord | undefined): JsonRecord => {
    if (message === undefined || !streamed) return message ?? {};
    finalText = asText(message["content"]) ?? finalText;
    return calls.size > 0 ? {} : { tool_calls: message["tool_calls"] };
  };

  const choice = (events: ProviderEvent[], entry: JsonRecord): void => {
    const delta = asRecord(entry["delta"]) ?? wholeMessage(asRecord(entry["message"]));
    streamed ||= entry["delta"] !== undefined;
    const reasoning = reasoningText(delta);
    if (reasoning !== undefined) events.push({ type: "reasoning", text: reasoning });
    pushContent(events, delta["content"]);
    const refusal = asText(delta["refusal"]);
    if (refusal !== undefined) {
      refused = true;
      events.push({ type: "text", text: refusal });
    }
    for (const item of asArray(delta["tool_calls"])) events.push(...calls.add(toolPiece(item)));
    const old = asRecord(delta["function_call"]);
    if (old !== undefined) {
      toolPieces++;
      events.push(...calls.add({ index: 0, name: asText(old["name"]), input: inputPiece(old["arguments"]) }));
    }
    if (calls.excessive) return fail(events, "malformed", "A tool call is larger than the limit.");
    const reason = asText(entry["finish_reason"]);
    if (reason !== undefined) finished(events, reason);
  };

  const finished = (events: ProviderEvent[], reason: string): void => {
    finish = endingOf({}, reason);
    if (typeof finish === "object") return end(events, { type: "verdict", verdict: "failed", failure: finish });
    events.push({ type: "finishing" });
  };

  const frame = (events: ProviderEvent[], item: SseItem | KnownFrame): void => {
    if ("known" in item) {
      const { key, value: text } = item.known;
      events.push({ type: key === "content" ? "text" : "reasoning", text });
      return;
    }
    if ("tooLarge" in item) return fail(events, "malformed", "A wire event is larger than the limit.");
    const payload = item.data.trim();
    const before = events.length;
    const parsed = parseJson(payload);
    if (item.event === "error" && (item.residue !== true || parsed !== undefined)) {
      const failure = inBandFailure(errorEventFacts(parsed === undefined ? payload : parsed.value));
      return end(events, { type: "verdict", verdict: "failed", failure });
    }
    if (payload === "") return;
    if (payload === "[DONE]") return complete(events);
    if (parsed === undefined) {
      // Some gateways glue several values into one event.
      const values = gluedValues(payload) ?? [];
      if (values.length > 1) return values.forEach((data) => !done && frame(events, { ...item, data }));
      // An unfinished last event is a cut, not a fault of the provider's JSON.
      if (item.residue !== true) fail(events, "malformed", "A wire event is not JSON.");
      return;
    }
    const chunk = asRecord(parsed.value);
    if (chunk === undefined) return;
    const named = chunk["object"] === "error" ? errorEventFacts(chunk) : errorFacts(chunk);
    const facts = named ?? errorFacts(chunk["x_groq"]);
    if (facts !== undefined) {
      return end(events, { type: "verdict", verdict: "failed", failure: inBandFailure(facts) });
    }
    const said = asName(chunk["model"]);
    if (said !== undefined && model === undefined) events.push({ type: "model", model: (model = said) });
    const usage = chatUsage(chunk["usage"] ?? asRecord(chunk["x_groq"])?.["usage"]);
    if (usage !== undefined) events.push({ type: "usage", usage });
    const toolPiecesBefore = toolPieces;
    // Only the first choice is asked for; others belong to no request of ours.
    for (const entry of asArray(chunk["choices"])) {
      const record = asRecord(entry);
      if (record !== undefined && (asCount(record["index"]) ?? 0) === 0 && !done) choice(events, record);
    }
    const only = events.length === before + 1 ? events.at(-1) : undefined;
    // Once deltas have come, what one of a text and of nothing else means depends on nothing before it.
    if (!streamed || toolPieces > toolPiecesBefore || item.event !== undefined) return;
    if (only?.type === "text") template.learn(payload, "content", only.text);
    if (only?.type === "reasoning") {
      template.learn(payload, "reasoning_content", only.text);
      template.learn(payload, "reasoning", only.text);
    }
  };

  return untilVerdict(frames, { isDone: () => done, frame, bodyEnd: complete });
}
