// The lines of an answer's stream, each held against our schemas and, where they are at hand, the published ones.
import * as v from "valibot";
import { answerEventSchema, answerSchema } from "../../schemas/dialects/kebab-answer.ts";
import { kebabErrorSchema } from "../../schemas/dialects/kebab.ts";
import { publishedFault } from "./kebab-schemas.ts";

const lineSchema = v.union([answerEventSchema, answerSchema, v.looseObject(kebabErrorSchema.entries)]);
export type KebabLine = v.InferOutput<typeof lineSchema>;

/** Throws at the first line that is none of ours, or none of kebab's. */
export function kebabLines(text: string): KebabLine[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => checked(JSON.parse(line)));
}

function checked(value: unknown): KebabLine {
  const line = v.parse(lineSchema, value);
  const faults =
    line.schema_version !== "answer_event.v1"
      ? [publishedFault(line.schema_version === "answer.v1" ? "answer" : "error", value)]
      : [
          publishedFault("answer_event", value),
          ...(line.kind === "final" ? [publishedFault("answer", line.answer)] : []),
          ...(line.kind === "retrieval_done" ? line.hits.map((hit) => publishedFault("search_hit", hit)) : []),
        ];
  const fault = faults.find((found) => found !== undefined);
  if (fault !== undefined) throw new Error(`${JSON.stringify(value)}: ${fault}`);
  return line;
}

/** What each line is, in a word. */
export const kindsOf = (lines: readonly KebabLine[]): string[] =>
  lines.map((line) => (line.schema_version === "answer_event.v1" ? line.kind : line.schema_version));

export const tokensOf = (lines: readonly KebabLine[]): string =>
  lines
    .flatMap((line) => (line.schema_version === "answer_event.v1" && line.kind === "token" ? [line.delta] : []))
    .join("");
