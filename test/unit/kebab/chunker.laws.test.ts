// The laws of chunks, over documents put together at random: nothing is lost, nothing crosses a heading, every chunk quotes its lines.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { DocumentMedia } from "../../../schemas/collection.ts";
import { sourceLines } from "../../../src/kebab/blocks.ts";
import { CHUNK_SETTINGS, chunksOf, type Chunk } from "../../../src/kebab/chunker.ts";
import { parseDocument } from "../../../src/kebab/document.ts";
import { utf8Length } from "../../../src/run/utf8.ts";

const word = fc.constantFrom("run", "event", "é", "本", "a", "sequence", "🎉", "x".repeat(40), "cursor.", "Why?");
const sentence = fc.array(word, { minLength: 1, maxLength: 40 }).map((words) => words.join(" "));
const paragraph = fc.array(sentence, { minLength: 1, maxLength: 12 }).map((lines) => lines.join("\n"));
const code = fc
  .array(sentence, { minLength: 1, maxLength: 30 })
  .map((lines) => `\`\`\`ts\n# no heading\n${lines.join("\n")}\n\`\`\``);
const table = fc
  .array(sentence, { minLength: 1, maxLength: 10 })
  .map((rows) => `| a | b |\n|---|---|\n${rows.map((row) => `| ${row} | |`).join("\n")}`);
const heading = fc.tuple(fc.integer({ min: 1, max: 6 }), word).map(([level, title]) => `${"#".repeat(level)} ${title}`);
const long = fc.integer({ min: 1, max: 6000 }).map((times) => "lorem ipsum. ".repeat(times));
const piece = fc.oneof({ weight: 4, arbitrary: paragraph }, { weight: 2, arbitrary: heading }, code, table, {
  weight: 1,
  arbitrary: long,
});
const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
const document = fc
  .tuple(fc.array(piece, { maxLength: 12 }), lineEnd)
  .map(([pieces, end]) => pieces.join("\n\n").replaceAll("\n", end));

const chunked = (source: string, media: DocumentMedia = "markdown"): Chunk[] => [
  ...chunksOf(parseDocument(media, source, {}).blocks),
];
const isHeading = (line: string): boolean => /^#{1,6} /.test(line);

/** By line: whether it is inside of a fence. */
function fenced(lines: readonly string[]): boolean[] {
  let open = false;
  return lines.map((line) => {
    const fence = line.startsWith("```");
    const inside = open || fence;
    if (fence) open = !open;
    return inside;
  });
}

test("R-KB-4 a chunk is a stretch of the lines that it names, and every line with text is in one", () => {
  fc.assert(
    fc.property(document, fc.constantFrom<DocumentMedia>("markdown", "text"), (source, media) => {
      const lines = sourceLines(source);
      const chunks = chunked(source, media);
      const seen = new Set<number>();
      for (const { text, first, last } of chunks) {
        expect(source.slice(lines.startOf(first), lines.endOf(last))).toContain(text);
        expect(text.trim()).not.toBe("");
        for (let line = first; line <= last; line++) seen.add(line);
      }
      for (let line = 1; line <= lines.count; line++)
        if (lines.textOf(line).trim() !== "") expect(seen).toContain(line);
      // Not the lines alone: every word of a line is in one of its chunks.
      const words = (text: string): number => text.match(/lorem/g)?.length ?? 0;
      expect(chunks.reduce((sum, { text }) => sum + words(text), 0)).toBeGreaterThanOrEqual(words(source));
    }),
    { numRuns: 60 },
  );
});

test("R-KB-3 no chunk crosses a heading: one can only begin it, and stands last in the headings then", () => {
  fc.assert(
    fc.property(document, (source) => {
      const text = source.replaceAll(/\r\n|\r/g, "\n");
      const all = text.split("\n");
      const inFence = fenced(all);
      for (const { first, last, headings } of chunked(source)) {
        for (let line = first; line <= last; line++) {
          const content = all[line - 1] ?? "";
          if (!isHeading(content) || inFence[line - 1] === true) continue;
          expect(line).toBe(first);
          expect(headings.at(-1)).toBe(content.replace(/^#+ /, ""));
        }
      }
    }),
    { numRuns: 60 },
  );
});

test("R-KB-3 code and tables stay whole, text stays within the target, nothing is over the cap", () => {
  const { target, cap } = CHUNK_SETTINGS;
  fc.assert(
    fc.property(document, (source) => {
      for (const { text, tokens } of chunked(source)) {
        expect(tokens).toBe(Math.ceil(utf8Length(text) / 3));
        const hasBlocks = text.includes("```") || text.includes("|---|");
        if (!hasBlocks) expect(tokens).toBeLessThanOrEqual(target);
        expect(tokens).toBeLessThanOrEqual(cap);
        if (tokens < cap - target) expect((text.match(/^```/gm) ?? []).length % 2).toBe(0);
      }
    }),
    { numRuns: 60 },
  );
});

test("R-KB-2 the same document gives the same chunks, and no two of its chunks have the same name", () => {
  fc.assert(
    fc.property(document, (source) => {
      const chunks = chunked(source);
      expect(chunked(source)).toEqual(chunks);
      const names = chunks.map(({ blocks }) => blocks);
      expect(new Set(names).size).toBe(names.length);
    }),
    { numRuns: 30 },
  );
});

test("R-KB-3 pieces of one section overlap by at most 80 tokens", () => {
  fc.assert(
    fc.property(fc.integer({ min: 500, max: 4000 }), (times) => {
      const sentences = Array.from({ length: times }, (_, index) => `Sentence number ${index} says so. `);
      const chunks = chunked(sentences.join(""));
      for (const [index, { text }] of chunks.entries()) {
        const next = chunks[index + 1]?.text;
        if (next === undefined) continue;
        const at = text.indexOf(next.slice(0, 30));
        expect(at).toBeGreaterThan(0);
        expect(next.startsWith(text.slice(at))).toBe(true);
        expect(text.length - at).toBeLessThanOrEqual(CHUNK_SETTINGS.overlap * 3);
      }
    }),
    { numRuns: 10 },
  );
});
