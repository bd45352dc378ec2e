// What the edge asks the object of a thread, and the object of a tenant's threads. Types only, and how the objects are found.
import type { JsonRecord } from "../../schemas/json.ts";
import type { ThreadSearch } from "../../schemas/thread-index.ts";
import type { IngestAnswer, IngestRequest } from "../../schemas/thread-ingest.ts";
import type { EditAnswer, EditRequest, RegenerateAnswer } from "../../schemas/thread-replay.ts";
import type * as rows from "../../schemas/thread-rows.ts";
import type {
  ThreadCancelAnswer,
  ThreadRecord,
  ThreadRunView,
  ThreadState,
  ThreadStateAnswer,
  ThreadUpdate,
  ThreadUpdateAnswer,
  ThreadView,
  ThreadWaitingAnswer,
} from "../../schemas/thread.ts";

/** A stub's own types give up at fields of unknown type. */
export interface ThreadCalls {
  create(request: { metadata: JsonRecord; assistantId?: string | null }): Promise<ThreadView>;
  view(): Promise<ThreadView | undefined>;
  patch(metadata: JsonRecord, maxThreadBytes: number): Promise<ThreadView | "full" | undefined>;
  remove(): Promise<"removed" | "busy" | "unknown">;
  state(checkpointId?: string): Promise<ThreadStateAnswer>;
  stateAfter(runId: string): Promise<ThreadStateAnswer>;
  waiting(forRun: string, checkpointId?: string): Promise<ThreadWaitingAnswer>;
  awaitEnd(runId: string, waitMs: number): Promise<boolean>;
  history(query: { limit: number; before?: string }): Promise<ThreadState[] | undefined>;
  updateState(update: ThreadUpdate): Promise<ThreadUpdateAnswer>;
  runs(): Promise<ThreadRunView[]>;
  run(runId: string): Promise<ThreadRunView | undefined>;
  cancelRun(runId: string, action: "interrupt" | "rollback", wait: boolean): Promise<ThreadCancelAnswer>;
  messages(query: rows.MessagesQuery): Promise<rows.RowsAnswer<rows.MessageRow>>;
  messagesPage(query: rows.PageQuery): Promise<rows.MessagePage>;
  runMessages(query: rows.RunMessagesQuery): Promise<rows.RunMessagePage>;
  runEvents(query: rows.RunEventsQuery): Promise<rows.RowsAnswer<ThreadRecord>>;
  workspaceChanges(query: rows.WorkspaceQuery): Promise<rows.WorkspaceChanges>;
  tokenUsage(includeActive: boolean): Promise<rows.ThreadTokenUsage>;
  runTotals(runIds: string[]): Promise<Record<string, rows.RunTotals>>;
  putFeedback(request: rows.FeedbackRequest, maxThreadBytes: number): Promise<rows.Feedback | "full">;
  addFeedback(request: rows.FeedbackRequest, maxThreadBytes: number): Promise<rows.Feedback | "full">;
  feedback(runId: string): Promise<rows.Feedback[]>;
  feedbackStats(runId: string): Promise<rows.FeedbackStats>;
  deleteFeedback(own: { runId: string; userId: string | null }): Promise<boolean>;
  deleteOneFeedback(one: { runId: string; feedbackId: string }): Promise<"deleted" | "other_run" | "unknown">;
  prepareRegenerate(messageId: string): Promise<RegenerateAnswer>;
  prepareEdit(request: EditRequest): Promise<EditAnswer>;
  ingest(request: IngestRequest): Promise<IngestAnswer>;
}

export const threadCalls = (env: Env, tenant: string, threadId: string): ThreadCalls =>
  env.THREAD.getByName(`${tenant}/${threadId}`);

export interface ThreadIndexCalls {
  search(asked: ThreadSearch): Promise<ThreadView[]>;
}

export const threadIndexCalls = (env: Env, tenant: string): ThreadIndexCalls => env.THREAD_INDEX.getByName(tenant);
