// How a question is split and looked for part by part: what an answer of a model is worth, what a pool holds, when the search ends, and what the run goes on with. Nobody is asked.
import { expect, test } from "vitest";
import type { AskPlan } from "../../../schemas/ask.ts";
import type { KebabHit } from "../../../schemas/dialects/kebab.ts";
import { decideMessages } from "../../../src/kebab/decide.ts";
import { decomposeMessages, subQuestions } from "../../../src/kebab/decompose.ts";
import { hitOf } from "../../../src/kebab/hits.ts";
import { emptyPool, MAX_POOL, pooled, type Pool } from "../../../src/kebab/pool.ts";
import { research, type ResearchTask, type Said } from "../../../src/kebab/research.ts";
import { completed } from "../../../src/kebab/researched.ts";
import { target } from "../scenarios/drive.ts";

const hit = (name: string, score = 0.9): KebabHit =>
  hitOf(
    {
      chunkId: name.padStart(32, "0"),
      docId: "d".repeat(32),
      path: `${name}.md`,
      headings: [name],
      first: 1,
      last: 2,
      trust: "primary",
      chunkerVersion: "heading-v1",
      indexedAt: "2026-01-01T00:00:00.000Z",
    },
    {
      mode: "lexical",
      rank: 1,
      found: { score, lexical: { rank: 1, score } },
      snippet: `on ${name}`,
      whole: false,
      stale: false,
    },
  );

const poolOf = (...names: string[]): Pool => ({
  hits: names.map((name) => hit(name)),
  texts: names.map((name) => `Text of ${name}.`),
});

const many = (count: number, prefix = "c"): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

const namesOf = ({ hits }: Pool): string[] => hits.map(({ doc_path }) => doc_path.replace(".md", ""));

test.each<[string, string, string[] | undefined]>([
  ["an array", '["a?", "b?"]', ["a?", "b?"]],
  ["white space, empty ones and repeats", ' [" a? ", "", "  ", "a?", "b?"] ', ["a?", "b?"]],
  ["a fence", '```json\n["a?"]\n```', ["a?"]],
  ["a fence without a language", '```\n["a?"]\n```\n', ["a?"]],
  ["a fence on one line", '```["a?"]```', ["a?"]],
  ["an array of nothing", "[]", []],
  ["more than ten", JSON.stringify(many(12)), many(10)],
  ["a long one", JSON.stringify(["x".repeat(5000)]), ["x".repeat(1000)]],
  ["half a character", JSON.stringify([`${"x".repeat(999)}😀`]), [`${"x".repeat(999)}\ufffd`]],
  ["prose", "Here are some questions.", undefined],
  ["an open fence", '```json\n["a?"]', undefined],
  ["a fence of nothing", "```", undefined],
  ["an object", '{"questions": ["a?"]}', undefined],
  ["numbers", '["a?", 5]', undefined],
  ["nested arrays", '["a?", ["b?"]]', undefined],
  ["deep nesting", "[".repeat(30_000) + "]".repeat(30_000), undefined],
  ["a cut array", '["a?", "b', undefined],
  ["nothing", "", undefined],
])("R-KB-61 of %s", (_what, answer, questions) => {
  expect(subQuestions(answer)).toEqual(questions);
});

test("R-KB-62 a pool has each chunk once, as it came, and no more than fifteen", () => {
  const pool = [poolOf("a", "b"), poolOf("b", "c")].reduce(pooled, emptyPool);
  expect(namesOf(pool)).toEqual(["a", "b", "c"]);
  expect(pool.hits.map(({ rank }) => rank)).toEqual([1, 2, 3]);
  expect(pool.texts).toEqual(["Text of a.", "Text of b.", "Text of c."]);
  const full = pooled(pool, poolOf(...many(20)));
  expect(namesOf(full)).toEqual(["a", "b", "c", ...many(12)]);
  expect(full.hits).toHaveLength(MAX_POOL);
});

/** Answers of the model, one after the other, and what each search finds. */
function place(answers: Partial<Record<ResearchTask, readonly string[]>>, found: readonly Pool[][]) {
  const asked: ResearchTask[] = [];
  const searched: string[][] = [];
  const shares: number[] = [];
  return {
    asked,
    searched,
    shares,
    async ask(task: ResearchTask, _messages: unknown, done: number): Promise<Said> {
      shares.push(done);
      const text = answers[task]?.[asked.filter((known) => known === task).length];
      asked.push(task);
      if (text !== undefined) return { said: true, text, ms: 5 };
      return { said: false, failures: [{ failureClass: "connect", message: "no" }] };
    },
    async search(questions: readonly string[], done: number): Promise<Pool[]> {
      shares.push(done);
      searched.push([...questions]);
      return found[searched.length - 1] ?? [];
    },
  };
}

test("R-KB-62 R-KB-64 rounds go on with what the model asks for, until it asks for nothing", async () => {
  const at = place({ decompose: ['["a?", "b?"]'], decide: ['["c?"]', "[]"] }, [
    [poolOf("a"), poolOf("a", "b")],
    [poolOf("b", "c")],
  ]);
  const came = await research({ question: "Q?" }, at);
  expect(at.searched).toEqual([["a?", "b?"], ["c?"]]);
  expect(came).toMatchObject({
    result: "pool",
    hops: [
      { iter: 0, kind: "decompose", sub_queries: ["a?", "b?"], context_chunks_added: 0, llm_call_ms: 5 },
      { iter: 1, kind: "decide", sub_queries: ["c?"], context_chunks_added: 2, forced_stop: false, llm_call_ms: 5 },
      { iter: 2, kind: "decide", sub_queries: [], context_chunks_added: 1, forced_stop: false, llm_call_ms: 5 },
    ],
  });
  expect(at.shares).toEqual(at.shares.toSorted((one, other) => one - other));
});

