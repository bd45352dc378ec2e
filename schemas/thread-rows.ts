// What readers of a thread's records ask for, and what they are given. Shapes only. Times are Unix epoch milliseconds.
import type { JsonRecord } from "./json.ts";
import type { ThreadRecord } from "./thread.ts";

/** Cursors are numbers of records, themselves left out. `limit` is at least 1. */
export interface MessagesQuery {
  limit: number;
  beforeSeq?: number;
  /** With it the first records above are given, without it the last ones. */
  afterSeq?: number;
}

export interface PageQuery {
  limit: number;
  beforeSeq?: number;
}

export interface RunMessagesQuery extends MessagesQuery {
  runId: string;
}

export interface RunEventsQuery {
  runId: string;
  limit: number;
  afterSeq?: number;
  eventTypes?: string[];
  taskId?: string;
}

export interface WorkspaceQuery {
  runId: string;
  includeFiles: boolean;
  includeDiff: boolean;
}

/** What a message's row shows of the feedback on its run. */
export interface FeedbackNote {
  feedbackId: string;
  rating: 1 | -1;
  comment: string | null;
}

export interface MessageRow extends ThreadRecord {
  feedback: FeedbackNote | null;
}

/** `too_large`: so many records of such a size are in no answer; fewer are. */
export type RowsAnswer<Row> = { rows: Row[] } | { refused: "too_large" };

/** A page may be shorter than was asked for while there are more, when its records are large. */
export interface MessagePage {
  rows: MessageRow[];
  hasMore: boolean;
  /** The cursor of the page before, while there is one. */
  nextBeforeSeq: number | null;
}

export interface RunMessagePage {
  rows: ThreadRecord[];
  hasMore: boolean;
}

/** As it travels. */
export interface WorkspaceChanges {
  available: boolean;
  version: 1;
  summary: JsonRecord;
  files: unknown[];
  limits: JsonRecord;
}

/** As it travels, but for the thread's name. */
export interface ThreadTokenUsage {
  total_tokens: number;
  total_input_tokens: number;
  total_output_tokens: number;
  total_runs: number;
  by_model: Record<string, { tokens: number; runs: number }>;
  by_caller: { lead_agent: number; subagent: number; middleware: number };
  /** Of the latest answer that tells it. */
  context_usage: ThreadContextUsage | null;
}

/** `percentage` has one decimal. */
export interface ThreadContextUsage {
  token_count: number;
  max_context_tokens: number;
  percentage: number | null;
}

/** What a run's records add up to, as a run's answer shows it. */
export interface RunTotals {
  total_input_tokens: number;
  total_output_tokens: number;
  total_tokens: number;
  llm_call_count: number;
  lead_agent_tokens: number;
  subagent_tokens: number;
  middleware_tokens: number;
  message_count: number;
}

export interface Feedback extends FeedbackNote {
  runId: string;
  userId: string | null;
  messageId: string | null;
  createdAt: number;
}

export interface FeedbackRequest {
  runId: string;
  rating: 1 | -1;
  comment: string | null;
  userId: string | null;
  messageId: string | null;
}

export interface FeedbackStats {
  total: number;
  positive: number;
  negative: number;
}
