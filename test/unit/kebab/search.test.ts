// The parts of a search that need no index: terms, scores, snippets, cursors, filters, budgets.
import fc from "fast-check";
import { expect, test } from "vitest";
import { fitBudget } from "../../../src/kebab/budget.ts";
import { cursorText, readCursor } from "../../../src/kebab/cursor.ts";
import { globMatcher } from "../../../src/kebab/glob.ts";
import { allOf, anyOf } from "../../../src/kebab/query.ts";
import { coverage, lexicalScore } from "../../../src/kebab/score.ts";
import { snippetOf } from "../../../src/kebab/snippet.ts";
import { queryTerms, termsOf } from "../../../src/kebab/terms.ts";

test.each([
  ["Hello, WORLD! it's max_tokens", ["hello", "world", "it", "s", "max", "tokens"]],
  ["Größe Ünïcode ΣΟΦΟΣ İ", ["grosse", "unicode", "σοφοσ", "i"]],
  ["日本語の検索 ok 字", ["日本", "本語", "語の", "の検", "検索", "ok", "字"]],
  ["한국어 검색", ["한국", "국어", "검색"]],
  ["v2日本", ["v2", "日本"]],
  ["x".repeat(70), ["x".repeat(64)]],
  ["a" + "𐌰".repeat(40), ["a" + "𐌰".repeat(31)]],
  ["a" + "𐌰".repeat(40) + "日本", ["a" + "𐌰".repeat(31), "日本"]],
  ["हिन्दी", ["हिन्दी"]],
  ["", []],
  ['🎉 -- * "', []],
  ["STRASSE straße Straẞe", ["strasse", "strasse", "strasse"]],
  ["شَارِع شارع", ["شارع", "شارع"]],
  ["שָׁלוֹם שלום בית־ספר", ["שלום", "שלום", "בית", "ספר"]],
  ["हिन्दी", ["हिन्दी"]],
])("R-KB-15 the terms of %j are %j", (text, terms) => {
  expect(termsOf(text)).toEqual(terms);
});

test.each([
  ["What is the cursor of a run?", ["cursor", "run"]],
  ["what is it", ["what", "is", "it"]],
  ["run run RUN", ["run"]],
  ["a b cd", ["cd"]],
  ["?!", []],
  ['"NEAR(a b)" AND -x* OR headings:foo', ["near", "headings", "foo"]],
])("R-KB-15 the question %j is looked for by %j", (question, terms) => {
  expect(queryTerms(question)).toEqual(terms);
});

test("R-KB-15 of a long question the first 64 terms count", () => {
  expect(queryTerms(Array.from({ length: 500 }, (_, index) => `word${index}`).join(" "))).toHaveLength(64);
});

test("R-KB-17 the index is asked for quoted terms alone", () => {
  expect(anyOf(["a", "near"])).toBe('"a" OR "near"');
  expect(allOf(["a", 'b"c'])).toBe('"a" AND "b""c"');
});

test("R-KB-16 a score is the share of the terms that are there, and little more for how telling they are", () => {
  expect(coverage("a b c", ["a", "c", "d", "bc"])).toBe(0.5);
  expect(lexicalScore({ bm25: -0.000001, terms: "a b" }, ["a", "b"])).toBeCloseTo(0.6, 4);
  expect(lexicalScore({ bm25: -3, terms: "a b" }, ["a", "b"])).toBeCloseTo(0.9);
  expect(lexicalScore({ bm25: -3, terms: "a b" }, ["a", "x"])).toBeCloseTo(0.45);
  expect(lexicalScore({ bm25: 1, terms: "a" }, [])).toBe(0);
});

test("R-KB-19 a snippet stands around the first match, on one line, within its limit, cut between words", () => {
  const text = `${"Some words before it. ".repeat(20)}\n\nHere  is the   needle that counts. ${"And after. ".repeat(40)}`;
  const snippet = snippetOf(text, new Set(["needle"]), 80);
  expect(snippet).toContain("Here is the needle that counts.");
  expect(snippet.length).toBeLessThanOrEqual(80);
  expect(snippet).toMatch(/^….*…$/);
  expect(snippetOf("short\ntext", new Set(["text"]), 80)).toBe("short text");
  expect(snippetOf(text, new Set(["nothing"]), 30)).toBe("Some words before it. Some…");
  expect(snippetOf(text, new Set(["after"]), 400)).toMatch(/^….*And after\. And.*…$/);
  for (let limit = 1; limit < 40; limit++) {
    for (const strange of ["🎉".repeat(100), `${"字".repeat(50)}検索${"字".repeat(50)}`]) {
      const cut = snippetOf(strange, new Set(["検索"]), limit);
      expect(cut.length).toBeLessThanOrEqual(limit);
      expect(cut.isWellFormed()).toBe(true);
    }
  }
  expect(snippetOf(`${"字".repeat(300)}検索${"字".repeat(300)}`, new Set(["検索"]), 40)).toContain("検索");
});

