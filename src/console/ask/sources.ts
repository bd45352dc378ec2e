// The passages that were found for a question, as their hits say them. Pure.
import { type Fields, fieldsIn, listIn, numberIn, textIn } from "../fields.ts";

export type Source = {
  /** Its place among the hits, from 1: the number of its marker. */
  readonly number: number;
  readonly docPath: string;
  /** Of the document's text as it was then. */
  readonly docId: string;
  readonly headings: readonly string[];
  readonly snippet: string;
  readonly score: number | undefined;
  /** Lines of the document, from 1. */
  readonly first: number;
  readonly last: number;
  readonly stale: boolean;
};

/** Of a `retrieval_done` line. */
export const sourcesIn = (line: Fields): readonly Source[] =>
  listIn(line, "hits").map((hit, at) => {
    const citation = fieldsIn(hit, "citation");
    const lines = fieldsIn(citation, "line") ?? citation;
    const first = numberIn(lines, "start") ?? 1;
    const headings = hit["heading_path"];
    return {
      number: at + 1,
      docPath: textIn(hit, "doc_path") ?? textIn(citation, "path") ?? "",
      docId: textIn(hit, "doc_id") ?? "",
      headings: Array.isArray(headings) ? headings.filter((heading) => typeof heading === "string") : [],
      snippet: withoutHeading(textIn(hit, "snippet") ?? "", textIn(hit, "section_label")),
      score: numberIn(fieldsIn(hit, "retrieval"), "fusion_score") ?? numberIn(hit, "score"),
      first,
      last: numberIn(lines, "end") ?? first,
      stale: hit["stale"] === true,
    };
  });

/** A passage begins with the line of its heading, which is shown above it anyway. */
const withoutHeading = (snippet: string, heading: string | undefined): string => {
  const said = snippet.replace(/^#{1,6} +/, "");
  if (said === snippet || heading === undefined || !said.startsWith(heading)) return snippet;
  const rest = said.slice(heading.length).trimStart();
  return rest === "" ? snippet : rest;
};

/** The source that a citation of an answer speaks of; undefined when it was not among the hits. */
export const sourceOf = (cited: Fields, sources: readonly Source[]): Source | undefined => {
  const marked = /^\[(\d+)\]$/.exec(textIn(cited, "marker") ?? "")?.[1];
  if (marked !== undefined) return sources[Number(marked) - 1];
  const citation = fieldsIn(cited, "citation");
  const lines = fieldsIn(citation, "line") ?? citation;
  return sources.find(
    ({ docPath, first, last }) =>
      docPath === textIn(citation, "path") && first === numberIn(lines, "start") && last === numberIn(lines, "end"),
  );
};

export const linesWords = ({ first, last }: Source): string =>
  first === last ? `line ${first}` : `lines ${first}–${last}`;
