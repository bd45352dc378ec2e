// Random logs for the laws of a dialect: every event type, hostile texts. Their order is not that of a real run; no dialect may mind.
import fc from "fast-check";
import type { Draft, LogEntry } from "../../../schemas/event.ts";
import { hostile } from "../../support/hostile-text.ts";
import { completed, failed, logOf } from "./turns.ts";

const record = fc.dictionary(hostile, fc.jsonValue());
const call = { toolCallId: hostile, toolName: hostile };
const draft: fc.Arbitrary<Draft> = fc.oneof(
  fc.record({ text: hostile }).map((payload): Draft => ({ type: "content_delta", payload })),
  fc.record({ text: hostile }).map((payload): Draft => ({ type: "reasoning_delta", payload })),
  fc
    .record({ text: hostile, releasedFrom: fc.option(fc.nat(), { nil: undefined }) })
    .map((payload): Draft => ({ type: "content_snapshot", payload })),
  fc
    .record({ phase: fc.constantFrom("provider_selected" as const, "started" as const) })
    .map((payload): Draft => ({ type: "lifecycle", payload })),
  fc
    .record({ ...call, input: record, execution: fc.constantFrom("server" as const, "client" as const) })
    .map((payload): Draft => ({ type: "tool_call", payload })),
  fc
    .record({
      ...call,
      output: fc.jsonValue(),
      renderData: fc.option(record, { nil: undefined }),
      decision: fc.option(fc.constantFrom("approve" as const, "deny" as const), { nil: undefined }),
    })
    .map((payload): Draft => ({ type: "tool_result", payload })),
  fc
    .record({
      carried: fc.constantFrom(true as const, undefined),
      tasks: fc.array(fc.record({ id: hostile, label: hostile, status: fc.constant("running" as const) })),
    })
    .map((payload): Draft => ({ type: "tool_progress", payload })),
  fc
    .record({ usedTokens: fc.nat(), maxTokens: fc.nat(), percent: fc.double({ min: 0, max: 100, noNaN: true }) })
    .map((payload): Draft => ({ type: "context_usage", payload })),
  fc.record({ title: hostile }).map((payload): Draft => ({ type: "title", payload })),
  fc
    .record({ step: fc.nat(), phase: fc.constantFrom("started" as const, "finished" as const) })
    .map((payload): Draft => ({ type: "step", payload })),
  fc
    .record({ maxSteps: fc.integer({ min: 1 }), canContinue: fc.boolean() })
    .map((payload): Draft => ({ type: "max_steps", payload })),
  fc
    .record({ code: fc.option(hostile, { nil: undefined }) })
    .map((payload): Draft => ({ type: "diagnostic", payload })),
  fc.array(hostile).map((titles) => completed({ titles })),
  hostile.map((message) => failed(undefined, `${message}.`)),
);

export const randomLog: fc.Arbitrary<LogEntry[]> = fc.array(draft, { maxLength: 12 }).map(logOf);