test("R-KB-21 a cursor comes back as it was, and nothing else is one", () => {
  const text = cursorText({ offset: 20, revision: 7, epoch: 3 });
  expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(JSON.parse(Buffer.from(text, "base64url").toString())).toEqual({ offset: 20, corpus_revision: 7, epoch: 3 });
  expect(readCursor(text)).toEqual({ offset: 20, revision: 7, epoch: 3 });
  for (const broken of [
    "",
    "x",
    "e30",
    text.slice(1),
    `${text}=`,
    Buffer.from('{"offset":-1,"corpus_revision":1}').toString("base64url"),
  ]) {
    expect(readCursor(broken)).toBeUndefined();
  }
});

test.each([
  ["docs/a.md", "*", true],
  ["docs/a.md", "docs/*.md", true],
  ["docs/x/a.md", "docs/*.md", true],
  ["docs/a.md", "docs/?.md", true],
  ["docs/ab.md", "docs/?.md", false],
  ["docs/a.md", "a.md", false],
  ["a", "", false],
  ["", "**", true],
  ["a", "*?*", true],
  ["a", "?*?", false],
  ["a*b", "a?b", true],
  ["a?b", "a*?b", true],
  ["\u{1F600}", "?", false],
  ["\u{1F600}", "??", true],
  ["a".repeat(500), `${"*a".repeat(100)}b`, false],
  [`${"a".repeat(200)}b`, `${"a".repeat(31)}*${"a".repeat(33)}?b`, true],
  ["a".repeat(32), "a".repeat(32), true],
  ["a".repeat(64), "a".repeat(63), false],
  ["a".repeat(256), "?".repeat(256), true],
])("R-KB-20 the path %j and the pattern %j: %j", (path, glob, fits) => {
  expect(globMatcher(glob)(path)).toBe(fits);
});

/** Sign by sign of the pattern: at which places of the text one can stand behind it. */
function fitsSlowly(text: string, glob: string): boolean {
  let places = new Set([0]);
  for (const sign of glob) {
    const first = Math.min(...places);
    const behind = [...places].filter((at) => at < text.length && (sign === "?" || text[at] === sign));
    const later = Array.from({ length: Math.max(0, text.length + 1 - first) }, (_, index) => first + index);
    places = new Set(sign === "*" ? later : behind.map((at) => at + 1));
    if (places.size === 0) return false;
  }
  return places.has(text.length);
}

test("R-KB-20 all patterns find what comparing sign by sign finds", () => {
  const signs = (alphabet: string, maxLength: number) =>
    fc.array(fc.constantFrom(...alphabet.split("")), { maxLength }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(signs("ab/?*", 90), signs("ab*?", 12), signs("a*?", 80), (path, short, long) => {
      for (const glob of [short, long, `${short}*`, `*${path.slice(1)}`, path]) {
        expect(globMatcher(glob)(path), glob).toBe(fitsSlowly(path, glob));
      }
    }),
  );
});

test("R-KB-20 no pattern holds up the search of a full collection", () => {
  const paths = Array.from({ length: 10_000 }, (_, index) => "a".repeat(500) + index);
  for (const glob of [`*${"a".repeat(250)}b`, `*${"?".repeat(254)}b`, `${"*a".repeat(127)}b`]) {
    const began = performance.now();
    const fits = globMatcher(glob);
    expect(paths.filter((path) => fits(path))).toEqual([]);
    expect(performance.now() - began).toBeLessThan(2000);
  }
});

test("R-KB-22 snippets are halved first, down to 60, then hits go from the end, but one stays", () => {
  const hitsAt = (chars: number) => Array.from({ length: 5 }, (_, rank) => ({ rank, snippet: "x".repeat(chars) }));
  expect(fitBudget(hitsAt, 220, undefined)).toEqual({ hits: hitsAt(220), truncated: false });
  expect(fitBudget(hitsAt, 220, 1000)).toEqual({ hits: hitsAt(220), truncated: false });
  expect(fitBudget(hitsAt, 220, 200)).toEqual({ hits: hitsAt(110), truncated: true });
  expect(fitBudget(hitsAt, 220, 110)).toEqual({ hits: hitsAt(60), truncated: true });
  expect(fitBudget(hitsAt, 220, 50)).toEqual({ hits: hitsAt(60).slice(0, 2), truncated: true });
  expect(fitBudget(hitsAt, 40, 1)).toEqual({ hits: hitsAt(40).slice(0, 1), truncated: true });
});
