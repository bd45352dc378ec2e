// How documents are read: what is a heading, code, a table, what front matter says, what is left of a page of HTML.
import { expect, test } from "vitest";
import type { DocumentMedia } from "../../../schemas/collection.ts";
import { chunksOf } from "../../../src/kebab/chunker.ts";
import { parseDocument } from "../../../src/kebab/document.ts";

const chunked = (source: string, media: DocumentMedia = "markdown") =>
  [...chunksOf(parseDocument(media, source, {}).blocks)].map(({ headings, text, first, last }) => ({
    headings,
    text,
    lines: [first, last],
  }));

test("R-KB-5 headings of both kinds are headings, and only where Markdown has them", () => {
  const source = [
    "before", // 1
    "# One #",
    "text",
    "### *Three* `code` [link](x) {#id}",
    "    # indented",
    "Two",
    "===",
    "a",
    "#no heading", // 9
    "",
    "> # quoted",
    "",
    "```",
    "# in a fence",
    "```",
    "<!-- # in a comment",
    "-->",
    "- item",
    "---",
    "####### seven", // 20
  ].join("\n");
  expect(chunked(source).map(({ headings, lines }) => [headings, lines])).toEqual([
    [[], [1, 1]],
    [["One"], [2, 3]],
    [
      ["One", "*Three* code link"],
      [4, 5],
    ],
    [["Two"], [6, 20]],
  ]);
});

test("R-KB-3 a heading's own line is part of its chunk, and a section without text is one", () => {
  expect(chunked("# A\n\n## B\n\nb")).toEqual([
    { headings: ["A"], text: "# A", lines: [1, 1] },
    { headings: ["A", "B"], text: "## B\n\nb", lines: [3, 5] },
  ]);
});

test("R-KB-5 front matter says title, tags, language and trust, and its lines count", () => {
  const source = '---\ntitle: "A title"\ntags:\n  - one\n  - two\nlang: de\ntrust_level: generated\n---\n# H\ntext\n';
  const { title, tags, lang, trust } = parseDocument("markdown", source, {});
  expect({ title, tags, lang, trust }).toEqual({
    title: "A title",
    tags: ["one", "two"],
    lang: "de",
    trust: "generated",
  });
  expect(chunked(source)).toEqual([{ headings: ["H"], text: "# H\ntext", lines: [9, 10] }]);
  const words = { title: "Mine", tags: ["x"], lang: "en", trust: "primary" } as const;
  expect(parseDocument("markdown", source, { ...words, tags: ["x"] })).toMatchObject(words);
  expect(parseDocument("markdown", source.replace("tags:\n  - one\n  - two", "tags: [one, 'two']"), {}).tags).toEqual([
    "one",
    "two",
  ]);
});

test.each(["---\n\ntext", "---\nno fields\n---\ntext", "--- \ntitle: open\ntext"])(
  "R-KB-5 %j has no front matter",
  (source) => {
    expect(parseDocument("markdown", source, {}).title).toBeUndefined();
    expect(chunked(source).length).toBeGreaterThan(0);
  },
);

test("R-KB-6 a page of HTML has the headings, code and tables that a reader sees, and the lines of its source", () => {
  const html = [
    "<html><head><title>The &amp; title</title></head>", // 1
    "<body><p>intro</p>",
    "<h1>Big <b>one</b></h1>", // 3
    "<p>first</p>",
    "<script>no()</script>",
    "<h2>Small</h2><pre>", // 6
    "  code",
    "</pre>",
    "<table><tr><td><h3>cell</h3></td></tr></table></body>", // 9
  ].join("\n");
  expect(parseDocument("html", html, {}).title).toBe("The & title");
  expect(chunked(html, "html")).toEqual([
    { headings: [], text: "intro", lines: [1, 2] },
    { headings: ["Big one"], text: "Big one\n\nfirst", lines: [3, 5] },
    { headings: ["Big one", "Small"], text: "Small\n\n  code\n\ncell", lines: [6, 9] },
  ]);
});

test("R-KB-6 a page with more parts than it may have is not taken, and one with much markup is", () => {
  expect(parseDocument("html", "<h1>a</h1>".repeat(120_000), {}).whole).toBe(false);
  expect(parseDocument("html", "<p>a".repeat(120_000), {}).whole).toBe(true);
});

test("R-KB-4 plain text has no headings, and nothing makes no chunks", () => {
  expect(chunked("# a\n\n\nb\n", "text")).toEqual([{ headings: [], text: "# a\n\n\nb", lines: [1, 4] }]);
  for (const empty of ["", "\n\n", " \r\n\t"]) expect(chunked(empty, "text")).toEqual([]);
});

test("R-KB-3 code above the cap is cut between lines", () => {
  const source = `# H\n\n\`\`\`\n${"x = 1;\n".repeat(4000)}\`\`\`\n`;
  const chunks = chunked(source);
  expect(chunks.length).toBeGreaterThan(2);
  for (const { text } of chunks) expect(text).not.toMatch(/^ = 1|x$/);
});

test("R-KB-5 a fence is none when its line goes on behind it, and signs at the end close a heading", () => {
  expect(chunked("```code``` in a line\n# A ##\n# B#\n#\n# #").map(({ headings }) => headings)).toEqual([
    [],
    ["A"],
    ["B#"],
    [],
    [],
  ]);
});

const SPACES = " ".repeat(1_000_000);

test.each<[DocumentMedia, string, string]>([
  ["markdown", "spaces in a heading", `# a${SPACES}b`],
  ["markdown", "spaces behind a heading's end", `# a ##${SPACES}b`],
  ["markdown", "spaces in a table", `|a|\n|-${SPACES}x`],
  ["markdown", "spaces in a list", `${SPACES}x\n- ${SPACES}y`],
  ["markdown", "ticks", `${"`".repeat(1_000_000)}x\``],
  ["markdown", "open comments", "<!-- a\n\n".repeat(100_000)],
  ["markdown", "open fences", "```a`\n".repeat(100_000)],
  ["markdown", "list items in each other", `${"- ".repeat(1_000_000)}a${"\n".repeat(1_000_000)}`],
  ["markdown", "signs of a rule", `${"-\t".repeat(1_000_000)}x`],
  ["markdown", "definitions", `${"[a]: b\n".repeat(200_000)}${"===\n".repeat(200_000)}`],
  ["markdown", "attributes", `<a${' b="'.repeat(1_000_000)}`],
  ["markdown", "points", ".".repeat(1_000_000)],
  ["markdown", "empty lines", "\n".repeat(2_000_000)],
  ["markdown", "front matter", `---\na: "${"' ".repeat(30_000)}\n---\n`],
  ["text", "short paragraphs", "a\n\n".repeat(300_000)],
  ["html", "line ends in pre", `<pre>a${"\n".repeat(1_000_000)}b</pre>`],
  ["html", "open headings", "<h1>".repeat(300_000)],
])("R-KB-9 megabytes of %s, %s, are read in the time that their length asks for", (media, _kind, source) => {
  const began = performance.now();
  for (const _chunk of chunksOf(parseDocument(media, source, {}).blocks));
  expect(performance.now() - began).toBeLessThan(20_000);
});
