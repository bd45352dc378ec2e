// From a thread's records to the rows and pages that readers are given: whose feedback and duration stand where, and how a page ends. Pure.
import type { ThreadRecord } from "../../schemas/thread.ts";
import type { FeedbackNote, MessagePage, MessageRow, RunMessagePage } from "../../schemas/thread-rows.ts";
import { isRecord } from "../wire/json.ts";
import { MARKS, marksOf } from "./record-marks.ts";

/** What is known of a thread's runs, by their names. */
export interface RunNotes {
  /** The newest feedback. */
  feedback: ReadonlyMap<string, FeedbackNote>;
  /** Whole seconds that an ended run took. */
  durations: ReadonlyMap<string, number>;
}

/** The list of messages: feedback stands on each run's last answer in it. */
export function messageRows(records: readonly ThreadRecord[], { feedback, durations }: RunNotes): MessageRow[] {
  const last = lastOf(records, ({ eventType }) => eventType === "llm.ai.response");
  return withDurations(records, durations).map((record) => ({
    ...record,
    feedback: last.get(record.runId) === record.seq ? (feedback.get(record.runId) ?? null) : null,
  }));
}

/**
 * The page that ends before a cursor, of at most `limit` rows. `records`: the newest below the cursor, one more than `limit`,
 * or with `cut` fewer. `lastAnswers`: each run's last answer that stands on any page.
 */
export function messagePage(
  records: readonly ThreadRecord[],
  cut: boolean,
  limit: number,
  lastAnswers: ReadonlyMap<string, number>,
  { feedback, durations }: RunNotes,
): MessagePage {
  const hasMore = cut || records.length > limit;
  const shown = records.slice(-limit);
  const rows = withDurations(shown, durations).map((record) => ({
    ...record,
    feedback: lastAnswers.get(record.runId) === record.seq ? (feedback.get(record.runId) ?? null) : null,
  }));
  return { rows, hasMore, nextBeforeSeq: hasMore ? (rows[0]?.seq ?? null) : null };
}

/** A page of one run: of one record more than `limit`, which goes at the end that the reader goes to. */
export function runMessagePage(
  records: readonly ThreadRecord[],
  cut: boolean,
  limit: number,
  from: "start" | "end",
  durations: ReadonlyMap<string, number>,
): RunMessagePage {
  const shown = from === "start" ? records.slice(0, limit) : records.slice(-limit);
  return { rows: withDurations(shown, durations), hasMore: cut || records.length > limit };
}

/** How long a run took stands on the last of its answers among these. */
function withDurations(records: readonly ThreadRecord[], durations: ReadonlyMap<string, number>): ThreadRecord[] {
  const last = lastOf(records, (record) => (marksOf(record) & MARKS.answer) !== 0);
  return records.map((record) => {
    const seconds = last.get(record.runId) === record.seq ? durations.get(record.runId) : undefined;
    const { content } = record;
    if (seconds === undefined || !isRecord(content)) return record;
    const further = isRecord(content["additional_kwargs"]) ? content["additional_kwargs"] : {};
    return { ...record, content: { ...content, additional_kwargs: { ...further, turn_duration: seconds } } };
  });
}

/** The number of each run's last record of a kind. */
function lastOf(records: readonly ThreadRecord[], isKind: (record: ThreadRecord) => boolean): Map<string, number> {
  return new Map(records.filter(isKind).map(({ runId, seq }) => [runId, seq]));
}
