// What a finished run that waits for results or approvals hands to the run that goes on from it. Shapes only.
import * as v from "valibot";
import type { CallableTool } from "./tool.ts";
import { messageSchema, startRequestSchema } from "./run.ts";
import type { StreamMode } from "./thread.ts";

const openCall = v.looseObject({
  toolCallId: v.string(),
  toolName: v.string(),
  input: v.record(v.string(), v.unknown()),
  inputJson: v.optional(v.string()),
  execution: v.picklist(["server", "client"]),
  confirmation: v.optional(v.literal("required")),
  echo: v.optional(v.record(v.string(), v.unknown())),
  tool: v.optional(v.custom<CallableTool>((value) => typeof value === "object" && value !== null && "source" in value)),
});

const isText = (value: unknown): boolean => typeof value === "string";

export const continuationSchema = v.variant("found", [
  v.object({
    found: v.literal(true),
    /** The one that the run was started with, without what only that run was about. */
    request: startRequestSchema,
    /** What its models said and what its tools answered, in order. */
    turns: v.array(messageSchema),
    /** Calls without a result: the client's, and those that wait for an approval. */
    open: v.array(openCall),
    /** The thread that the run is in. */
    thread: v.optional(
      v.object({ threadId: v.string(), chain: v.nullable(v.string()), modes: v.array(v.custom<StreamMode>(isText)) }),
    ),
  }),
  v.object({ found: v.literal(false), refused: v.picklist(["not_found", "not_waiting", "gone"]) }),
]);
export type Continuation = v.InferOutput<typeof continuationSchema>;

/** A run that another may go on from. */
export type WaitingRun = Extract<Continuation, { found: true }>;
