// The rows of a visitor's object as values: chats, turns and decisions, read from what storage gives. No statement.
import type { KnownTurn, TurnState } from "../src/chat/turn-rules.ts";

export type Row = Record<string, SqlStorageValue>;

export interface ChatRow {
  id: number;
  chatId: string;
  title: string;
  /** The run whose provisional title this is. */
  titleRun: string | undefined;
  preview: string;
  tokens: number;
  version: number;
  createdAt: number;
  updatedAt: number;
  activeRun: string | undefined;
  summary: string | undefined;
  /** Entries that the summary covers. */
  summaryThrough: number;
  /** Entries that a summary was asked for. */
  askedThrough: number | undefined;
}

export interface TurnRow extends KnownTurn {
  id: number;
  chat: number;
  identity: string;
  at: number;
  promptAt: number;
  /** How many were told to start it and have not said that they could not. */
  starters: number;
  /** It was given up, and its run may yet tell what it did. */
  incomplete: boolean;
}

export interface TakenDecision {
  toolCallId: string;
  decision: "approve" | "deny";
  runId: string;
}

export const textOf = (value: SqlStorageValue | undefined): string => (typeof value === "string" ? value : "");
const maybeText = (value: SqlStorageValue | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;

const stateOf = (value: unknown): TurnState =>
  value === "begun" || value === "completed" || value === "error" || value === "cancelled" ? value : "lost";

export const chatOf = (row: Row): ChatRow => ({
  id: Number(row["id"]),
  chatId: textOf(row["chat_id"]),
  title: textOf(row["title"]),
  titleRun: maybeText(row["title_run"]),
  preview: textOf(row["preview"]),
  tokens: Number(row["tokens"]),
  version: Number(row["version"]),
  createdAt: Number(row["created_at"]),
  updatedAt: Number(row["updated_at"]),
  activeRun: maybeText(row["active_run"]),
  summary: maybeText(row["summary"]),
  summaryThrough: Number(row["summary_through"]),
  askedThrough: row["asked_through"] === null ? undefined : Number(row["asked_through"]),
});

export const turnOf = (row: Row): TurnRow => ({
  id: Number(row["id"]),
  runId: textOf(row["run_id"]),
  chat: Number(row["chat"]),
  identity: textOf(row["identity"]),
  liveOnly: row["live_only"] === 1,
  state: stateOf(row["state"]),
  at: Number(row["at"]),
  promptAt: Number(row["prompt_at"]),
  starters: Number(row["starters"]),
  incomplete: row["incomplete"] === 1,
});

export const takenOf = (row: Row): TakenDecision => ({
  toolCallId: textOf(row["call_id"]),
  decision: row["decision"] === "approve" ? "approve" : "deny",
  runId: textOf(row["run_id"]),
});
