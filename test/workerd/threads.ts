// Threads in tests inside workerd: starts, messages and news as the edge and runs say them.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { ThreadObject } from "../../durable-objects/thread-object.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import type {
  LangMessage,
  ThreadBase,
  ThreadRunView,
  ThreadUpdate,
  ThreadUpdateAnswer,
  ThreadView,
  RecordDraft,
  ThreadNews,
  ThreadRunAnswer,
  ThreadRunEnd,
  ThreadRunRequest,
  ThreadState,
  ThreadStateAnswer,
  ThreadWaitingAnswer,
} from "../../schemas/thread.ts";
import { demoTarget, planOf } from "./plan.ts";

export type Stub = DurableObjectStub<ThreadObject>;
type Begun = Extract<ThreadRunAnswer, { begun: true }>;

/** Always a fresh stub: one whose object has died stays broken. */
export function newThread(tenant = "local"): { threadId: string; stub: () => Stub } {
  const threadId = crypto.randomUUID();
  return { threadId, stub: () => env.THREAD.getByName(`${tenant}/${threadId}`) };
}

export const human = (id: string, content = `Said in ${id}.`): LangMessage => ({ type: "human", id, content });
export const ai = (id: string, content = `Answered in ${id}.`, calls: { id: string; name: string }[] = []) => ({
  type: "ai",
  id,
  content,
  tool_calls: calls.map((call) => ({ ...call, args: {}, type: "tool_call" })),
});
export const result = (id: string, callId: string, content = "18"): LangMessage => ({
  type: "tool",
  id,
  content,
  tool_call_id: callId,
  status: "success",
});
export const removal = (id: string): LangMessage => ({ type: "remove", id });

export const starting = (runId: string, fields: Partial<ThreadRunRequest> = {}): ThreadRunRequest => ({
  threadId: "",
  runId,
  requestHash: "hash",
  ifMissing: "create",
  strategy: "reject",
  input: [human(`h-${runId}`)],
  assistantId: null,
  metadata: {},
  kwargs: {},
  maxConversationBytes: 100_000,
  maxThreadBytes: 1_000_000_000,
  ...fields,
});

export const newRun = (): string => `run-${crypto.randomUUID()}`;

// Annotated, for what crosses a stub has another type.
export const create = async (stub: Stub, metadata: JsonRecord = {}): Promise<ThreadView> => stub.create({ metadata });
export const viewIf = async (stub: Stub): Promise<ThreadView | undefined> => stub.view();
export const patch = async (
  stub: Stub,
  metadata: JsonRecord,
  maxThreadBytes = 1_000_000_000,
): Promise<ThreadView | "full" | undefined> => stub.patch(metadata, maxThreadBytes);
export const runs = async (stub: Stub): Promise<ThreadRunView[]> => stub.runs();
export const run = async (stub: Stub, runId: string): Promise<ThreadRunView | undefined> => stub.run(runId);
export const baseOf = async (stub: Stub, runId: string): Promise<ThreadBase | undefined> => stub.baseOf(runId);
export const history = async (stub: Stub, limit: number, before?: string): Promise<ThreadState[] | undefined> =>
  stub.history({ limit, ...(before !== undefined && { before }) });
export const update = async (stub: Stub, fields: Partial<ThreadUpdate>): Promise<ThreadUpdateAnswer> =>
  stub.updateState({ input: [], values: {}, maxThreadBytes: 1_000_000_000, ...fields });
export const waiting = async (stub: Stub, forRun: string, checkpoint?: string): Promise<ThreadWaitingAnswer> =>
  stub.waiting(forRun, checkpoint);
export const ask = async (stub: Stub, request: ThreadRunRequest): Promise<ThreadRunAnswer> => stub.beginRun(request);

