// A thread's object, and what a producer pushes to it.
import type { IngestAnswer, IngestRequest } from "../../schemas/thread-ingest.ts";
import { newThread as madeThread, type Stub } from "./threads.ts";

export const newThread = (): (() => Stub) => madeThread().stub;

export const push = async (stub: Stub, fields: Partial<IngestRequest> = {}): Promise<IngestAnswer> =>
  stub.ingest({
    runId: "r1",
    epoch: 0,
    sequence: 0,
    records: [],
    leaseMs: 60_000,
    ifMissing: "create",
    assistantId: "lead_agent",
    metadata: {},
    userId: null,
    maxThreadBytes: 1_000_000_000,
    ...fields,
  });

export const event = (event_type: string, category: string, content: unknown, metadata = {}): unknown => ({
  event_type,
  category,
  content,
  metadata,
});
export const human = (id: string, content = "Hi"): unknown =>
  event("llm.human.input", "message", { type: "human", id, content }, { caller: "lead_agent" });
/** What a model said, as a callback tells it; without an id where that has none. */
export const answer = (
  id: string | undefined,
  content = "Hello",
  tool_calls: unknown[] = [],
  caller = "lead_agent",
): unknown =>
  event(
    "llm.ai.response",
    "message",
    { type: "ai", id, content, tool_calls },
    { caller, usage: { total_tokens: 5 }, latency_ms: 1, llm_call_index: 1 },
  );
export const call = (id: string): unknown => ({ type: "tool_call", id, name: "look_up", args: {} });
export const toolResult = (id: string, tool_call_id: string, content = "18"): unknown =>
  event("llm.tool.result", "message", { type: "tool", id, content, tool_call_id });
export const note = (text: string): unknown => event("some.note", "notes", text);
export const runEnd = event("run.end", "outputs", {}, { status: "success" });
export const runError = event("run.error", "error", "It failed.", { error_type: "ValueError" });
export const terminal = (status: string): unknown => event("run.terminal", "outputs", { status, error: null });
