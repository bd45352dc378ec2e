// Workers AI: its own SSE chunks, and the OpenAI chat chunks of its newer models, to events. Complete only with [DONE] after something of an answer.
import type { Failure } from "../../schemas/failure.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import { asArray, asCount, asName, asRecord, asText, jsonText, type JsonRecord } from "../wire/json.ts";
import { sseReader, startsLikeSse, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf, type Ending } from "./answer-end.ts";
import { chatAnswer } from "./chat-answer.ts";
import { bareErrorFacts } from "./error-facts.ts";
import { inBandFailure } from "./http-failure.ts";
import { chunkUsage } from "./openai-chunk.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { sseJson, upToDone } from "./sse-json.ts";
import { toolCallCollector } from "./tool-calls.ts";
import { untilVerdict } from "./until-verdict.ts";
import { usageReports } from "./usage.ts";
import { runInWorker } from "./workers-ai-binding.ts";
import { workersAiErrorIn, workersAiErrorOf, workersAiFailure, workersAiInBand } from "./workers-ai-failure.ts";
import { workersAiRequest } from "./workers-ai-request.ts";

export const workersAi: Adapter = {
  request: workersAiRequest,
  reader: workersAiReader,
  failure: workersAiFailure,
  starts: startsLikeSse,
  // Its chat templates open a new turn.
  continues: () => false,
  respond: runInWorker,
};

function workersAiReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  const frames = sseReader(maxEvent);
  const calls = toolCallCollector();
  const answer = chatAnswer(calls);
  const count = usageReports();
  let finish: Ending | undefined;
  let answered = false;
  let model: string | undefined;
  let done = false;

  const end = (events: ProviderEvent[], verdict: Verdict): void => {
    done = true;
    events.push(verdict);
  };
  const fail = (events: ProviderEvent[], failure: Failure): void =>
    end(events, { type: "verdict", verdict: "failed", failure });
  const malformed = (events: ProviderEvent[], message: string): void =>
    fail(events, { failureClass: "malformed", message });

  const complete = (events: ProviderEvent[]): void => {
    if (!answered && finish === undefined) return end(events, { type: "verdict", verdict: "truncated" });
    done = true;
    events.push(...answerEnd(calls, finish ?? "unknown", { refused: answer.refused, finalText: answer.finalText }));
  };

  const reason = (events: ProviderEvent[], value: unknown): void => {
    const word = asText(value);
    if (word === undefined) return;
    finish = endingOf({}, word);
    if (typeof finish === "object") fail(events, finish);
  };

  const choice = (events: ProviderEvent[], entry: JsonRecord): void => {
    answer.choice(events, entry);
    const facts = workersAiErrorIn(entry);
    if (facts !== undefined) fail(events, workersAiInBand(facts));
    else reason(events, entry["finish_reason"]);
  };

  const chunk = (events: ProviderEvent[], value: JsonRecord, name: string | undefined): void => {
    const facts = workersAiErrorIn(value) ?? (name === "error" ? workersAiErrorOf(value) : undefined);
    if (facts !== undefined) return fail(events, workersAiInBand(facts));
    const own = "response" in value || "tool_calls" in value;
    const bare = own || "choices" in value ? undefined : bareErrorFacts(value);
    if (bare !== undefined) return fail(events, inBandFailure(bare));
    const named = asName(value["model"]);
    if (named !== undefined && model === undefined) events.push({ type: "model", model: (model = named) });
    count(events, chunkUsage(value));
    // Metadata alone proves nothing, and OpenAI's chunks say themselves how they end.
    answered ||= own;
    const text = responseText(value["response"]);
    if (text === undefined) return malformed(events, "A part of the answer is nested too deeply.");
    const before = events.length;
    for (const item of asArray(value["choices"])) {
      const entry = asRecord(item);
      if (entry !== undefined && (asCount(entry["index"]) ?? 0) === 0 && !done) choice(events, entry);
    }
    // What the choice has said may be mirrored.
    const mirrored = events.slice(before).some(({ type }) => type === "text");
    if (!done) answer.add(events, { content: mirrored ? "" : text, tool_calls: value["tool_calls"] });
    if (!done) reason(events, value["finish_reason"]);
    if (done) return;
    if (calls.excessive) malformed(events, "A tool call is larger than the limit.");
    else if (answer.fault !== undefined) malformed(events, answer.fault);
  };

  const frame = (events: ProviderEvent[], item: SseItem): void => {
    const { before, isLast } = upToDone(item);
    for (const said of sseJson(before)) {
      if (done) return;
      if ("fault" in said) malformed(events, said.fault);
      else chunk(events, said.event, said.name);
    }
    if (isLast && !done) complete(events);
  };

  return untilVerdict(frames, {
    isDone: () => done,
    frame,
    bodyEnd: (events) => end(events, { type: "verdict", verdict: "truncated" }),
  });
}

/** Text, but for what some models make of it: a token that reads as a number becomes one, JSON output an object. `undefined`: it cannot be written. */
function responseText(response: unknown): string | undefined {
  if (response === undefined || response === null) return "";
  return typeof response === "string" ? response : jsonText(response);
}
