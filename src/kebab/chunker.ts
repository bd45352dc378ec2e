// Blocks to chunks: what is searched, cited and given to a model. A chunk never crosses a heading; code and tables stay whole as long as they can.
import { utf8Length } from "../run/utf8.ts";
import type { Block } from "./blocks.ts";
import { stretches, tailStart } from "./cut-text.ts";

export interface Chunk {
  /** All headings above, the own one last. */
  headings: string[];
  text: string;
  /** Lines of the source, from 1, both included. */
  first: number;
  last: number;
  tokens: number;
  /** Which blocks it holds, and which parts of them: no two chunks of a document have the same. */
  blocks: string;
}

/** In tokens: three bytes of UTF-8 are one. */
export const CHUNK_SETTINGS = { target: 500, overlap: 80, cap: 4000 } as const;

const BYTES = 3;
const TARGET = CHUNK_SETTINGS.target * BYTES;
const OVERLAP = CHUNK_SETTINGS.overlap * BYTES;
const CAP = CHUNK_SETTINGS.cap * BYTES;
/** Text that is longer is cut, so that a part and the overlap before it stay within the target. */
const PART = TARGET - OVERLAP;

interface Unit {
  kind: Block["kind"];
  text: string;
  gap: string;
  first: number;
  last: number;
  bytes: number;
  exact: boolean;
  name: string;
}

export function* chunksOf(blocks: Iterable<Block>): Generator<Chunk> {
  const above: { level: number; title: string }[] = [];
  let piece: Unit[] = [];
  let size = 0;
  let index = 0;
  const titles = (): string[] => above.map(({ title }) => title).filter((title) => title !== "");
  for (const block of blocks) {
    if (block.kind === "heading") {
      if (piece.length > 0) yield chunkOf(piece, titles());
      piece = [];
      while (above.length > 0 && (above.at(-1)?.level ?? 0) >= block.level) above.pop();
      above.push({ level: block.level, title: block.title });
    }
    for (const unit of unitsOf(block, index++)) {
      // A heading is not left alone as long as the cap allows it.
      const limit = piece.length === 1 && piece[0]?.kind === "heading" ? CAP : TARGET;
      const more = utf8Length(unit.gap) + unit.bytes;
      if (piece.length > 0 && size + more > limit) {
        yield chunkOf(piece, titles());
        piece = overlapOf(piece, unit);
        size = sizeOf(piece);
      }
      size = piece.length === 0 ? unit.bytes : size + more;
      piece.push(unit);
    }
  }
  if (piece.length > 0) yield chunkOf(piece, titles());
}

const sizeOf = (piece: readonly Unit[]): number =>
  piece.reduce((sum, { bytes, gap }, index) => sum + bytes + (index === 0 ? 0 : utf8Length(gap)), 0);

function chunkOf(piece: readonly Unit[], headings: string[]): Chunk {
  const text = piece.map((unit, index) => (index === 0 ? unit.text : unit.gap + unit.text)).join("");
  const [first] = piece;
  const last = piece.at(-1);
  return {
    headings,
    text,
    first: first?.first ?? 1,
    last: last?.last ?? 1,
    tokens: Math.ceil(utf8Length(text) / BYTES),
    blocks: `${first?.name ?? ""}-${last?.name ?? ""}`,
  };
}

function* unitsOf(block: Block, index: number): Generator<Unit> {
  const { kind, text, exact } = block;
  const bytes = utf8Length(text);
  const whole = kind === "code" || kind === "table";
  const limit = whole ? CAP : PART;
  if (bytes <= limit) {
    yield { ...block, bytes, name: String(index) };
    return;
  }
  let behind = 0;
  let line = block.first;
  let part = 0;
  for (const { from, to } of stretches(text, limit, whole)) {
    const gap = (part === 0 ? block.gap : "") + text.slice(behind, from);
    if (exact) line += lineEnds(text.slice(behind, from));
    const piece = text.slice(from, to);
    const last = exact ? line + lineEnds(piece) : block.last;
    yield { kind, text: piece, gap, first: line, last, bytes: utf8Length(piece), exact, name: `${index}.${part++}` };
    if (exact) line = last;
    behind = to;
  }
}

/** What the next chunk of a section repeats of this one, never all of it: whole units, and the end of a text. */
function overlapOf(piece: readonly Unit[], next: Unit): Unit[] {
  if (next.bytes > PART) return [];
  const taken: Unit[] = [];
  let left = OVERLAP - utf8Length(next.gap);
  for (const [index, unit] of [...piece.entries()].toReversed()) {
    if (unit.kind === "heading") break;
    if (index === 0 || unit.bytes > left) {
      const tail = unit.kind === "text" ? tailOf(unit, left) : undefined;
      if (tail !== undefined) taken.unshift(tail);
      break;
    }
    taken.unshift(unit);
    left -= unit.bytes + utf8Length(unit.gap);
  }
  return taken;
}

function tailOf(unit: Unit, limit: number): Unit | undefined {
  const start = limit <= 0 ? undefined : tailStart(unit.text, limit);
  if (start === undefined || start === 0 || start >= unit.text.length) return undefined;
  const text = unit.text.slice(start);
  const first = unit.exact ? unit.first + lineEnds(unit.text.slice(0, start)) : unit.first;
  return { ...unit, text, first, bytes: utf8Length(text), name: `${unit.name}+${start}` };
}

const lineEnds = (text: string): number => text.match(/\r\n|\n|\r/g)?.length ?? 0;
