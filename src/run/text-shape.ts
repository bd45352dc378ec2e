// What text is made of beyond its UTF-16 units: characters as people see them, and the marks of code fences. Pure.

/** The characters of a text as people see them. */
export const graphemes = (text: string): string[] =>
  [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)].map(({ segment }) => segment);

/** Whether a text may be cut before its UTF-16 unit `at` without cutting a character. */
export function isGraphemeEnd(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return true;
  const start = Math.max(0, at - 64);
  let end = start;
  for (const segment of graphemes(text.slice(start, at + 64))) {
    if (end >= at) break;
    end += segment.length;
  }
  return end === at;
}

/** The lines that open or may close a code fence, in order. `bare`: nothing stands beside the mark. */
export function* fenceMarks(text: string): Generator<{ line: string; mark: string; bare: boolean }> {
  for (const [whole, mark = "", rest = ""] of text.matchAll(/^ {0,3}(```+|~~~+)([^\n]*)$/gm)) {
    if (mark.startsWith("`") && rest.includes("`")) continue;
    yield { line: whole.trim(), mark, bare: rest.trim() === "" };
  }
}
