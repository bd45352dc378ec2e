// The moments at which a run's server is killed: what the provider does until then, and what must become of the run. Kills nothing.
import { expect } from "vitest";
import type { ProviderCall } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { OPENAI_STREAM_TYPE, openAiDelta } from "../support/provider-bytes/openai-chat.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { isDelta, type RunReader } from "../support/run-reader.ts";
import { anthropic, openAi } from "../support/scripted-targets.ts";

const words = Array.from({ length: 600 }, (_, index) => `${index}${index % 7 === 0 ? " 北京🙂" : ""} `);
/** What a target says when it is called again. */
export const again = ["Once ", "more: ", "all of it."];
const format = { a: openAi, b: anthropic };
const whole = (target: "a" | "b"): Script => streamScript(OPENAI_STREAM_TYPE, format[target].whole(again));
const stuck = (events: readonly string[]): Script => streamScript(OPENAI_STREAM_TYPE, events, { end: "hang" });

export interface Policies {
  onMidStreamFailure: "fail" | "retract";
  durability: "standard" | "strict";
}
export const allPolicies: readonly Policies[] = (["fail", "retract"] as const).flatMap((onMidStreamFailure) =>
  (["standard", "strict"] as const).map((durability) => ({ onMidStreamFailure, durability })),
);

/** The calls of one run at a target so far. */
export type RunCalls = (target: "a" | "b") => readonly ProviderCall[];

export interface Moment {
  name: string;
  policies?: readonly Policies[];
  /** What the provider answers to the calls of a run; `nth` counts the run's calls at this target from 0. */
  answers(target: "a" | "b", nth: number): Script;
  /** Waits for the moment of the kill. */
  wait(reader: RunReader, calls: RunCalls): Promise<unknown>;
  /** The target that is called again when the run goes on; the other one has its call of before. */
  target: "a" | "b";
  /** The live attempt had shown output: only `retract` goes on. */
  shown: boolean;
  /** All that the provider would have said, where the run ends interrupted. */
  text?: string;
}

/** The first call at the target that the server dies on, then a whole answer. */
const firstAt =
  (first: () => Script): Moment["answers"] =>
  (target, nth) =>
    nth === 0 ? first() : whole(target);
const streaming = (): Script => {
  const [role = "", ...rest] = openAi.whole(words);
  const thinking = ["Let me ", "count."].map((text) => openAiDelta({ reasoning_content: text }));
  return streamScript(OPENAI_STREAM_TYPE, [role, ...thinking, ...rest], { delayMs: 3 });
};
const toolPiece = openAiDelta({
  tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: '{"at":' } }],
});
const attemptStarted =
  (attempt: number) =>
  (reader: RunReader): Promise<unknown> =>
    reader.until(
      ({ type, payload }) => type === "attempt" && payload["attempt"] === attempt && payload["phase"] === "started",
    );

export const moments: readonly Moment[] = [
  {
    name: "before the provider's headers",
    answers: firstAt(() => [{ step: "hang" }]),
    wait: (reader, calls) => Promise.all([attemptStarted(0)(reader), called(calls, "a")]),
    target: "a",
    shown: false,
  },
  {
    name: "between headers and first output",
    answers: firstAt(() => stuck(openAi.part([]))),
    wait: (reader, calls) =>
      Promise.all([attemptStarted(0)(reader), expect.poll(() => calls("a")[0]?.bytesWritten).toBeGreaterThan(200)]),
    target: "a",
    shown: false,
  },
  {
    // Only what is stored counts, so the run is strict: else the fallback itself may be voided and done again.
    name: "after a fallback, before the second target's output",
    policies: allPolicies.filter(({ durability }) => durability === "strict"),
    answers: (target, nth) => {
      if (target === "a") return answerScript(openAi.refusal(503, "busy"));
      return nth === 0 ? stuck(anthropic.part([])) : whole("b");
    },
    wait: (reader, calls) => Promise.all([attemptStarted(1)(reader), called(calls, "b")]),
    target: "b",
    shown: false,
  },
  {
    name: "after a retraction, before the second target's output",
    policies: allPolicies.filter(({ onMidStreamFailure }) => onMidStreamFailure === "retract"),
    answers: (target, nth) => {
      if (target === "a") return streamScript(OPENAI_STREAM_TYPE, openAi.part(["Not ", "this."]), { end: "rst" });
      return nth === 0 ? stuck(anthropic.part([])) : whole("b");
    },
    wait: (reader, calls) => Promise.all([reader.until(({ type }) => type === "content_snapshot"), called(calls, "b")]),
    target: "b",
    shown: false,
  },
  {
    name: "at the first output",
    answers: firstAt(() => stuck(openAi.part(["First"]))),
    wait: (reader) => reader.until(isDelta("First")),
    target: "a",
    shown: true,
    text: "First",
  },
  {
    name: "in the middle of a tool call",
    answers: firstAt(() => stuck([...openAi.part(["I look. "]), toolPiece])),
    wait: (reader) => reader.until(({ type }) => type === "tool_call_delta"),
    target: "a",
    shown: true,
    text: "I look. ",
  },
];

/** In the middle of a stream that goes on, so that something is always not stored yet. */
export function momentAfter(count: number): Moment {
  return {
    name: `after event ${count}`,
    answers: firstAt(streaming),
    wait: (reader) => reader.until(({ sequence }) => sequence >= count),
    target: "a",
    shown: true,
    text: words.join(""),
  };
}

/** The run's call has arrived at the target. */
async function called(calls: RunCalls, target: "a" | "b"): Promise<void> {
  await expect.poll(() => calls(target).length, { timeout: 5000 }).toBe(1);
}
