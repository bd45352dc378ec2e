// What readers think of the runs of a thread: every statement on it. Writes happen inside the caller's transaction.
import type { Feedback, FeedbackNote, FeedbackRequest, FeedbackStats } from "../schemas/thread-rows.ts";
import { cutWithMark } from "../src/thread/fit-answer.ts";
import { fitting } from "../src/thread/fitting.ts";
import { threadTexts } from "./thread-texts.ts";

export interface ThreadFeedback {
  /** The user's newest feedback on the run, replaced by this, or a new one. */
  put(request: FeedbackRequest, newId: string, at: number): Feedback;
  add(request: FeedbackRequest, newId: string, at: number): Feedback;
  /** Oldest first, as many as fit into one answer. */
  list(runId: string): Feedback[];
  stats(runId: string): FeedbackStats;
  /** The newest of each run, where there is one; a long comment is cut, and says so. */
  notes(runIds: readonly string[]): Map<string, FeedbackNote>;
  /** All of the user's on the run; false when there was none. */
  removeOwn(runId: string, userId: string | null): boolean;
  removeOne(runId: string, feedbackId: string): "deleted" | "other_run" | "unknown";
  clear(): void;
}

/** UTF-16 units of a comment beside a message: one answer may have hundreds. */
const MAX_NOTE = 10_000;

type Row = Record<string, SqlStorageValue>;

/** Nothing is written, no table either, before the first feedback is kept. */
export function threadFeedback(storage: DurableObjectStorage): ThreadFeedback {
  const { sql } = storage;
  const comments = threadTexts(storage);
  const isReady = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'feedback'").toArray().length > 0;
  const read = (query: string, ...bindings: SqlStorageValue[]): Row[] =>
    isReady() ? sql.exec(query, ...bindings).toArray() : [];

  const commentName = (id: string): string => `feedback ${id}`;

  const keepComment = (id: string, comment: string | null): string | null =>
    comment === null ? null : comments.keep(commentName(id), comment.toWellFormed());

  const feedbackOf = (row: Row): Feedback => {
    const feedbackId = textOf(row["feedback_id"]);
    const comment = row["comment"];
    return {
      feedbackId,
      runId: textOf(row["run_id"]),
      userId: maybeText(row["user_id"]),
      messageId: maybeText(row["message_id"]),
      rating: row["rating"] === 1 ? 1 : -1,
      comment: typeof comment === "string" ? comments.read(commentName(feedbackId), comment) : null,
      createdAt: Number(row["created_at"]),
    };
  };

  function* listed(runId: string): Generator<Feedback> {
    if (!isReady()) return;
    for (const row of sql.exec("SELECT * FROM feedback WHERE run_id = ? ORDER BY created_at, id", runId)) {
      yield feedbackOf(row);
    }
  }

  const remove = (rows: readonly Row[]): void => {
    for (const row of rows) {
      const id = textOf(row["feedback_id"]);
      comments.drop(commentName(id), "");
      sql.exec("DELETE FROM feedback WHERE feedback_id = ?", id);
    }
  };

  const add: ThreadFeedback["add"] = ({ runId, rating, comment, userId, messageId }, newId, at) => {
    if (!isReady()) createTable(sql);
    const user = userId?.toWellFormed() ?? null;
    const message = messageId?.toWellFormed() ?? null;
    sql.exec(
      `INSERT INTO feedback (feedback_id, run_id, user_id, message_id, rating, comment, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      newId,
      runId,
      user,
      message,
      rating,
      keepComment(newId, comment),
      at,
    );
    return { feedbackId: newId, runId, userId: user, messageId: message, rating, comment, createdAt: at };
  };

  return {
    add,
    put(request, newId, at) {
      const [row] = read(
        "SELECT * FROM feedback WHERE run_id = ? AND user_id IS ? ORDER BY created_at DESC, id DESC LIMIT 1",
        request.runId,
        request.userId?.toWellFormed() ?? null,
      );
      if (row === undefined) return add(request, newId, at);
      const { rating, comment } = request;
      const known = feedbackOf(row);
      comments.drop(commentName(known.feedbackId), "");
      sql.exec(
        "UPDATE feedback SET rating = ?, comment = ?, created_at = ? WHERE feedback_id = ?",
        rating,
        keepComment(known.feedbackId, comment),
        at,
        known.feedbackId,
      );
      return { ...known, rating, comment, createdAt: at };
    },
    list: (runId) => fitting(listed(runId)),
    stats(runId) {
      const ratings = read("SELECT rating FROM feedback WHERE run_id = ?", runId).map(({ rating }) => rating);
      const positive = ratings.filter((rating) => rating === 1).length;
      return { total: ratings.length, positive, negative: ratings.length - positive };
    },
    notes(runIds) {
      const rows = read(
        `SELECT feedback.* FROM json_each(?) AS run JOIN feedback ON feedback.id =
         (SELECT id FROM feedback WHERE run_id = run.value ORDER BY created_at DESC, id DESC LIMIT 1)`,
        JSON.stringify(runIds),
      );
      return new Map(
        rows
          .map(feedbackOf)
          .map(({ runId, feedbackId, rating, comment }) => [
            runId,
            { feedbackId, rating, comment: comment === null ? null : cutWithMark(comment, MAX_NOTE) },
          ]),
      );
    },
    removeOwn(runId, userId) {
      const query = "SELECT feedback_id FROM feedback WHERE run_id = ? AND user_id IS ?";
      const rows = read(query, runId, userId?.toWellFormed() ?? null);
      remove(rows);
      return rows.length > 0;
    },
    removeOne(runId, feedbackId) {
      const rows = read("SELECT feedback_id, run_id FROM feedback WHERE feedback_id = ?", feedbackId.toWellFormed());
      const [row] = rows;
      if (row === undefined) return "unknown";
      if (row["run_id"] !== runId) return "other_run";
      remove(rows);
      return "deleted";
    },
    clear() {
      remove(read("SELECT feedback_id FROM feedback"));
    },
  };
}

function createTable(sql: SqlStorage): void {
  sql.exec(
    `CREATE TABLE feedback (id INTEGER PRIMARY KEY AUTOINCREMENT, feedback_id TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL,
     user_id TEXT, message_id TEXT, rating INTEGER NOT NULL, comment TEXT, created_at INTEGER NOT NULL)`,
  );
  sql.exec("CREATE INDEX feedback_run ON feedback (run_id, created_at)");
}

const textOf = (value: SqlStorageValue | undefined): string => (typeof value === "string" ? value : "");
const maybeText = (value: SqlStorageValue | undefined): string | null => (typeof value === "string" ? value : null);
