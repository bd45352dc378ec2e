// A record that is pushed, held against what its type is known to hold. Types that nobody knows, and further fields, pass. Pure.
import * as v from "valibot";
import { eventShapes, middlewareShape, type EventShape } from "../../schemas/thread-events.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { characterCount } from "../wire/characters.ts";

const MAX_TYPE = 32;
const MAX_CATEGORY = 16;
const MIDDLEWARE = "middleware:";
const UTC = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** A record that passed, as it came. */
export interface PushedRecord {
  event_type: string;
  category: string;
  content: unknown;
  metadata: JsonRecord;
  created_at?: string | undefined;
  user_id?: string | null | undefined;
}

export type RecordCheck = { ok: true; record: PushedRecord } | { ok: false; issues: v.BaseIssue<unknown>[] };

/** Checks the records of one run. A name that a record gives must be the run's. */
export function recordCheck(threadId: string, runId: string): (value: unknown) => RecordCheck {
  const schemas = new Map<EventShape, v.GenericSchema>();
  const schemaOf = (shape: EventShape): v.GenericSchema => {
    const schema = schemas.get(shape) ?? recordSchema(shape, threadId, runId);
    schemas.set(shape, schema);
    return schema;
  };
  return (value) => {
    const { issues } = v.safeParse(schemaOf(shapeOf(value)), value);
    if (issues !== undefined) return { ok: false, issues };
    // The record itself goes on, not valibot's copy: the copy lacks keys named `constructor` and `prototype`.
    if (!isPushed(value)) throw new Error("A record passed without what it was checked for.");
    return { ok: true, record: value };
  };
}

const unknownShape: EventShape = {
  category: "",
  content: v.unknown(),
  metadata: middlewareShape.metadata,
};

function shapeOf(value: unknown): EventShape {
  const type = typeof value === "object" && value !== null && "event_type" in value ? value.event_type : undefined;
  if (typeof type !== "string") return unknownShape;
  if (type.startsWith(MIDDLEWARE)) return middlewareShape;
  return (Object.hasOwn(eventShapes, type) ? eventShapes[type] : undefined) ?? unknownShape;
}

function recordSchema(shape: EventShape, threadId: string, runId: string): v.GenericSchema {
  return v.looseObject({
    thread_id: v.optional(v.literal(threadId)),
    run_id: v.optional(v.literal(runId)),
    event_type: shape === middlewareShape ? characters(MIDDLEWARE.length + 1, MAX_TYPE) : characters(1, MAX_TYPE),
    category: shape === unknownShape ? characters(1, MAX_CATEGORY) : v.literal(shape.category),
    content: shape.content,
    metadata: shape.metadata,
    created_at: v.optional(v.pipe(v.string(), v.regex(UTC))),
    user_id: v.optional(v.nullable(v.string())),
  });
}

/** A text of so many characters, as JSON Schema counts them. */
const characters = (min: number, max: number): v.GenericSchema =>
  v.pipe(
    v.string(),
    v.check((text) => {
      const length = characterCount(text);
      return length >= min && length <= max;
    }, `from ${min} to ${max} characters`),
  );

const isPushed = (value: unknown): value is PushedRecord =>
  typeof value === "object" && value !== null && "event_type" in value && "metadata" in value;
