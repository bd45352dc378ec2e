// Plain text as blocks: paragraphs between blank lines.
import { blockMaker, sourceLines, type Block } from "./blocks.ts";

export function* plainBlocks(source: string): Generator<Block> {
  const lines = sourceLines(source);
  const make = blockMaker(source, lines);
  let first: number | undefined;
  for (let line = 1; line <= lines.count; line++) {
    const blank = lines.textOf(line).trim() === "";
    if (!blank) first ??= line;
    if (first !== undefined && (blank || line === lines.count)) {
      yield make("text", first, blank ? line - 1 : line);
      first = undefined;
    }
  }
}
