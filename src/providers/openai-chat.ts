// OpenAI Chat Completions and its family: SSE chunks to events. Complete only with a finish_reason and then [DONE] or a clean end; [DONE] alone proves nothing.
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import { asArray, asCount, asName, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { jsonTemplate } from "../wire/json-template.ts";
import { sseReader, startsLikeSse, type KnownFrame, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf, type Ending } from "./answer-end.ts";
import { chatAnswer } from "./chat-answer.ts";
import { bareErrorFacts, errorEventFacts, errorFacts, type ErrorFacts } from "./error-facts.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import { openAiChatRequest, wantedBack } from "./openai-chat-request.ts";
import { chunkUsage } from "./openai-chunk.ts";
import { continuationOf } from "./openai-presets.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { sseJson, upToDone } from "./sse-json.ts";
import { toolCallCollector } from "./tool-calls.ts";
import { untilVerdict } from "./until-verdict.ts";
import { usageReports } from "./usage.ts";

export const openAiChat: Adapter = {
  request: openAiChatRequest,
  reader: openAiChatReader,
  wanted: wantedBack,
  failure: httpFailure,
  starts: startsLikeSse,
  continues: (target) => continuationOf(target) !== "none",
};

export function openAiChatReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  // OpenAI pads every event to hide the length of its text.
  const template = jsonTemplate(["obfuscation"]);
  const frames = sseReader(maxEvent, { template, event: undefined });
  const calls = toolCallCollector();
  const answer = chatAnswer(calls);
  const count = usageReports();
  let finish: Ending | undefined;
  let model: string | undefined;
  let done = false;

  const end = (events: ProviderEvent[], verdict: Verdict): void => {
    done = true;
    events.push(verdict);
  };
  const malformed = (events: ProviderEvent[], message: string): void =>
    end(events, { type: "verdict", verdict: "failed", failure: { failureClass: "malformed", message } });
  const reported = (events: ProviderEvent[], facts: ErrorFacts): void =>
    end(events, { type: "verdict", verdict: "failed", failure: inBandFailure(facts) });

  const complete = (events: ProviderEvent[]): void => {
    if (finish === undefined) return end(events, { type: "verdict", verdict: "truncated" });
    done = true;
    events.push(
      ...answerEnd(calls, finish, { refused: answer.refused, finalText: answer.finalText, echo: answer.echo }),
    );
  };

  const choice = (events: ProviderEvent[], entry: JsonRecord): void => {
    answer.choice(events, entry);
    if (calls.excessive) return malformed(events, "A tool call is larger than the limit.");
    if (answer.fault !== undefined) return malformed(events, answer.fault);
    const facts = errorFacts(entry);
    if (facts !== undefined) return reported(events, facts);
    const reason = asText(entry["finish_reason"]);
    if (reason === undefined) return;
    finish = endingOf({}, reason);
    if (typeof finish === "object") return end(events, { type: "verdict", verdict: "failed", failure: finish });
    events.push({ type: "finishing" });
  };

  const chunk = (events: ProviderEvent[], value: JsonRecord, name: string | undefined): void => {
    const facts =
      name === "error" || value["object"] === "error"
        ? errorEventFacts(value)
        : (errorFacts(value) ??
          errorFacts(value["x_groq"]) ??
          ("choices" in value ? undefined : bareErrorFacts(value)));
    if (facts !== undefined) return reported(events, facts);
    const said = asName(value["model"]);
    if (said !== undefined && model === undefined) events.push({ type: "model", model: (model = said) });
    count(events, chunkUsage(value));
    // Only the first choice is asked for; others belong to no request of ours.
    for (const item of asArray(value["choices"])) {
      const entry = asRecord(item);
      if (entry !== undefined && (asCount(entry["index"]) ?? 0) === 0 && !done) choice(events, entry);
    }
  };

  const frame = (events: ProviderEvent[], item: SseItem | KnownFrame): void => {
    if ("value" in item) {
      const { key, value: text } = item;
      if (key === "reasoning_content") answer.reasoned(text);
      events.push({ type: key === "content" ? "text" : "reasoning", text });
      return;
    }
    const { before, isLast } = upToDone(item);
    for (const said of sseJson(before)) {
      if (done) return;
      const [length, pieces] = [events.length, answer.callPieces];
      if ("fault" in said) return malformed(events, said.fault);
      chunk(events, said.event, said.name);
      const only = events.length === length + 1 ? events.at(-1) : undefined;
      if (answer.inPieces && answer.callPieces === pieces && said.name === undefined) learn(said.payload, only);
    }
    if (isLast && !done) complete(events);
  };

  /** Once deltas have come, what one of a text and of nothing else means depends on nothing before it. */
  const learn = (payload: string, only: ProviderEvent | undefined): void => {
    if (only?.type === "text") template.learn(payload, "content", only.text);
    if (only?.type !== "reasoning") return;
    template.learn(payload, "reasoning_content", only.text);
    template.learn(payload, "reasoning", only.text);
  };

  return untilVerdict(frames, { isDone: () => done, frame, bodyEnd: complete });
}
