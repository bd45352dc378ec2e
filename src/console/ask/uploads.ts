// Documents on their way into a collection: how far each is, and what became of it. Pure; it sends nothing.
import { type Fields, fieldsIn, listIn, numberIn, textIn } from "../fields.ts";
import { countWords } from "../wording.ts";
import { type AskProblem, problemFrom, refusalWords } from "./ask-problem.ts";
import type { LineNotice } from "./follow-lines.ts";

export type UploadState =
  | { readonly kind: "waiting" }
  /** `fraction`: 0 to 1; null: unknown. */
  | { readonly kind: "going"; readonly fraction: number | null; readonly words: string }
  | { readonly kind: "done"; readonly words: string }
  | { readonly kind: "refused"; readonly words: string };

export type Upload = {
  readonly id: string;
  /** Its path in the collection. */
  readonly name: string;
  readonly collection: string;
  readonly state: UploadState;
};

/** Of a document's 1: to be sent, to be cut into passages, to be embedded; the rest is being kept. */
const sent = 0.1;
const cut = 0.5;
const kept = 0.95;

export const isOver = ({ state }: Upload): boolean => state.kind === "done" || state.kind === "refused";

/** How far all of them are, or what became of how many. */
export const countedWords = (rows: readonly Upload[]): string => {
  const over = rows.filter(isOver);
  if (over.length < rows.length) return `Being added: ${over.length} of ${rows.length}`;
  const refused = over.filter(({ state }) => state.kind === "refused").length;
  const parts = [
    [over.length - refused, "added"],
    [refused, "refused"],
  ] as const;
  return parts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`])).join(", ");
};

/** What a notice of its stream makes of it. */
export const advanced = (state: UploadState, notice: LineNotice): UploadState => {
  if (state.kind === "done" || state.kind === "refused") return state;
  switch (notice.kind) {
    case "accepted":
      return { kind: "going", fraction: Math.max(sent, fractionOf(state)), words: "Reading…" };
    case "lost":
      return { kind: "going", fraction: fractionOf(state), words: "Connection lost. Trying again…" };
    case "line":
      return withLine(state, notice.line);
    case "refused":
      return refusedBy(notice.problem);
    case "ended":
      return state;
  }
};

const refusedBy = (problem: AskProblem): UploadState => ({ kind: "refused", words: refusalWords(problem) });

const fractionOf = (state: UploadState): number => (state.kind === "going" ? (state.fraction ?? 0) : 0);

const withLine = (state: UploadState, line: Fields): UploadState => {
  switch (textIn(line, "schema_version") ?? "") {
    case "ingest_progress.v1":
      return withProgress(state, line);
    case "ingest_report.v1":
      return reported(line);
    case "error.v1":
      return refusedBy(problemFrom(null, line));
    default:
      return state;
  }
};

const withProgress = (state: UploadState, line: Fields): UploadState => {
  const before = fractionOf(state);
  const going = (fraction: number, words: string): UploadState => ({
    kind: "going",
    // A bar never goes back.
    fraction: Math.min(1, Math.max(before, numberIn(line, "fraction_completed") ?? fraction)),
    words,
  });
  switch (textIn(line, "kind") ?? "") {
    case "scan_started":
    case "scan_completed":
    case "asset_started":
      return going(sent, "Reading…");
    case "asset_chunked":
      return going(cut, `${countWords(numberIn(line, "n_chunks") ?? 0, "passage")} found…`);
    case "embed_batch_started":
      return going(cut, "Making embeddings…");
    case "embed_batch_finished":
      return going((cut + kept) / 2, "Making embeddings…");
    case "asset_finished":
    case "completed":
      return going(kept, "Keeping…");
    default:
      return state;
  }
};

const reported = (report: Fields): UploadState => {
  const [item] = listIn(report, "items");
  if (item === undefined) return { kind: "done", words: "Kept." };
  const passages = countWords(numberIn(item, "chunk_count") ?? 0, "passage");
  const failed = textIn(item, "error") ?? textIn(fieldsIn(item, "error"), "message");
  if (failed !== undefined) return { kind: "refused", words: failed };
  switch (textIn(item, "kind") ?? "") {
    case "unchanged":
      return { kind: "done", words: `Already there, unchanged: ${passages}.` };
    case "updated":
      return { kind: "done", words: `Replaced: ${passages}.` };
    default:
      return { kind: "done", words: `Added: ${passages}.` };
  }
};
