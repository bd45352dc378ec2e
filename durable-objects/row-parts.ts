// Text that may be larger than a row of storage, in parts that each fit into one.

/** UTF-16 units per row: at most 1.5 MB of UTF-8, below the platform's 2 MB. */
const ROW_UNITS = 500_000;

/** The parts of a text, in order, cut between whole characters; none for an empty text. */
export function cutText(text: string): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest !== "") {
    const cut = isHighSurrogate(rest, ROW_UNITS - 1) ? ROW_UNITS - 1 : ROW_UNITS;
    parts.push(rest.slice(0, cut));
    rest = rest.slice(cut);
  }
  return parts;
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit < 0xdc00;
}
