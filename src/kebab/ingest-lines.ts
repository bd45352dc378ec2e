// The run of an ingest as kebab's lines: ingest_progress.v1, and ingest_report.v1 or error.v1 as the last one. Pure.
import * as v from "valibot";
import type { IngestPlan } from "../../schemas/collection.ts";
import {
  ingestReportSchema,
  progressLineSchema,
  type IngestCounts,
  type IngestProgress,
  type IngestReport,
  type ProgressLine,
} from "../../schemas/dialects/kebab-documents.ts";
import type { KebabError } from "../../schemas/dialects/kebab.ts";
import { payloadSchemas, type LogEntry } from "../../schemas/event.ts";
import { outcomeSchema, type Outcome } from "../../schemas/outcome.ts";
import type { IndeRunError } from "../../schemas/problem.ts";
import { asArray, asRecord, parseJson } from "../wire/json.ts";
import { askError, knownOf } from "./ask-error.ts";

type Line = (IngestProgress | IngestReport | KebabError) & { fraction_completed?: number };

/** The lines of an entry, which may be none. `at`: its time, as text. */
export function ingestLines({ type, payload }: LogEntry, plan: IngestPlan, at: string): Line[] {
  if (type === "preparation_progress") return progressLines(payload, at);
  return type === "terminal" ? lastLines(payload, plan, at) : [];
}

function progressLines(payload: string, at: string): Line[] {
  const parsed = v.safeParse(payloadSchemas.preparation_progress, parseJson(payload)?.value);
  if (!parsed.success) return [];
  const { progress, fractionCompleted } = parsed.output;
  const lines = asArray(progress).flatMap((line) => {
    const known = v.safeParse(progressLineSchema, line);
    return known.success ? [progressLine(known.output, at)] : [];
  });
  return lines.map((line, index) => {
    const isLast = index === lines.length - 1 && fractionCompleted !== undefined;
    return { ...line, ...(isLast && { fraction_completed: fractionCompleted }) };
  });
}

const progressLine = (line: ProgressLine, at: string): IngestProgress => ({
  schema_version: "ingest_progress.v1",
  ...line,
  ts: at,
});

function lastLines(payload: string, plan: IngestPlan, at: string): Line[] {
  const outcome = v.safeParse(outcomeSchema, parseJson(payload)?.value);
  if (!outcome.success) return [];
  const report = reportIn(outcome.output);
  if (report !== undefined) return [report];
  const error = outcome.output.outcome === "error" ? outcome.output.error : undefined;
  const counts = nothingKept(plan.documents, error === undefined ? 0 : 1);
  return [
    progressLine({ kind: "aborted", counts }, at),
    error === undefined ? cancelledError(outcome.output) : ingestError(error),
  ];
}

function reportIn(outcome: Outcome): IngestReport | undefined {
  if (outcome.outcome !== "completed") return undefined;
  const parsed = v.safeParse(ingestReportSchema, parseJson(outcome.finalText ?? "")?.value);
  return parsed.success ? parsed.output : undefined;
}

const nothingKept = (scanned: number, errors: number): IngestCounts => ({
  scanned,
  new: 0,
  updated: 0,
  skipped: 0,
  errors,
  chunks_indexed: 0,
  embeddings_indexed: 0,
});

const cancelledError = ({ runId }: Outcome): KebabError => ({
  schema_version: "error.v1",
  code: "generic",
  message: "The ingest was cancelled: none of its documents are kept.",
  details: { reason: "cancelled", run_id: runId, retryable: true },
});

/** What a collection refuses has its reason, what a model failed at is said as for a question, and the rest is the server's. */
function ingestError(error: IndeRunError): KebabError {
  const { code, ...details } = asRecord(error.details) ?? {};
  const said = { schema_version: "error.v1" as const, message: error.message };
  if (code === "collection_limit" || code === "too_many_chunks") {
    return { ...said, code: "generic", details: { reason: code, ...details, ...knownOf(error) } };
  }
  if (error.errorClass === "Unavailable" && error.providerId === undefined) {
    return {
      ...said,
      code: "io_error",
      details: { kind: typeof code === "string" ? code : "unavailable", ...knownOf(error) },
    };
  }
  const asked = askError(error);
  const isModels = asked.code === "generic" && error.providerId !== undefined;
  return isModels ? { ...asked, details: { reason: "embedding_failed", ...asked.details } } : asked;
}
