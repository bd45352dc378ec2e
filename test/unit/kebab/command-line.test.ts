// The words of `npx holdfast`, without a server.
import { expect, test } from "vitest";
import { readCommand, usageOf } from "../../../bin/command-line.mjs";

test("R-KB-91 options are the fields of the request, and what is left out is not there", () => {
  expect(readCommand(["ask", "why?"])).toMatchObject({
    ok: true,
    value: { name: "ask", stream: false, body: { question: "why?" } },
  });
  const words = ["ask", "--k=8", "--seed=-7", "--temperature", "0.5", "--mode", "hybrid", "--explain", "--multi-hop"];
  expect(readCommand([...words, "--conversation", "talk", "--route", "near", "--stream", "--", "-why?"])).toMatchObject(
    {
      value: {
        stream: true,
        body: {
          question: "-why?",
          k: 8,
          seed: -7,
          temperature: 0.5,
          mode: "hybrid",
          explain: true,
          multi_hop: true,
          conversation: "talk",
          route: "near",
        },
      },
    },
  );
  expect(readCommand(["search", "why?", "--explain"])).toMatchObject({
    value: { body: { query: "why?", trace: true } },
  });
});

test.each([
  [[], "command"],
  [["answer", "x"], "command"],
  [["toString"], "command"],
  [["ask"], "question"],
  [["ask", " "], "question"],
  [["ask", "two", "words"], "question"],
  [["search", ""], "query"],
  [["ask", "x", "--k", "0"], "k"],
  [["ask", "x", "--k", "101"], "k"],
  [["ask", "x", "--k", "1e1"], "k"],
  [["ask", "x", "--k", "2.5"], "k"],
  [["ask", "x", "--temperature", "warm"], "temperature"],
  [["ask", "x", "--seed", "1.5"], "seed"],
  [["ask", "x", "--timeout", "0"], "timeout"],
  [["ask", "x", "--retries", "-1"], "options"],
  [["ask", "x", "--mode", "fuzzy"], "mode"],
  [["ask", "x", "--session", "a", "--conversation", "b"], "conversation"],
  [["ask", "x", "--nope"], "options"],
  [["ask", "x", "--k"], "options"],
  [["search", "x", "--stream"], "options"],
  [["schema", "x"], "words"],
])("R-KB-92 words that cannot be meant are refused: %j", (words, field) => {
  expect(readCommand(words)).toMatchObject({
    ok: false,
    failure: { code: "generic", details: { reason: "invalid_input", field } },
  });
  expect(usageOf(words[0])).toMatch(/^usage: holdfast /);
});
