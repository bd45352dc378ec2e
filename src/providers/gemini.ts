// Google Gemini's streamGenerateContent, as server-sent events or as one array. Complete only with a finishReason or a block of the prompt, and in an array with its closing bracket too.
import type { StopReason } from "../../schemas/outcome.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import type { Failure } from "../../schemas/failure.ts";
import { asArray, asCount, asName, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { startsLikeSse } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf, type Ending } from "./answer-end.ts";
import { errorEventFacts, errorFacts } from "./error-facts.ts";
import { geminiBody, type GeminiItem } from "./gemini-body.ts";
import { geminiCalls } from "./gemini-calls.ts";
import { continuesAnswers, geminiRequest } from "./gemini-request.ts";
import { geminiUsage } from "./gemini-usage.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { untilVerdict } from "./until-verdict.ts";

export const gemini: Adapter = {
  request: geminiRequest,
  reader: geminiReader,
  wanted: (echo) => echo,
  failure: httpFailure,
  starts: (character) => character === "[" || startsLikeSse(character),
  continues: continuesAnswers,
};

const stopReasons: Record<string, StopReason> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  BLOCKLIST: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  SPII: "content_filter",
  MODEL_ARMOR: "content_filter",
  IMAGE_SAFETY: "content_filter",
  IMAGE_PROHIBITED_CONTENT: "content_filter",
  IMAGE_RECITATION: "content_filter",
};

/** Ends at which the model has answered nothing usable. */
const failedReasons = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
  "MALFORMED_RESPONSE",
]);

/** The zero values of the API's enumerations, which some gateways spell out: nothing has ended. */
const unspecified = new Set(["FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"]);

export function geminiReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  const body = geminiBody(maxEvent);
  const calls = geminiCalls();
  const sumUp = geminiUsage();
  let finish: Exclude<Ending, Failure> | undefined;
  let model: string | undefined;
  let done = false;

  const end = (events: ProviderEvent[], verdict: Verdict): void => {
    done = true;
    events.push(verdict);
  };
  const fail = (events: ProviderEvent[], failure: Failure): void =>
    end(events, { type: "verdict", verdict: "failed", failure });

  const malformed = (message: string): Failure => ({ failureClass: "malformed", message });

  const complete = (events: ProviderEvent[]): void => {
    if (finish === undefined) return end(events, { type: "verdict", verdict: "truncated" });
    if (finish === "stop") events.push(...calls.close());
    done = true;
    events.push(...answerEnd(calls, finish));
  };

  const finishing = (events: ProviderEvent[], reason: Ending): void => {
    // Nothing is worth waiting for after an end that is a failure.
    if (typeof reason === "object") return fail(events, reason);
    finish = reason;
    // An array is over with its bracket only, so nobody may stop waiting for that.
    if (body.framing === "sse") events.push({ type: "finishing", proven: true });
  };

  const part = (events: ProviderEvent[], entry: JsonRecord): void => {
    // A call may be marked as a thought and is a call all the same.
    const call = asRecord(entry["functionCall"]);
    if (call !== undefined) events.push(...calls.add(call, entry["thoughtSignature"]));
    const text = asText(entry["text"]);
    if (text !== undefined) events.push({ type: entry["thought"] === true ? "reasoning" : "text", text });
  };

  const candidate = (events: ProviderEvent[], entry: JsonRecord): void => {
    for (const item of asArray(asRecord(entry["content"])?.["parts"])) part(events, asRecord(item) ?? {});
    if (calls.fault !== undefined) return fail(events, malformed(calls.fault));
    const reason = asText(entry["finishReason"]);
    if (reason === undefined || unspecified.has(reason)) return;
    if (failedReasons.has(reason)) {
      const message = "The provider reported that generation failed.";
      return fail(events, { failureClass: "upstream_5xx", message, providerCode: reason });
    }
    finishing(events, endingOf(stopReasons, reason));
  };

  const response = (events: ProviderEvent[], entry: JsonRecord): void => {
    const facts = errorFacts(entry);
    if (facts !== undefined) return fail(events, inBandFailure(facts));
    const named = asName(entry["modelVersion"]);
    if (named !== undefined && model === undefined) events.push({ type: "model", model: (model = named) });
    const reported = asRecord(entry["usageMetadata"]);
    const usage = reported === undefined ? undefined : sumUp(reported);
    if (usage !== undefined) events.push({ type: "usage", usage });
    // Only the first candidate is asked for; others belong to no request of ours.
    for (const item of asArray(entry["candidates"])) {
      const record = asRecord(item);
      if (record !== undefined && (asCount(record["index"]) ?? 0) === 0 && !done) candidate(events, record);
    }
    const block = asText(asRecord(entry["promptFeedback"])?.["blockReason"]);
    if (block !== undefined && !unspecified.has(block) && !done) finishing(events, "content_filter");
  };

  const item = (events: ProviderEvent[], entry: GeminiItem): void => {
    if ("fault" in entry) {
      const what = entry.fault === "too large" ? "larger than the limit" : "not JSON";
      return fail(events, malformed(`A wire event is ${what}.`));
    }
    if ("error" in entry) {
      const facts = entry.named ? errorEventFacts(entry.error) : errorFacts(entry.error);
      return facts === undefined ? undefined : fail(events, inBandFailure(facts));
    }
    if ("whole" in entry) return response(events, asRecord(entry.whole) ?? {});
    if ("several" in entry) {
      for (const value of entry.several) if (!done) response(events, asRecord(value) ?? {});
      return;
    }
    if (finish !== undefined) complete(events);
  };

  return untilVerdict(body, {
    isDone: () => done,
    frame: item,
    bodyEnd(events) {
      if (body.framing === "array") end(events, { type: "verdict", verdict: "truncated" });
      else complete(events);
    },
  });
}
