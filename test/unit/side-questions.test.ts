// What a model is asked beside a run, and what is made of its answers.
import { expect, test } from "vitest";
import type { StartRequest } from "../../schemas/run.ts";
import { promptOf, summaryQuestion, titleOf, titleQuestion } from "../../src/run/side-questions.ts";

const request = (fields: Partial<StartRequest>): StartRequest => ({
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  ...fields,
});

test.each([
  ["Weather in Oslo", "Weather in Oslo"],
  ['  "Weather\nin `Oslo`".  ', "Weather in Oslo"],
  ["„Wetter in Oslo“?!…;:", "Wetter in Oslo ?!…"],
  ["Weather in Oslo. ,;:!?", "Weather in Oslo"],
  ["...", ""],
  ['""', ""],
  ["é".repeat(90), "é".repeat(80)],
  ["😀".repeat(90), "😀".repeat(80)],
])(
  "R-TITLE-1 a title is one line without quotes, without punctuation at its end, of at most 80 characters: %j",
  (answer, title) => {
    expect(titleOf(answer)).toBe(title);
  },
);

test("R-TITLE-1 a title is made from the first 2,000 characters of what the user came with last", () => {
  expect(promptOf(request({ prompt: "Hello" }))).toBe("Hello");
  const messages: StartRequest["messages"] = [
    { role: "user", content: "first" },
    { role: "assistant", content: "yes" },
    {
      role: "user",
      content: [
        { type: "text", text: "last" },
        { type: "image", url: "https://image.test/a.png" },
        { type: "text", text: "words" },
      ],
    },
    { role: "assistant", content: "so" },
  ];
  expect(promptOf(request({ prompt: "not read", messages }))).toBe("last\nwords");
  expect(promptOf(request({ messages: [{ role: "system", content: "s" }] }))).toBe("");
  const asked = titleQuestion(`${"a".repeat(1999)}😀b`);
  expect(asked).toContain("a".repeat(1999));
  expect(asked.isWellFormed()).toBe(true);
});

test("R-CHAT-2 a model that sums up is given the whole text", () => {
  const text = "user: a\nassistant: b\ud800";
  expect(summaryQuestion(text)).toContain("user: a\nassistant: b\ufffd");
});
