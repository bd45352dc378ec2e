// The seam of a continuation: where it may attach, and what of it repeats.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { attachable, closeSeam, join, joinWhole, openSeam, type Joined, type Seam } from "../../src/run/seam.ts";

/** The text after a continuation that arrives in these pieces. */
function joined(base: string, pieces: readonly string[], json = /^[[{]/.test(base)): string {
  let shown = base;
  let seam: Seam | undefined = openSeam(base, json);
  for (const piece of pieces) {
    if (seam === undefined) {
      shown += piece;
      continue;
    }
    const step: Joined = join(seam, piece);
    shown = step.replaces ? step.text : shown + step.text;
    seam = step.seam;
  }
  if (seam === undefined) return shown;
  const last = closeSeam(seam);
  return last.replaces ? last.text : shown + last.text;
}

const story = "Once upon a time, in a house by the sea,";

describe("R-CONT-2 what repeats", () => {
  test.each<[what: string, base: string, continuation: string, whole: string]>([
    ["nothing", "The lamp", " burns.", "The lamp burns."],
    ["the last word", "The quick brown fox", "fox jumps", "The quick brown fox jumps"],
    ["the last word with its space", "The quick brown fox", " fox jumps", "The quick brown fox jumps"],
    ["a word begun", "Hello wor", "world!", "Hello world!"],
    ["the last words", story, "a house by the sea, there was", `${story} there was`],
    ["all of it", story, `${story} there was`, `${story} there was`],
    ["a space at the seam", "The lamp ", " burns.", "The lamp burns."],
    ["a line end at the seam", "One.\n\n", "\n\nTwo.", "One.\n\nTwo."],
    ["Japanese", "昔々、ある所に", "ある所に、おじいさん", "昔々、ある所に、おじいさん"],
    ["letters that happen to be alike", "a b", "bc", "a bbc"],
    ["a syllable that happens to be alike", "banana", "na split", "bananana split"],
    ["numbers that are alike", "[0, 0, 0", ", 0, 0]", "[0, 0, 0, 0, 0]"],
    [
      "lines of code that are alike",
      "```js\nif (a) {\n  f();\n",
      "  f();\n}\n```",
      "```js\nif (a) {\n  f();\n  f();\n}\n```",
    ],
    [
      "a longer part of code",
      "```js\nconst answer = 42;\n",
      "const answer = 42;\nlog();\n",
      "```js\nconst answer = 42;\nlog();\n",
    ],
    [
      "the mark of the open fence",
      "Look:\n```js\nlet a;\n",
      "```js\nlet b;\n```\n",
      "Look:\n```js\nlet a;\nlet b;\n```\n",
    ],
    ["the end of the open fence is none", "Look:\n```js\nlet a;\n", "```\nDone.", "Look:\n```js\nlet a;\n```\nDone."],
    ["JSON values that are alike", '{"a": "ab', 'ab", "b": 1}', '{"a": "abab", "b": 1}'],
    [
      "a longer part of JSON",
      '{"title": "The old lighthouse',
      'The old lighthouse keeper"}',
      '{"title": "The old lighthouse keeper"}',
    ],
  ])("%s", (_what, base, continuation, whole) => {
    expect(joined(base, [continuation])).toBe(whole);
    expect(joined(base, Array.from(continuation))).toBe(whole);
  });

  test("an answer begun anew in other words replaces the text", () => {
    const base = "The lighthouse keeper wrote everything down, because the sea forgets. Every";
    const anew = "The lighthouse keeper wrote everything down, because nobody believed him.";
    expect(joined(base, [anew])).toBe(anew);
    expect(joined('{"title": "Old", "bo', ['{"title": "New", "body": ""}'])).toBe('{"title": "New", "body": ""}');
  });

  test("a whole character is never cut: an overlap ends where a character ends", () => {
    const base = "She said: bravo 👩";
    expect(joined(base, [" bravo 👩\u200D🚀 flies"])).toBe("She said: bravo 👩 bravo 👩\u200D🚀 flies");
  });

  test("the pieces in which a continuation comes change nothing, and without a repetition nothing is lost", () => {
    const words = fc.array(fc.constantFrom("the ", "sea ", "a", "b", "🧵", "\n", "```", "js\n", '"', "{", "0, "), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(words, words, fc.array(fc.nat(20), { maxLength: 4 }), (before, after, cuts) => {
        const base = before.join("");
        const continuation = after.join("");
        const edges = [
          0,
          ...cuts.filter((cut) => cut < continuation.length).toSorted((a, b) => a - b),
          continuation.length,
        ];
        const pieces = edges.slice(1).map((end, index) => continuation.slice(edges[index], end));
        const whole = joined(base, [continuation]);
        expect(joined(base, pieces)).toBe(whole);
        expect(joinWhole(base, continuation, false)).toBe(joined(base, [continuation], false));
        // With a part of it before what is shown, the whole is the same as long as nothing is replaced.
        const at = Math.floor(base.trimEnd().length / 2);
        const parted = joinWhole(base.slice(at), continuation, false, base.slice(0, at));
        const plain = joinWhole(base, continuation, false);
        if (plain.startsWith(base.trimEnd())) expect(base.slice(0, at) + parted).toBe(plain);
        // What is left of the continuation is its end.
        const core = base.trimEnd();
        if (whole.startsWith(core)) expect(continuation.endsWith(whole.slice(core.length).trimStart())).toBe(true);
        else expect(whole).toBe(continuation.trimStart());
      }),
      { numRuns: 3000 },
    );
  });
});

test("R-CONT-2 a model that goes on exactly from what it was sent is joined exactly, wherever the first one broke", () => {
  const document = [
    "# Notes\n\nThe lamp was lit in 1951.\n\nToday it turns by itself:\n\n```py\ndef turn(lamp):\n    if lamp:\n",
    "        return lamp\n    raise ValueError\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nA 👩\u200D🚀 and a 🇫🇷 flag.\n",
  ].join("");
  for (let cut = 1; cut < document.length; cut++) {
    const base = attachable(document.slice(0, cut), false);
    const rest = document.slice(base.trimEnd().length);
    if (base.trim() === "") continue;
    for (const pieces of [[rest], rest.match(/.{1,4}/gsu) ?? []]) expect(joined(base, pieces)).toBe(document);
  }
});

test("R-CONT-2 what is held is bounded by what is shown, and costs what it is long", () => {
  const base = `${"The sea is wide and the wind is cold. ".repeat(6000)}End`;
  const started = performance.now();
  expect(joined(base, `${base}, at last.`.match(/.{1,4}/gs) ?? [])).toBe(`${base}, at last.`);
  const blank = join(openSeam("A word", false), " ".repeat(65));
  expect(blank).toMatchObject({ seam: undefined, text: " ".repeat(65) });
  expect(joined(`x${" ".repeat(200_000)}y`, ["z"])).toBe(`x${" ".repeat(200_000)}yz`);
  // Not a clock: what was quadratic took minutes.
  expect(performance.now() - started).toBeLessThan(20_000);
});

describe("R-CONT-3 where a continuation may attach", () => {
  test.each<[what: string, text: string, json: boolean, base: string]>([
    ["plain text", "The lamp ", false, "The lamp "],
    ["half a surrogate pair", "ok \uD83D", false, "ok "],
    ["an emoji that goes on", "ok 👨\u200D", false, "ok "],
    ["a whole emoji", "ok 👨\u200D👩", false, "ok 👨\u200D👩"],
    ["half a flag", "ok 🇫", false, "ok "],
    ["a whole flag", "ok 🇫🇷", false, "ok 🇫🇷"],
    ["half a pair of escapes", '{"a": "b\\ud83d', true, '{"a": "b'],
    ["a pair of escapes half begun", '{"a": "b\\ud83d\\ude', true, '{"a": "b'],
    ["a whole pair of escapes", '{"a": "b\\ud83d\\ude00', true, '{"a": "b\\ud83d\\ude00'],
    ["part of a fence", "Look:\n``", false, "Look:\n"],
    ["a fence without its line end", "Look:\n```py", false, "Look:\n"],
    ["a whole fence line", "Look:\n```py\n", false, "Look:\n```py\n"],
    ["code in a line", "Look: `a", false, "Look: `a"],
    ["an open JSON string", '{"a": "b', true, '{"a": "b'],
    ["an open escape", '{"a": "b\\', true, '{"a": "b'],
    ["a whole escape", '{"a": "b\\\\', true, '{"a": "b\\\\'],
    ["an open unicode escape", '{"a": "b\\u00e', true, '{"a": "b'],
    ["a whole unicode escape", '{"a": "b\\u00e9', true, '{"a": "b\\u00e9'],
    ["a backslash in plain text", "C:\\", false, "C:\\"],
  ])("%s", (_what, text, json, base) => {
    expect(attachable(text, json)).toBe(base);
  });
});
