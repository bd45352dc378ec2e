// Makes an answer fit what its reader has room for: shorter snippets first, then fewer hits, but always one.

/** Characters that a snippet keeps. */
const MIN_SNIPPET = 60;
/** Characters of a token. */
const TOKEN = 4;

export interface Fitted<Hit> {
  hits: Hit[];
  /** Whether anything was shortened or left out. */
  truncated: boolean;
}

/** `hitsAt`: all hits, with snippets of at most so many characters. */
export function fitBudget<Hit>(
  hitsAt: (snippetChars: number) => Hit[],
  snippetChars: number,
  maxTokens: number | undefined,
): Fitted<Hit> {
  let hits = hitsAt(snippetChars);
  if (maxTokens === undefined || sizeOf(hits) <= maxTokens) return { hits, truncated: false };
  for (let chars = snippetChars; chars > MIN_SNIPPET && sizeOf(hits) > maxTokens;) {
    chars = Math.max(MIN_SNIPPET, Math.floor(chars / 2));
    hits = hitsAt(chars);
  }
  while (hits.length > 1 && sizeOf(hits) > maxTokens) hits.pop();
  return { hits, truncated: true };
}

const sizeOf = (hits: readonly unknown[]): number => Math.ceil(JSON.stringify(hits).length / TOKEN);
