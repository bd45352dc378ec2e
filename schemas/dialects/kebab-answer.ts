// What the kebab family says about questions and their answers: the request, the lines of the stream. Shapes only.
import * as v from "valibot";
import { threadIdSchema } from "../run.ts";
import { citationSchema, hitSchema, traceSchema } from "./kebab.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const dateTime = v.pipe(v.string(), v.isoTimestamp());
const MAX_QUESTION = 8192;

/** `null` is as good as nothing. */
export const askRequestSchema = v.object({
  question: v.pipe(v.string(), v.maxLength(MAX_QUESTION)),
  /** Left out: the one named `default`. */
  collection: v.nullish(v.string()),
  k: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
  mode: v.nullish(v.picklist(["lexical", "vector", "hybrid"])),
  temperature: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(2))),
  seed: v.nullish(v.pipe(v.number(), v.integer())),
  /** The retrieval's trace goes with its hits. */
  explain: v.nullish(v.boolean()),
  /** The run splits the question into others first, and looks for each of them. */
  multi_hop: v.nullish(v.boolean()),
  /** The conversation that the question goes on with, which is made when it is not there. */
  conversation: v.nullish(threadIdSchema),
  /** Left out: `default`. */
  route: v.nullish(v.pipe(v.string(), v.minLength(1))),
});
export type AskRequest = v.InferOutput<typeof askRequestSchema>;

const answerCitationSchema = v.object({
  /** `null`: a near miss, which no text cites. */
  marker: v.nullable(v.pipe(v.string(), v.regex(/^\[[1-9]\d*\]$/))),
  citation: citationSchema,
  indexed_at: dateTime,
  stale: v.boolean(),
});

/** One call of a model, or what stood in its place. */
const hopSchema = v.object({
  iter: count,
  kind: v.picklist(["decompose", "decide", "synthesize"]),
  /** What the model wants to know next. */
  sub_queries: v.array(v.string()),
  /** Sources that the searches before it have added. */
  context_chunks_added: count,
  /** No model was asked: a limit was reached. */
  forced_stop: v.boolean(),
  /** Milliseconds; 0 for no call. */
  llm_call_ms: count,
});
export type AnswerHop = v.InferOutput<typeof hopSchema>;

export const answerSchema = v.object({
  schema_version: v.literal("answer.v1"),
  answer: v.string(),
  citations: v.array(answerCitationSchema),
  grounded: v.boolean(),
  refusal_reason: v.nullable(
    v.picklist(["score_gate", "llm_self_judge", "no_chunks", "llm_stream_aborted", "multi_hop_decompose_failed"]),
  ),
  model: v.object({ id: v.string(), provider: v.string(), dimensions: v.null() }),
  /** Of a search that compared vectors and found something. */
  embedding: v.nullable(v.object({ id: v.string(), provider: v.string(), dimensions: v.nullable(count) })),
  prompt_template_version: v.string(),
  retrieval: v.object({
    trace_id: v.pipe(v.string(), v.regex(/^ret_[0-9a-f]{8}$/)),
    mode: v.picklist(["lexical", "vector", "hybrid"]),
    k: count,
    score_gate: v.number(),
    top_score: v.number(),
    chunks_returned: count,
    chunks_used: count,
  }),
  /** Milliseconds from the start of the run to its end. */
  usage: v.object({ prompt_tokens: count, completion_tokens: count, latency_ms: count }),
  /** Of a question that was split into others. */
  hops: v.exactOptional(v.array(hopSchema)),
  created_at: dateTime,
  conversation_id: v.nullable(threadIdSchema),
  turn_index: v.nullable(count),
  run_id: v.string(),
  /** Of the stream's last line. */
  sequence: v.exactOptional(count),
});
export type KebabAnswer = v.InferOutput<typeof answerSchema>;

const line = { schema_version: v.literal("answer_event.v1"), ts: dateTime };
export const answerEventSchema = v.variant("kind", [
  v.object({
    ...line,
    kind: v.literal("retrieval_done"),
    hits: v.array(hitSchema),
    trace: v.exactOptional(traceSchema),
    sequence: count,
  }),
  v.object({
    ...line,
    kind: v.literal("token"),
    delta: v.string(),
    /** Of a question without a conversation: `null`. */
    turn_index: v.nullable(count),
    sequence: count,
  }),
  v.object({ ...line, kind: v.literal("final"), answer: answerSchema }),
]);
