// The types of records that are known, each with its category, content and metadata: DeerFlow's run event contract, version 1, and what this product adds. Shapes only.
import * as v from "valibot";
import { objectOnly } from "./object-only.ts";

const text = v.string();
const textOrNull = v.nullable(text);
const name = v.pipe(text, v.minLength(1));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const countOrNull = v.nullable(count);
const anyObject = objectOnly(v.looseObject({}));
const maybeObject = v.optional(anyObject);

const aiMessage = {
  type: v.literal("ai"),
  content: v.unknown(),
  additional_kwargs: maybeObject,
  response_metadata: maybeObject,
};

const subagentCall = v.looseObject({ name: textOrNull, args: v.unknown(), args_truncated: v.optional(v.boolean()) });

const subagentStep = {
  task_id: name,
  message_index: count,
  text,
  truncated: v.boolean(),
};

const change = v.looseObject({
  path: text,
  root: text,
  status: v.picklist(["created", "modified", "deleted", "symlink_created"]),
  binary: v.boolean(),
  sensitive: v.boolean(),
  size_before: countOrNull,
  size_after: countOrNull,
  sha256_before: textOrNull,
  sha256_after: textOrNull,
  diff: text,
  diff_truncated: v.boolean(),
  diff_unavailable_reason: textOrNull,
  additions: count,
  deletions: count,
  symlink: v.boolean(),
  symlink_target_before: textOrNull,
  symlink_target_after: textOrNull,
});

const workspaceChanges = v.looseObject({
  version: v.literal(1),
  summary: v.looseObject({
    created: count,
    modified: count,
    deleted: count,
    symlink_created: count,
    additions: count,
    deletions: count,
    truncated: v.boolean(),
  }),
  files: v.array(change),
  limits: v.looseObject({
    max_files: count,
    max_scanned_files: count,
    max_file_bytes_for_diff: count,
    max_total_diff_bytes: count,
  }),
});

/** How a run that somebody else carries out may end. */
const endStatus = v.picklist(["success", "error", "timeout", "interrupted"]);

export interface EventShape {
  category: string;
  content: v.GenericSchema;
  metadata: v.GenericSchema;
}

export const eventShapes: Readonly<Record<string, EventShape>> = {
  "run.start": {
    category: "trace",
    content: v.looseObject({ chain: textOrNull }),
    metadata: v.looseObject({ caller: text }),
  },
  "run.end": {
    category: "outputs",
    content: v.unknown(),
    metadata: v.looseObject({ status: v.literal("success") }),
  },
  "run.error": { category: "error", content: text, metadata: v.looseObject({ error_type: text }) },
  "llm.human.input": {
    category: "message",
    content: v.looseObject({ type: v.literal("human"), content: v.unknown(), additional_kwargs: maybeObject }),
    metadata: v.looseObject({ caller: v.literal("lead_agent") }),
  },
  "llm.ai.response": {
    category: "message",
    content: v.looseObject({ ...aiMessage, tool_calls: v.array(v.unknown()) }),
    metadata: v.looseObject({
      caller: text,
      usage: anyObject,
      latency_ms: countOrNull,
      llm_call_index: v.pipe(v.number(), v.integer(), v.minValue(1)),
    }),
  },
  "llm.tool.result": {
    category: "message",
    content: v.looseObject({ type: text, content: v.unknown(), tool_call_id: v.optional(textOrNull) }),
    metadata: anyObject,
  },
  "llm.error": { category: "trace", content: text, metadata: anyObject },
  "context:memory": {
    category: "context",
    content: v.looseObject({ content_sha256: v.pipe(text, v.regex(/^[0-9a-f]{64}$/)) }),
    metadata: anyObject,
  },
  "subagent.start": {
    category: "subagent",
    content: v.looseObject({ task_id: name, description: textOrNull }),
    metadata: v.looseObject({ task_id: name }),
  },
  "subagent.step": {
    category: "subagent",
    content: v.variant("kind", [
      v.looseObject({
        ...subagentStep,
        kind: v.literal("ai"),
        tool_calls: v.array(subagentCall),
        tool_name: v.optional(textOrNull),
      }),
      v.looseObject({
        ...subagentStep,
        kind: v.literal("tool"),
        tool_calls: v.optional(v.array(subagentCall)),
        tool_name: textOrNull,
      }),
    ]),
    metadata: v.looseObject({ task_id: name, message_index: count }),
  },
  "subagent.end": {
    category: "subagent",
    content: v.looseObject({
      task_id: name,
      status: v.picklist(["completed", "failed", "cancelled", "timed_out"]),
      model_name: v.optional(text),
      usage: maybeObject,
      result: v.optional(text),
      result_truncated: v.optional(v.boolean()),
      error: v.optional(text),
      error_truncated: v.optional(v.boolean()),
    }),
    metadata: v.looseObject({ task_id: name }),
  },
  workspace_changes: {
    category: "workspace",
    content: text,
    metadata: v.looseObject({ workspace_changes: workspaceChanges }),
  },
  // Not in the contract: what producers of it write all the same, and what they wrote once.
  "run.delivery": {
    category: "outputs",
    content: v.looseObject({ presented: count, paths: v.array(text), by_tool: anyObject }),
    metadata: anyObject,
  },
  ai_message: {
    category: "message",
    content: v.looseObject({ ...aiMessage, tool_calls: v.optional(v.array(v.unknown())) }),
    metadata: anyObject,
  },
  // Added here.
  "tool.intent": {
    category: "trace",
    content: v.looseObject({ tool_call_id: text, name: text, args: v.unknown() }),
    metadata: anyObject,
  },
  "run.terminal": {
    category: "outputs",
    content: v.looseObject({
      status: endStatus,
      stop_reason: v.optional(textOrNull),
      error: v.optional(textOrNull),
      outcome: v.optional(v.unknown()),
    }),
    metadata: anyObject,
  },
};

/** All types that begin with `middleware:`. */
export const middlewareShape: EventShape = {
  category: "middleware",
  content: v.looseObject({ name: text, hook: text, action: text, changes: anyObject }),
  metadata: anyObject,
};