export async function begin(stub: Stub, fields: Partial<ThreadRunRequest> = {}): Promise<Begun & { runId: string }> {
  const runId = fields.runId ?? newRun();
  const answer = await ask(stub, starting(runId, fields));
  if (!answer.begun) throw new Error(`not begun: ${JSON.stringify(answer)}`);
  return { ...answer, runId };
}

const draft = (source: number, eventType: string, category: string, content: unknown): RecordDraft => ({
  source,
  eventType,
  category,
  content,
  metadata: eventType === "llm.ai.response" ? { caller: "lead_agent" } : {},
  at: source,
});

/** The records of messages, from this source on. */
export const recordsOf = (messages: readonly LangMessage[], from = 0): RecordDraft[] =>
  messages.map((message, index) =>
    draft(from + index, message.type === "tool" ? "llm.tool.result" : "llm.ai.response", "message", message),
  );

export const ended = (fields: Partial<ThreadRunEnd> = {}): ThreadRunEnd => ({
  status: "success",
  stopReason: null,
  error: null,
  interrupts: [],
  ...fields,
});

/** All that a run says, with its end. */
export function newsOf(
  runId: string,
  messages: readonly LangMessage[] = [ai(`a-${runId}`)],
  end: ThreadRunEnd = ended(),
): ThreadNews {
  const terminal = draft(messages.length, "run.terminal", "outputs", { status: end.status });
  return { runId, records: [...recordsOf(messages), terminal], through: messages.length, end };
}

/** A turn from its beginning to its end. */
export async function turn(stub: Stub, fields: Partial<ThreadRunRequest> = {}, news?: ThreadNews): Promise<string> {
  const { runId } = await begin(stub, fields);
  expect(await stub.take(news === undefined ? newsOf(runId) : { ...news, runId })).toEqual({ known: true });
  return runId;
}

/** A run that says nothing until it is told to end. */
export async function startRun(runId: string, fields: Partial<RunPlan> = {}): Promise<void> {
  const plan = planOf(runId, { chain: [demoTarget("demo-silent")], ...fields });
  expect(await env.RUN.getByName(`local/${runId}`).start(plan, 100)).toMatchObject({ started: true });
}

export const askState = async (stub: Stub, checkpoint?: string): Promise<ThreadStateAnswer> => stub.state(checkpoint);

export async function stateOf(stub: Stub, checkpoint?: string): Promise<ThreadState> {
  const answer = await askState(stub, checkpoint);
  if (!answer.found || answer.state === undefined) throw new Error(`no state: ${JSON.stringify(answer)}`);
  return answer.state;
}

export const idsOf = ({ messages }: ThreadState): string[] => messages.map(({ message }) => message.id);
export const ids = async (stub: Stub, checkpoint?: string): Promise<string[]> => idsOf(await stateOf(stub, checkpoint));

/** Each record's number, run and type. */
export const records = (stub: Stub): Promise<string[]> =>
  runInDurableObject(stub, (_instance, { storage }) => {
    const there = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'record'").toArray().length > 0;
    if (!there) return [];
    return storage.sql
      .exec<{ seq: number; run_id: string; event_type: string }>(
        "SELECT seq, run_id, event_type FROM record ORDER BY seq",
      )
      .toArray()
      .map(({ seq, run_id, event_type }) => `${seq} ${run_id} ${event_type}`);
  });

export async function view(stub: Stub): Promise<ThreadView> {
  const seen = await viewIf(stub);
  if (seen === undefined) throw new Error("no such thread");
  return seen;
}

/** Ends the object: the next call finds a new one. */
export async function crash(stub: Stub): Promise<void> {
  await expect(runInDurableObject(stub, (_instance, state) => state.abort("crash"))).rejects.toThrow("crash");
}

/** Storage as it would be had its runs begun so much earlier. */
export const age = (stub: Stub, ms: number): Promise<void> =>
  runInDurableObject(stub, (_instance, { storage }) => {
    storage.sql.exec("UPDATE run SET created_at = created_at - ?", ms);
  });
