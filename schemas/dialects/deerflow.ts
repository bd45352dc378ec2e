// The bodies of the DeerFlow family. A field that asks for something this server cannot do has any type here: it is refused by its own text. Shapes only.
import * as v from "valibot";
import { anyRecord as record, objectOnly } from "../object-only.ts";

/** Of a thread's name. */
export const THREAD_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** `null` is as good as nothing. */
const maybe = <S extends v.GenericSchema>(schema: S) =>
  v.optional(
    v.pipe(
      v.nullable(schema),
      v.transform((value) => value ?? undefined),
    ),
  );
const text = maybe(v.string());
const anything = v.optional(v.unknown());
const threadId = maybe(v.pipe(v.string(), v.regex(THREAD_ID)));
/** None that a JavaScript number cannot tell from its neighbours. */
const whole = (ge: number, le: number = Number.MAX_SAFE_INTEGER) =>
  v.pipe(v.number(), v.integer(), v.minValue(ge), v.maxValue(le));

export const threadCreateSchema = objectOnly(
  v.looseObject({ thread_id: threadId, assistant_id: text, metadata: maybe(record) }),
);

export const threadPatchSchema = objectOnly(v.looseObject({ metadata: maybe(record) }));

/** What a state of a thread may hold. */
export const threadChannels: readonly string[] = [
  "messages",
  "title",
  "artifacts",
  "todos",
  "thread_data",
  "uploaded_files",
  "viewed_images",
  "goal",
];

/** What sorts and selects is passed over. */
export const threadSearchSchema = objectOnly(
  v.looseObject({
    metadata: maybe(record),
    limit: maybe(whole(1, 1000)),
    offset: maybe(whole(0)),
    status: maybe(v.picklist(["idle", "busy", "interrupted", "error"])),
  }),
);

export const stateUpdateSchema = objectOnly(
  v.looseObject({ values: maybe(record), checkpoint_id: text, checkpoint: maybe(record), as_node: text }),
);

/** `before`: a checkpoint's id, or an object that has it. */
export const historySchema = objectOnly(
  v.looseObject({ limit: maybe(whole(1, 100)), before: maybe(v.union([v.string(), record])) }),
);

export const stateAtSchema = objectOnly(v.looseObject({ checkpoint: record }));

export const streamModes = ["values", "messages-tuple", "updates", "debug", "tasks", "checkpoints", "custom"] as const;

const nodes = maybe(v.union([v.literal("*"), v.array(v.string())]));

/** Closed: a misspelt option is refused, not passed over. */
export const runCreateSchema = objectOnly(
  v.strictObject({
    assistant_id: text,
    input: maybe(record),
    command: maybe(record),
    metadata: maybe(record),
    config: maybe(record),
    context: maybe(record),
    checkpoint_id: text,
    checkpoint: anything,
    interrupt_before: nodes,
    interrupt_after: nodes,
    stream_mode: maybe(v.union([v.string(), v.array(v.string())])),
    stream_subgraphs: maybe(v.boolean()),
    on_disconnect: maybe(v.picklist(["cancel", "continue"])),
    multitask_strategy: text,
    webhook: anything,
    stream_resumable: anything,
    on_completion: anything,
    after_seconds: anything,
    if_not_exists: anything,
    feedback_keys: anything,
  }),
);
export type RunCreate = v.InferOutput<typeof runCreateSchema>;

/** What a client gives for the calls that an interrupted run left open. */
export const resumeSchema = objectOnly(
  v.strictObject({
    decisions: v.optional(
      v.array(objectOnly(v.looseObject({ toolCallId: v.string(), decision: v.picklist(["approve", "deny"]) }))),
    ),
    results: v.optional(
      v.array(
        objectOnly(v.looseObject({ toolCallId: v.string(), output: v.unknown(), isError: v.optional(v.boolean()) })),
      ),
    ),
  }),
);

export const regenerateSchema = objectOnly(v.looseObject({ message_id: v.string() }));
export const editSchema = objectOnly(v.looseObject({ human_message_id: v.string(), replacement_text: v.string() }));

/** A wrong rating has a text of its own. */
export const feedbackSchema = objectOnly(
  v.looseObject({ rating: v.pipe(v.number(), v.integer()), comment: text, message_id: text }),
);

export const assistantSearchSchema = objectOnly(
  v.looseObject({
    graph_id: text,
    name: text,
    metadata: maybe(record),
    limit: maybe(whole(1, 1000)),
    offset: maybe(whole(0)),
  }),
);

/** Records of a run that is carried out elsewhere; each is looked at by itself. */
export const ingestSchema = objectOnly(
  v.looseObject({
    /** Of the producer: higher for each one that takes over. */
    epoch: maybe(whole(0)),
    /** The position of the first record among those of this producer, from 0. */
    sequence: whole(0),
    records: maybe(v.pipe(v.array(v.unknown()), v.maxLength(1000))),
    end: maybe(
      objectOnly(
        v.strictObject({
          status: v.picklist(["success", "error", "timeout", "interrupted"]),
          stop_reason: text,
          error: text,
        }),
      ),
    ),
    /** Milliseconds after which a producer that says nothing counts as lost. */
    lease_ms: maybe(whole(1000, 3_600_000)),
    if_not_exists: maybe(v.literal("create")),
    assistant_id: text,
    metadata: maybe(record),
    user_id: text,
  }),
);
