// Cohere Chat (v2): typed SSE events to events. Complete only with message-end, unless its reason is a failure.
import type { Failure } from "../../schemas/failure.ts";
import type { StopReason } from "../../schemas/outcome.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import type { Usage } from "../../schemas/usage.ts";
import { asCount, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { sseReader, startsLikeSse, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf } from "./answer-end.ts";
import { cohereRequest } from "./cohere-request.ts";
import { errorEventFacts, errorFacts, type ErrorFacts } from "./error-facts.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { sseJson } from "./sse-json.ts";
import { toolBlocks } from "./tool-blocks.ts";
import { inputPiece, toolCallCollector } from "./tool-calls.ts";
import { untilVerdict } from "./until-verdict.ts";
import { knownCounts } from "./usage.ts";

export const cohere: Adapter = {
  request: cohereRequest,
  reader: cohereReader,
  failure: httpFailure,
  starts: startsLikeSse,
  continues: () => false,
};

const stopReasons: Record<string, StopReason> = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  MAX_TOKENS: "length",
  TOOL_CALL: "tool_calls",
};

export function cohereReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  const frames = sseReader(maxEvent);
  const calls = toolCallCollector();
  const blocks = toolBlocks(calls);
  let done = false;

  const end = (events: ProviderEvent[], verdict: Verdict): void => {
    done = true;
    events.push(verdict);
  };
  const fail = (events: ProviderEvent[], message: string): void =>
    end(events, { type: "verdict", verdict: "failed", failure: { failureClass: "malformed", message } });
  const reported = (events: ProviderEvent[], facts: ErrorFacts): void =>
    end(events, { type: "verdict", verdict: "failed", failure: inBandFailure(facts) });

  /** A reason that is a failure is the provider's own, when its text says no more. */
  const broken = (events: ProviderEvent[], prose: string): void => {
    const said = inBandFailure({ type: undefined, code: undefined, message: prose });
    const message = "The provider reported that generation failed.";
    const failure: Failure = said.failureClass === "unknown" ? { failureClass: "upstream_5xx", message } : said;
    end(events, { type: "verdict", verdict: "failed", failure });
  };

  const call = (
    events: ProviderEvent[],
    kind: "open" | "feed",
    index: number,
    message: JsonRecord | undefined,
  ): void => {
    const entry = asRecord(message?.["tool_calls"]);
    const named = asRecord(entry?.["function"]);
    const input = inputPiece(named?.["arguments"]);
    const opening = { id: asText(entry?.["id"]), name: asText(named?.["name"]), input };
    events.push(...(kind === "open" ? blocks.open(index, opening) : blocks.feed(index, input)));
    if (calls.excessive) fail(events, "A tool call is larger than the limit.");
  };

  const finish = (events: ProviderEvent[], delta: JsonRecord | undefined): void => {
    const usage = usageOf(asRecord(delta?.["usage"]));
    if (usage !== undefined) events.push({ type: "usage", usage });
    const reason = asText(delta?.["finish_reason"]) ?? "";
    const prose = asText(delta?.["error"]);
    if (prose !== undefined || reason.startsWith("ERROR") || reason === "TIMEOUT") {
      return broken(events, prose ?? "");
    }
    done = true;
    events.push(...answerEnd(calls, endingOf(stopReasons, reason)));
  };

  const event = (events: ProviderEvent[], body: JsonRecord, type: string | undefined): void => {
    // Errors come in the shape of the HTTP answers too: a message and no type.
    const untyped = type === undefined && asText(body["message"]) !== undefined;
    const facts = type === "error" || untyped ? errorEventFacts(body) : errorFacts(body);
    if (facts !== undefined) return reported(events, facts);
    const delta = asRecord(body["delta"]);
    const message = asRecord(delta?.["message"]);
    const index = asCount(body["index"]) ?? 0;
    switch (type ?? "") {
      case "content-start":
      case "content-delta": {
        const content = asRecord(message?.["content"]);
        const thinking = asText(content?.["thinking"]);
        if (thinking !== undefined) events.push({ type: "reasoning", text: thinking });
        const text = asText(content?.["text"]);
        if (text !== undefined) events.push({ type: "text", text });
        return;
      }
      case "tool-plan-delta": {
        const plan = asText(message?.["tool_plan"]);
        if (plan !== undefined) events.push({ type: "reasoning", text: plan });
        return;
      }
      case "tool-call-start":
        return call(events, "open", index, message);
      case "tool-call-delta":
        return call(events, "feed", index, message);
      case "message-end":
        return finish(events, delta);
    }
  };

  const frame = (events: ProviderEvent[], item: SseItem): void => {
    for (const said of sseJson(item)) {
      if (done) return;
      if ("fault" in said) fail(events, said.fault);
      else event(events, said.event, said.name === "error" ? said.name : (asText(said.event["type"]) ?? said.name));
    }
  };

  return untilVerdict(frames, {
    isDone: () => done,
    frame,
    bodyEnd: (events) => end(events, { type: "verdict", verdict: "truncated" }),
  });
}

/** `tokens` is what the model read and wrote; `billed_units` leaves out what is free, and stands in where it is all there is. */
function usageOf(usage: JsonRecord | undefined): Usage | undefined {
  const counts = asRecord(usage?.["tokens"]) ?? asRecord(usage?.["billed_units"]);
  return knownCounts({
    inputTokens: asCount(counts?.["input_tokens"]),
    outputTokens: asCount(counts?.["output_tokens"]),
    cachedInputTokens: asCount(usage?.["cached_tokens"]),
  });
}
