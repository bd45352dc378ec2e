// Chunks as a model that embeds them reads them: below their headings, no longer than it takes, in batches that it takes at once.
import { utf8Prefix } from "../run/utf8.ts";

/** Bytes of UTF-8 that count as a token. */
const TOKEN_BYTES = 3;
/** Where the configuration says nothing of the model. */
const MODEL_TOKENS = 8000;
const MAX_BATCH = 64;
/** UTF-16 units of a batch. */
const MAX_BATCH_UNITS = 100_000;

/** A chunk's text below its document's title and its headings. */
export function embedText(title: string | undefined, { headings, text }: { headings: string[]; text: string }): string {
  const above = title === undefined || title === headings[0] ? headings : [title, ...headings];
  return above.length === 0 ? text : `${above.join(" > ")}\n${text}`;
}

/** `tokens`: what the model reads at most. */
export const cutToModel = (text: string, tokens = MODEL_TOKENS): string => utf8Prefix(text, tokens * TOKEN_BYTES);

/** In order; a text that is longer than a batch is one of its own. */
export function batchesOf(texts: readonly string[]): string[][] {
  const batches: string[][] = [];
  let units = 0;
  for (const text of texts) {
    const batch = batches.at(-1);
    if (batch === undefined || batch.length === MAX_BATCH || units + text.length > MAX_BATCH_UNITS) {
      batches.push([text]);
      units = text.length;
    } else {
      batch.push(text);
      units += text.length;
    }
  }
  return batches;
}
