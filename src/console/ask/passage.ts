// The lines of a document that a source names, numbered, and whether they are still the ones that were read. Pure.
import { type Fields, fieldsIn, numberIn, textIn } from "../fields.ts";
import type { AskProblem } from "./ask-problem.ts";
import type { Source } from "./sources.ts";

export type Passage =
  | { readonly kind: "reading" }
  | { readonly kind: "shown"; readonly lines: readonly NumberedLine[]; readonly changed: boolean }
  | { readonly kind: "failed"; readonly words: string };

export type NumberedLine = { readonly number: number; readonly text: string };

/** Of a fetch_result.v1. */
export const passageOf = (fetched: Fields, source: Source): Passage => {
  const first = numberIn(fetched, "line_start") ?? source.first;
  const lines = (textIn(fetched, "text") ?? "").replace(/(\r\n|\r|\n)$/, "").split(/\r\n|\r|\n/);
  const docId = textIn(fetched, "doc_id") ?? textIn(fieldsIn(fetched, "document"), "doc_id");
  return {
    kind: "shown",
    lines: lines.map((text, at) => ({ number: first + at, text })),
    changed: docId !== undefined && source.docId !== "" && docId !== source.docId,
  };
};

export const passageFailed = ({ code, status, message }: AskProblem): Passage => ({
  kind: "failed",
  words:
    code === "doc_not_found" || code === "not_indexed"
      ? "The document is no longer in the collection."
      : status === 401
        ? "The server asks for a key: enter it under “Connection”."
        : `The lines could not be read. ${message}`,
});
