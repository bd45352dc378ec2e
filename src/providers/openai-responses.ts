// OpenAI Responses: typed SSE events to events. Complete only with response.completed or response.incomplete; [DONE] proves nothing.
import type { StopReason } from "../../schemas/outcome.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import type { Usage } from "../../schemas/usage.ts";
import { asCount, asName, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { sseReader, startsLikeSse, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd } from "./answer-end.ts";
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
    const stop: StopReason = !incomplete ? "stop" : reason === "content_filter" ? "content_filter" : "length";
    const late = output.settle(response["output"]);
    if (output.fault !== undefined) return fail(events, output.fault.failureClass, output.fault.message);
    const { refused, finalText } = output;
    done = true;
    events.push(...late, ...answerEnd(output, stop, { refused, finalText }));
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
      case "response.completed":
      case "response.incomplete":
        if (facts !== undefined || response["status"] === "failed") return failed(events, facts ?? errorEventFacts({}));
        return complete(events, response, type === "response.incomplete" || response["status"] === "incomplete");
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