test("R-KB-62 nobody is asked after the third round, and with a full pool", async () => {
  const at = place({ decompose: ['["a?"]'], decide: ['["b?"]', '["c?"]', '["d?"]'] }, []);
  const rounds = await research({ question: "Q?" }, at);
  expect(at.searched).toEqual([["a?"], ["b?"], ["c?"]]);
  expect(rounds).toMatchObject({ hops: [{}, {}, {}, { iter: 3, forced_stop: true, llm_call_ms: 0, sub_queries: [] }] });
  const full = place({ decompose: ['["a?"]'], decide: [] }, [[poolOf(...many(16))]]);
  const came = await research({ question: "Q?" }, full);
  expect(full.asked).toEqual(["decompose"]);
  expect(came).toMatchObject({ hops: [{}, { forced_stop: true, context_chunks_added: 15 }] });
});

test("R-KB-61 R-KB-65 what cannot be split, and nobody who answers, are told apart", async () => {
  expect(await research({ question: "Q?" }, place({ decompose: ["Why?"] }, []))).toEqual({ result: "not_decomposed" });
  expect(await research({ question: "Q?" }, place({ decompose: ["[]"] }, []))).toEqual({ result: "not_decomposed" });
  const failed = { result: "failed", failures: [{ failureClass: "connect" }] };
  expect(await research({ question: "Q?" }, place({}, []))).toMatchObject(failed);
  expect(await research({ question: "Q?" }, place({ decompose: ['["a?"]'] }, [[]]))).toMatchObject(failed);
  const at = place({ decompose: ['["a?"]'] }, []);
  const unsearched = { ...at, search: async () => ({ failureClass: "interrupted", message: "no" }) as const };
  expect(await research({ question: "Q?" }, unsearched)).toMatchObject({ failures: [{ failureClass: "interrupted" }] });
});

test("R-KB-68 a model sees snippets on one line each, and what was said before with the question", () => {
  const [, split] = decomposeMessages({ question: "Why?", before: { question: "What\nis it?", answer: "A\ncursor." } });
  expect(split).toEqual({
    role: "user",
    content: "Asked before: What is it?\nAnswered: A cursor.\n\nQuestion: Why?",
  });
  const [, decide] = decideMessages({ question: "Why?" }, ["a?\nb?"], poolOf("a").hits);
  expect(decide).toEqual({
    role: "user",
    content: "Question: Why?\n\nAsked so far:\n- a? b?\n\nFound so far:\n- a.md > a: on a",
  });
});

const plan: AskPlan = {
  mode: "hybrid",
  k: 10,
  scoreGate: 0.3,
  traceId: "ret_0a1b2c3d",
  hits: [],
  used: 0,
  promptVersion: "rag-multi-hop-v2",
  embedding: { id: "m", provider: "e", dimensions: 3 },
};
const request = {
  schemaVersion: "1.0" as const,
  task: { kind: "text_to_text" as const },
  messages: [
    { role: "system" as const, content: "rules" },
    { role: "user" as const, content: "Before?" },
    { role: "assistant" as const, content: "Said." },
    { role: "user" as const, content: "Q?" },
  ],
  generation: { seed: 7 },
};
const asking = { question: "Q?", noEvidence: "Nothing." };
const chain = [target("a")];

test("R-KB-63 the first of the pool decides whether a model is asked", () => {
  const far = { hits: [hit("a", 0.2), hit("b", 0.9)], texts: ["A.", "B."] };
  const refused = completed(plan, asking, request, chain, { result: "pool", pool: far, hops: [] });
  expect(refused.ask).toMatchObject({ used: 0, hops: [], refusal: { reason: "score_gate" }, embedding: { id: "m" } });
  expect(refused.request).toBe(request);
  const nothing = completed(plan, asking, request, chain, { result: "pool", pool: emptyPool, hops: [] });
  expect(nothing.ask).toMatchObject({ hits: [], hops: [], refusal: { reason: "no_chunks", text: "Nothing." } });
  expect(nothing.ask).not.toHaveProperty("embedding");
});

test("R-KB-64 R-KB-68 the answer is asked for with the pool's texts, after the turns before", () => {
  const { ask, request: sent } = completed(plan, asking, request, chain, {
    result: "pool",
    pool: poolOf("a", "b"),
    hops: [],
  });
  expect(ask).toMatchObject({ used: 2, hits: [{ rank: 1 }, {}] });
  expect(ask).not.toHaveProperty("research");
  expect(sent.messages?.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect(sent.messages?.at(-1)?.content).toMatch(/\[#1\] [^]*Text of a\.\n\n\[#2\] [^]*Text of b\.\n\nQuestion: Q\?$/);
  expect(sent.generation).toMatchObject({ seed: 7, maxOutputTokens: expect.any(Number) });
});

test("R-KB-61 a question that was not split is answered with nothing", () => {
  const { ask } = completed(plan, asking, request, chain, { result: "not_decomposed" });
  expect(ask).toMatchObject({ hits: [], refusal: { reason: "multi_hop_decompose_failed", text: "" } });
  expect(ask).not.toHaveProperty("hops");
});
