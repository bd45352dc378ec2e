// What a producer that carries out a run elsewhere pushes of it, and what it is told. Shapes only; semantic rules live in src/run/pushed-check.ts.
import * as v from "valibot";
import { payloadSchemas, type Draft } from "./event.ts";
import type { JsonRecord } from "./json.ts";
import { anyRecord as record, objectOnly } from "./object-only.ts";
import { stopReasonSchema, type Outcome } from "./outcome.ts";
import { indeRunErrorSchema, type ValidationIssue } from "./problem.ts";
import { accountedUsageSchema } from "./usage.ts";

/** What stands for a pushed run where others have the id of a target. */
export const PUSHED = "push";

const count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER));

/** Events of one batch, at most. */
const MAX_EVENTS = 10_000;

export const pushRequestSchema = objectOnly(
  v.strictObject({
    /** Higher for each producer that takes over; the ones before it are refused from then on. */
    epoch: count,
    /** The producer's number of the first event, from 0 over the whole run. */
    sequence: count,
    /** None to say only that the producer lives. Beside `type` and `payload` an event's fields mean nothing here. */
    events: v.pipe(
      v.array(v.looseObject({ type: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_.:-]{1,128}$/)), payload: record })),
      v.maxLength(MAX_EVENTS),
    ),
  }),
);

const common = {
  usage: v.optional(accountedUsageSchema),
  titles: v.optional(v.array(v.string())),
};

/** How a run ended, in its producer's words. A text that is left out is the one that was shown. */
const endSchema = v.variant("outcome", [
  v.looseObject({
    ...common,
    outcome: v.literal("completed"),
    finalText: v.optional(v.string()),
    finishReason: v.optional(v.picklist(["stop", "length", "cancelled", "error"])),
    stopReason: v.optional(stopReasonSchema),
  }),
  v.looseObject({
    ...common,
    outcome: v.literal("error"),
    partialText: v.optional(v.string()),
    error: v.looseObject({
      ...indeRunErrorSchema.entries,
      schemaVersion: v.optional(v.literal("1.0")),
    }),
  }),
  v.looseObject({
    ...common,
    outcome: v.literal("cancelled"),
    partialText: v.optional(v.string()),
    reason: v.optional(v.string()),
  }),
]);
export type PushedEnd = v.InferOutput<typeof endSchema>;

const { lifecycle: _lifecycle, attempt: _attempt, terminal: _terminal, usage: _usage, ...ordinary } = payloadSchemas;

/** Payloads of the known types that a producer may push. */
const pushedPayloadSchemas = { ...ordinary, usage: accountedUsageSchema, terminal: endSchema };
type PushedType = keyof typeof pushedPayloadSchemas;

/** Types that only the server writes. */
export const SERVER_TYPES: readonly string[] = ["lifecycle", "attempt"];

type Ordinary = Extract<Draft, { type: keyof typeof ordinary }>;
export type PushedEvent =
  | Ordinary
  | { type: "usage"; payload: v.InferOutput<typeof accountedUsageSchema> }
  | { type: "terminal"; payload: PushedEnd }
  /** Of a type that this version does not know. */
  | { type: "other"; name: string; payload: JsonRecord };

const pushed = <T extends PushedType>(type: T) =>
  v.object({ type: v.literal(type), payload: pushedPayloadSchemas[type] });

/** An event of a known type. */
export const pushedEventSchema = v.variant("type", [
  pushed("content_delta"),
  pushed("content_snapshot"),
  pushed("reasoning_delta"),
  pushed("diagnostic"),
  pushed("usage"),
  pushed("tool_call"),
  pushed("tool_call_delta"),
  pushed("tool_result"),
  pushed("tool_progress"),
  pushed("context_usage"),
  pushed("title"),
  pushed("step"),
  pushed("max_steps"),
  pushed("retrieval"),
  pushed("preparation_progress"),
  pushed("terminal"),
]);

export interface PushBatch {
  epoch: number;
  sequence: number;
  events: PushedEvent[];
}

export type PushAnswer =
  /** The same for a repeat: the number of the event after these, and the sequence in the log of the last of them; -1 for none. */
  | { taken: true; nextSequence: number; lastSequence: number }
  | { taken: false; refused: "not_found" }
  /** The run's events come from a provider. */
  | { taken: false; refused: "not_pushed" }
  | { taken: false; refused: "ended"; outcome: Outcome["outcome"] }
  | { taken: false; refused: "fenced"; epoch: number }
  | { taken: false; refused: "gap"; expected: number }
  | { taken: false; refused: "invalid"; issues: ValidationIssue[] };

export const pushAnswerSchema = v.object({
  accepted: v.literal(true),
  nextSequence: count,
  lastSequence: v.pipe(v.number(), v.integer(), v.minValue(-1)),
});
