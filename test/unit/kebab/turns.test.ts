// Earlier turns of a conversation, and the hits of two searches for one question: pure rules, without a network.
import { expect, test } from "vitest";
import type { Message } from "../../../schemas/run.ts";
import { bothHits, type Found } from "../../../src/kebab/both-hits.ts";
import { hitOf } from "../../../src/kebab/hits.ts";
import { followUpQuery, packTurns, turnMessages, turnsOf } from "../../../src/kebab/turns.ts";

const user = (content: string): Message => ({ role: "user", content });
const says = (content: string): Message => ({ role: "assistant", content });

test("R-KB-73 turns are questions with what was said to them; those without an answer are none", () => {
  expect(
    turnsOf([
      { role: "system", content: "Be brief." },
      says("Before any question."),
      user("What is a cursor?"),
      says("The last sequence [#1][#12], as it says [#3]."),
      user("And then?"),
      user("Hello?"),
      { role: "assistant", toolCalls: [{ toolCallId: "c", toolName: "look", input: {} }] },
      { role: "tool", toolCallId: "c", output: "seen" },
      says("Found."),
      user("How long?"),
    ]),
  ).toEqual([
    { question: "What is a cursor?", answer: "The last sequence, as it says." },
    { question: "Hello?", answer: "Found." },
  ]);
  const parts: Message[] = [
    {
      role: "user",
      content: [
        { type: "text", text: "This?" },
        { type: "image", url: "https://example.com/a.png" },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "A cat." }] },
  ];
  expect(turnsOf(parts)).toEqual([{ question: "This?", answer: "A cat." }]);
});

test("R-KB-72 looked for are the question and the first 200 characters of the last answer, but no refusal's", () => {
  const turn = (answer: string) => ({ question: "q", answer });
  expect(followUpQuery("Why?", [], "No.")).toBeUndefined();
  expect(followUpQuery("Why?", [turn("No.")], "No.")).toBeUndefined();
  expect(followUpQuery("Why?", [turn("First"), turn("Second"), turn("No.\na.md#L1 0.10")], "No.")).toBe("Why?\nSecond");
  expect(followUpQuery("Why?", [turn("😀".repeat(300))], "No.")).toBe(`Why?\n${"😀".repeat(200)}`);
});

test("R-KB-73 the newest turns are kept, and of the last one at least its beginning", () => {
  const turns = ["a", "b", "c"].map((name) => ({ question: name.repeat(40), answer: name.repeat(360) }));
  expect(packTurns(turns, 1000)).toEqual(turns);
  expect(packTurns(turns, 299)).toEqual(turns.slice(1));
  expect(packTurns(turns, 0)).toEqual(turns.slice(2));
  expect(packTurns([], 1000)).toEqual([]);
  const [long] = packTurns([{ question: "q".repeat(9000), answer: "a".repeat(90_000) }], 100);
  expect([long?.question.length, long?.answer.length]).toEqual([1000, 3000]);
  expect(turnMessages(turns.slice(2))).toEqual([
    { role: "user", content: "c".repeat(40) },
    { role: "assistant", content: "c".repeat(360) },
  ]);
});

const found = (...scores: [number, number][]): Found => ({
  hits: scores.map(([number, score], index) =>
    hitOf(
      {
        chunkId: String(number).padStart(32, "0"),
        docId: "d".repeat(32),
        path: `${number}.md`,
        headings: [],
        first: 1,
        last: 2,
        trust: "primary",
        chunkerVersion: "heading-v1",
        indexedAt: "2026-01-01T00:00:00.000Z",
      },
      { mode: "lexical", rank: index + 1, found: { score }, snippet: "", whole: false, stale: false },
    ),
  ),
  texts: scores.map(([number]) => `text ${number}`),
});
const told = ({ hits, texts }: Found) =>
  hits.map(({ rank, doc_path, score }, index) => [rank, doc_path, score, texts[index]]);

test("R-KB-72 of two searches both give the best they have, in the order of their scores", () => {
  const one = found([1, 0.9], [2, 0.8], [3, 0.7]);
  expect(told(bothHits(one, found([4, 0.5], [5, 0.4], [1, 0.3]), 4))).toEqual([
    [1, "1.md", 0.9, "text 1"],
    [2, "2.md", 0.8, "text 2"],
    [3, "4.md", 0.5, "text 4"],
    [4, "5.md", 0.4, "text 5"],
  ]);
  // What both have found counts as where it scored more, and the same scores are in the order of their chunks.
  expect(told(bothHits(found([1, 0.3], [3, 0.2]), found([2, 0.5], [1, 0.5]), 10))).toEqual([
    [1, "1.md", 0.5, "text 1"],
    [2, "2.md", 0.5, "text 2"],
    [3, "3.md", 0.2, "text 3"],
  ]);
  expect(told(bothHits(one, found(), 2))).toEqual(told(found([1, 0.9], [2, 0.8])));
  expect(told(bothHits(found([1, 0.9]), found([2, 0.5]), 1))).toEqual([[1, "1.md", 0.9, "text 1"]]);
  expect(told(bothHits(found([1, 0.4]), found([2, 0.5]), 1))).toEqual([[1, "2.md", 0.5, "text 2"]]);
});

test("R-KB-72 texts are those of the first hits", () => {
  const one = found([1, 0.9], [2, 0.4]);
  const { texts } = bothHits({ ...one, texts: ["text 1"] }, found([3, 0.3]), 3);
  expect(texts).toEqual(["text 1"]);
});
