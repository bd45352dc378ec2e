// OpenAI Responses: typed SSE events to events. Complete only with response.completed or response.incomplete; [DONE] proves nothing.
import type { Failure } from "../../schemas/failure.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import type { Usage } from "../../schemas/usage.ts";
import { asCount, asName, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { sseReader, startsLikeSse, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf, type Ending } from "./answer-end.ts";
import { errorEventFacts, errorFacts, type ErrorFacts } from "./error-facts.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import { responsesOutput } from "./openai-responses-output.ts";
import { openAiResponsesRequest } from "./openai-responses-request.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { sseJson } from "./sse-json.ts";
import { untilVerdict } from "./until-verdict.ts";
import { knownCounts } from "./usage.ts";

export const openAiResponses: Adapter = {
  request: openAiResponsesRequest,
  reader: openAiResponsesReader,
  wanted: (echo) => echo,
  failure: httpFailure,
  starts: startsLikeSse,
  // A trailing assistant message is history to it: the answer begins anew.
  continues: () => false,
};

export function openAiResponsesReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  const frames = sseReader(maxEvent);
  const output = responsesOutput();
  let model: string | undefined;
  let done = false;

  const end = (events: ProviderEvent[], verdict: Verdict): void => {
    done = true;
    events.push(verdict);
  };
  const fail = (events: ProviderEvent[], failureClass: "malformed" | "protocol", message: string): void =>
    end(events, { type: "verdict", verdict: "failed", failure: { failureClass, message } });
  const failed = (events: ProviderEvent[], facts: ErrorFacts): void =>
    end(events, { type: "verdict", verdict: "failed", failure: inBandFailure(facts) });

  const report = (events: ProviderEvent[], response: JsonRecord): void => {
    const named = asName(response["model"]);
    if (named !== undefined && model === undefined) events.push({ type: "model", model: (model = named) });
    const usage = usageOf(asRecord(response["usage"]));
    if (usage !== undefined) events.push({ type: "usage", usage });
  };

  const complete = (events: ProviderEvent[], response: JsonRecord, incomplete: boolean): void => {
    const reason = asText(asRecord(response["incomplete_details"])?.["reason"]);
    const stop = incomplete ? cutBy(reason) : "stop";
    const late = output.settle(response["output"]);
    if (output.fault !== undefined) return fail(events, output.fault.failureClass, output.fault.message);
    const { refused, finalText, echo } = output;
    done = true;
    events.push(...late, ...answerEnd(output, stop, { refused, finalText, echo }));
  };

  const message = (events: ProviderEvent[], event: JsonRecord, name: string | undefined): void => {
    const type = asText(event["type"]) ?? name ?? "";
    if (type === "error" || name === "error") return failed(events, errorEventFacts(event));
    const response = asRecord(event["response"]) ?? {};
    report(events, response);
    const facts = errorFacts(response) ?? errorFacts(event);
    switch (type) {
      case "":
        // Gateways report errors in Chat Completions' way too, without a type.
        if (facts !== undefined) failed(events, facts);
        return;
      case "response.failed":
        return failed(events, facts ?? errorEventFacts({}));
    }
    const { status } = response;
    // A part of an answer may fail by itself, as a hosted tool does.
    const ofPart = /^response\.[^.]+\./.test(type);
    if (status === "failed" || (facts !== undefined && !ofPart)) return failed(events, facts ?? errorEventFacts({}));
    if (type === "response.completed" || type === "response.incomplete") {
      if (status === "cancelled") return end(events, { type: "verdict", verdict: "failed", failure: cancelled });
      if (status === "in_progress" || status === "queued")
        return fail(events, "protocol", "The provider ended a response that goes on.");
      return complete(events, response, type === "response.incomplete" || status === "incomplete");
    }
    events.push(...output.take(type, event));
    if (output.fault !== undefined) fail(events, output.fault.failureClass, output.fault.message);
  };

  const frame = (events: ProviderEvent[], item: SseItem): void => {
    for (const said of sseJson(item)) {
      if (done) return;
      if ("fault" in said) fail(events, "malformed", said.fault);
      else message(events, said.event, said.name);
    }
  };

  return untilVerdict(frames, {
    isDone: () => done,
    frame,
    bodyEnd: (events) => end(events, { type: "verdict", verdict: "truncated" }),
  });
}

const cancelled: Failure = { failureClass: "upstream_5xx", message: "The provider cancelled the response." };

/** Why a response is incomplete. Whatever cut it, it is not whole: a word that names no error means that it has become too long. */
function cutBy(reason: string | undefined): Ending {
  const ending = reason === undefined ? "length" : endingOf({}, reason);
  return typeof ending === "object" || ending === "content_filter" ? ending : "length";
}

function usageOf(usage: JsonRecord | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return knownCounts({
    inputTokens: asCount(usage["input_tokens"]),
    outputTokens: asCount(usage["output_tokens"]),
    totalTokens: asCount(usage["total_tokens"]),
    reasoningTokens: asCount(asRecord(usage["output_tokens_details"])?.["reasoning_tokens"]),
    cachedInputTokens: asCount(asRecord(usage["input_tokens_details"])?.["cached_tokens"]),
  });
}
