// A record of each known type, with the paths of all that its type requires in content and metadata.
import type { JsonRecord } from "../../../schemas/json.ts";

export interface Sample {
  event_type: string;
  category: string;
  content: unknown;
  metadata: JsonRecord;
  required: readonly string[];
}

const change = {
  path: "a.txt",
  root: "outputs",
  status: "modified",
  binary: false,
  sensitive: false,
  size_before: 1,
  size_after: null,
  sha256_before: "0a",
  sha256_after: null,
  diff: "+a",
  diff_truncated: false,
  diff_unavailable_reason: null,
  additions: 1,
  deletions: 0,
  symlink: false,
  symlink_target_before: null,
  symlink_target_after: "b.txt",
};

const summary = {
  created: 0,
  modified: 1,
  deleted: 0,
  symlink_created: 0,
  additions: 1,
  deletions: 0,
  truncated: false,
};

const limits = {
  max_files: 200,
  max_scanned_files: 2000,
  max_file_bytes_for_diff: 262_144,
  max_total_diff_bytes: 1_048_576,
};

export const workspaceChanges = { version: 1, summary, files: [change], limits };

const below = (path: string, value: object): string[] => Object.keys(value).map((key) => `${path}/${key}`);

export const samples: readonly Sample[] = [
  {
    event_type: "run.start",
    category: "trace",
    content: { chain: "lead_agent" },
    metadata: { caller: "lead_agent" },
    required: ["content/chain", "metadata/caller"],
  },
  {
    event_type: "run.end",
    category: "outputs",
    content: ["anything"],
    metadata: { status: "success" },
    required: ["metadata/status"],
  },
  {
    event_type: "run.error",
    category: "error",
    content: "It failed.",
    metadata: { error_type: "ValueError" },
    required: ["metadata/error_type"],
  },
  {
    event_type: "llm.human.input",
    category: "message",
    content: { type: "human", content: "Hi", additional_kwargs: {} },
    metadata: { caller: "lead_agent" },
    required: ["content/type", "content/content", "metadata/caller"],
  },
  {
    event_type: "llm.ai.response",
    category: "message",
    content: { type: "ai", content: [], tool_calls: [], additional_kwargs: {}, response_metadata: {} },
    metadata: { caller: "lead_agent", usage: { total_tokens: 3 }, latency_ms: null, llm_call_index: 1 },
    required: [
      "content/type",
      "content/content",
      "content/tool_calls",
      ...["caller", "usage", "latency_ms", "llm_call_index"].map((key) => `metadata/${key}`),
    ],
  },
  {
    event_type: "llm.tool.result",
    category: "message",
    content: { type: "tool", content: "22 degrees", tool_call_id: "c1" },
    metadata: {},
    required: ["content/type", "content/content"],
  },
  { event_type: "llm.error", category: "trace", content: "Overloaded.", metadata: {}, required: [] },
  {
    event_type: "context:memory",
    category: "context",
    content: { content_sha256: "0f".repeat(32) },
    metadata: {},
    required: ["content/content_sha256"],
  },
  {
    event_type: "subagent.start",
    category: "subagent",
    content: { task_id: "t1", description: null },
    metadata: { task_id: "t1" },
    required: ["content/task_id", "content/description", "metadata/task_id"],
  },
  {
    event_type: "subagent.step",
    category: "subagent",
    content: {
      task_id: "t1",
      message_index: 0,
      kind: "ai",
      text: "Looking.",
      truncated: false,
      tool_calls: [{ name: null, args: {}, args_truncated: true }],
    },
    metadata: { task_id: "t1", message_index: 0 },
    required: [
      ...["task_id", "message_index", "kind", "text", "truncated", "tool_calls"].map((key) => `content/${key}`),
      "content/tool_calls/0/name",
      "content/tool_calls/0/args",
      "metadata/task_id",
      "metadata/message_index",
    ],
  },
  {
    event_type: "subagent.step",
    category: "subagent",
    content: { task_id: "t1", message_index: 1, kind: "tool", text: "22", truncated: true, tool_name: "weather" },
    metadata: { task_id: "t1", message_index: 1 },
    required: [
      ...["task_id", "message_index", "kind", "text", "truncated", "tool_name"].map((key) => `content/${key}`),
      "metadata/task_id",
      "metadata/message_index",
    ],
  },
  {
    event_type: "subagent.end",
    category: "subagent",
    content: {
      task_id: "t1",
      status: "completed",
      model_name: "m",
      usage: {},
      result: "Done.",
      result_truncated: false,
      error: "",
      error_truncated: false,
    },
    metadata: { task_id: "t1" },
    required: ["content/task_id", "content/status", "metadata/task_id"],
  },
  {
    event_type: "workspace_changes",
    category: "workspace",
    content: "1 file changed +1 -0",
    metadata: { workspace_changes: workspaceChanges },
    required: [
      "metadata/workspace_changes",
      ...below("metadata/workspace_changes", workspaceChanges),
      ...below("metadata/workspace_changes/summary", summary),
      ...below("metadata/workspace_changes/files/0", change),
      ...below("metadata/workspace_changes/limits", limits),
    ],
  },
  {
    event_type: "middleware:guardrail",
    category: "middleware",
    content: { name: "Guardrail", hook: "before_tool", action: "deny", changes: {} },
    metadata: {},
    required: ["content/name", "content/hook", "content/action", "content/changes"],
  },
];

/** Not in the contract: `required` is ours. */
export const furtherSamples: readonly Sample[] = [
  {
    event_type: "run.delivery",
    category: "outputs",
    content: { presented: 1, paths: ["a.txt"], by_tool: { present: ["a.txt"] } },
    metadata: {},
    required: ["content/presented", "content/paths", "content/by_tool"],
  },
  {
    event_type: "ai_message",
    category: "message",
    content: { type: "ai", content: "Hi" },
    metadata: {},
    required: ["content/type", "content/content"],
  },
  {
    event_type: "tool.intent",
    category: "trace",
    content: { tool_call_id: "c1", name: "weather", args: { city: "Oslo" } },
    metadata: {},
    required: ["content/tool_call_id", "content/name", "content/args"],
  },
  {
    event_type: "run.terminal",
    category: "outputs",
    content: { status: "error", stop_reason: null, error: "It failed.", outcome: "error" },
    metadata: {},
    required: ["content/status"],
  },
];

/** A copy without what stands at `path`. */
export function without(value: unknown, path: string): unknown {
  const copy: unknown = structuredClone(value);
  const keys = path.split("/");
  const last = keys.pop() ?? "";
  const parent = keys.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), copy);
  if (!isObject(parent) || !(last in parent)) throw new Error(`nothing stands at ${path}`);
  delete parent[last];
  return copy;
}

/** A copy with something else at `path`. */
export function replaced(value: unknown, path: string, by: unknown): unknown {
  const copy: unknown = structuredClone(value);
  const keys = path.split("/");
  const last = keys.pop() ?? "";
  const parent = keys.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), copy);
  if (!isObject(parent)) throw new Error(`nothing stands at ${path}`);
  parent[last] = by;
  return copy;
}

/** The paths of all that stands in a value. */
export function pathsIn(value: unknown, path = ""): string[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = path === "" ? key : `${path}/${key}`;
    return [at, ...pathsIn(inner, at)];
  });
}

const isObject = (value: unknown): value is JsonRecord => typeof value === "object" && value !== null;
