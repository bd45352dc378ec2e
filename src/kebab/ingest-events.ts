// What an ingest tells its run: how far it is, and how it ended. The lines of ingest_progress.v1 travel in the event's `progress`, and the report is the run's text. Pure.
import type { IngestCounts, IngestReport, ProgressLine } from "../../schemas/dialects/kebab-documents.ts";
import type { ErrorClass, Failure } from "../../schemas/failure.ts";
import type { PushedEvent } from "../../schemas/push.ts";
import type { PutRefusal } from "./put-refusal.ts";

const PROVIDER = "collection";
/** Of one event. */
const MAX_LINES = 200;

export type IngestTask = "scan" | "chunk" | "embed" | "keep";

/** `fraction`: of the whole ingest, 0 to 1. */
export function progressEvents(task: IngestTask, fraction: number, lines: readonly ProgressLine[]): PushedEvent[] {
  const events: PushedEvent[] = [];
  for (let from = 0; from < lines.length; from += MAX_LINES) {
    const progress = lines.slice(from, from + MAX_LINES);
    events.push({
      type: "preparation_progress",
      payload: { providerId: PROVIDER, task, fractionCompleted: fraction, progress },
    });
  }
  return events;
}

export const scanned = (collection: string, total: number): ProgressLine[] => [
  { kind: "scan_started", root: collection },
  { kind: "scan_completed", total },
];

/** All that is to be said once the documents are kept; the same for the same report. */
export function keptEvents(report: IngestReport, embeddings: number): PushedEvent[] {
  const total = report.scanned;
  const lines = report.items.flatMap((item, index): ProgressLine[] => {
    const place = { idx: index + 1, total };
    const isNews = item.kind !== "unchanged";
    const finished: ProgressLine = {
      kind: "asset_finished",
      ...place,
      result: item.kind === "unchanged" ? "skipped" : item.kind,
      chunks: item.chunk_count,
    };
    // One that is kept already was not looked at before.
    return isNews ? [finished] : [{ kind: "asset_started", ...place, path: item.doc_path }, finished];
  });
  return [
    ...progressEvents("keep", 1, [...lines, { kind: "completed", counts: countsOf(report, embeddings) }]),
    { type: "content_delta", payload: { text: JSON.stringify(report) } },
    { type: "terminal", payload: { outcome: "completed", stopReason: "stop" } },
  ];
}

function countsOf(report: IngestReport, embeddings: number): IngestCounts {
  const changed = report.items.filter(({ kind }) => kind !== "unchanged");
  return {
    scanned: report.scanned,
    new: report.new,
    updated: report.updated,
    skipped: report.unchanged,
    errors: 0,
    chunks_indexed: changed.reduce((sum, { chunk_count }) => sum + chunk_count, 0),
    embeddings_indexed: embeddings,
  };
}

/** The model that was to embed the documents did not. */
export function failedEvent(
  providerId: string,
  { failureClass, message, retryAfterMs }: Failure,
  { errorClass, retryable }: { errorClass: ErrorClass; retryable: boolean },
): PushedEvent {
  const hint = retryAfterMs === undefined ? {} : { retryAfterMs };
  const error = { errorClass, message, providerId, retryable, ...hint, details: { failureClass } };
  return { type: "terminal", payload: { outcome: "error", error } };
}

/** Something is wrong with the server. */
export const brokenEvent: PushedEvent = {
  type: "terminal",
  payload: {
    outcome: "error",
    error: {
      errorClass: "Internal",
      message: "The ingest broke off: none of its documents are kept.",
      retryable: true,
      details: { code: "bug" },
    },
  },
};

/** Nothing is kept, for this reason. */
export const refusedEvent = ({ reason, message, details }: PutRefusal): PushedEvent => ({
  type: "terminal",
  payload: {
    outcome: "error",
    error: { errorClass: "CapabilityMismatch", message, retryable: false, details: { ...details, code: reason } },
  },
});
