// Workers AI: its own SSE chunks, and the OpenAI chat chunks of its newer models, to events. Complete only with [DONE] after something of an answer.
import type { Failure } from "../../schemas/failure.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import { asArray, asCount, asName, asRecord, asText, parseJson, type JsonRecord } from "../wire/json.ts";
import { sseReader, startsLikeSse, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf, type Ending } from "./answer-end.ts";
import { chatUsage, pushContent, reasoningText, toolPiece } from "./openai-chunk.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { toolCallCollector } from "./tool-calls.ts";
import { untilVerdict } from "./until-verdict.ts";
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
  let finish: Ending = "unknown";
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
    if (!answered) return end(events, { type: "verdict", verdict: "truncated" });
    done = true;
    events.push(...answerEnd(calls, finish));
  };

  const reason = (value: unknown): void => {
    const word = asText(value);
    if (word !== undefined) finish = endingOf({}, word);
  };

  const delta = (events: ProviderEvent[], said: JsonRecord): void => {
    const reasoning = reasoningText(said);
    if (reasoning !== undefined) events.push({ type: "reasoning", text: reasoning });
    pushContent(events, said["content"]);
    // A piece that says nothing ends a call here; it opens none.
    for (const item of asArray(said["tool_calls"])) events.push(...calls.add(toolPiece(item)));
  };

  const chunk = (events: ProviderEvent[], value: JsonRecord): void => {
    const facts = workersAiErrorIn(value);
    if (facts !== undefined) return fail(events, workersAiInBand(facts));
    const named = asName(value["model"]);
    if (named !== undefined && model === undefined) events.push({ type: "model", model: (model = named) });
    const usage = chatUsage(value["usage"]);
    if (usage !== undefined) events.push({ type: "usage", usage });
    // With these the chunk is the answer's; metadata alone proves nothing.
    answered ||= "response" in value || "tool_calls" in value;
    delta(events, { content: responseText(value["response"]), tool_calls: value["tool_calls"] });
    for (const item of asArray(value["choices"])) {
      const choice = asRecord(item);
      if (choice === undefined || (asCount(choice["index"]) ?? 0) !== 0) continue;
      answered = true;
      delta(events, asRecord(choice["delta"]) ?? {});
      reason(choice["finish_reason"]);
    }
    reason(value["finish_reason"]);
    if (!done && calls.excessive) malformed(events, "A tool call is larger than the limit.");
  };

  const frame = (events: ProviderEvent[], item: SseItem): void => {
    if ("tooLarge" in item) return malformed(events, "A wire event is larger than the limit.");
    const payload = item.data.trim();
    if (payload === "[DONE]") return complete(events);
    const parsed = parseJson(payload);
    if (item.event === "error" && (item.residue !== true || parsed !== undefined)) {
      const said = asRecord(parsed?.value) ?? {};
      return fail(events, workersAiInBand(workersAiErrorIn(said) ?? workersAiErrorOf(said)));
    }
    if (payload === "") return;
    const value = asRecord(parsed?.value);
    if (value !== undefined) chunk(events, value);
    // An unfinished last event is a cut, not a fault of the provider's JSON.
    else if (parsed === undefined && item.residue !== true) malformed(events, "A wire event is not JSON.");
  };

  return untilVerdict(frames, {
    isDone: () => done,
    frame,
    bodyEnd: (events) => end(events, { type: "verdict", verdict: "truncated" }),
  });
}

/** Text, but for what some models make of it: a token that reads as a number becomes one, JSON output an object. */
function responseText(response: unknown): string | undefined {
  if (response === undefined || response === null) return undefined;
  return typeof response === "string" ? response : JSON.stringify(response);
}
