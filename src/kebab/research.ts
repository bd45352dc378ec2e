// How a question is split, looked for part by part, and gone on with until enough is found. Who asks the models and searches is given: no rule is anywhere else, and no I/O here.
import type { AnswerHop } from "../../schemas/dialects/kebab-answer.ts";
import type { FailureOf } from "../../schemas/failure.ts";
import type { Message } from "../../schemas/run.ts";
import { decideMessages } from "./decide.ts";
import { decomposeMessages, subQuestions, type Splitting } from "./decompose.ts";
import { emptyPool, isFull, pooled, type Pool } from "./pool.ts";

/** Rounds of searches. */
const MAX_ROUNDS = 3;

export type ResearchTask = "decompose" | "decide";

/** A model's answer, and the milliseconds that it took; or how each target failed that was asked. */
export type Said = { said: true; text: string; ms: number } | { said: false; failures: FailureOf[] };

/** `done`: the share of all the work there may be that is over. */
export interface ResearchPlace {
  ask(task: ResearchTask, messages: Message[], done: number): Promise<Said>;
  /** What each of the questions finds, in their order; or why nothing can be searched. */
  search(questions: readonly string[], done: number): Promise<Pool[] | FailureOf>;
}

export type Researched =
  | { result: "pool"; pool: Pool; hops: AnswerHop[] }
  /** The model's answer was no list of questions. */
  | { result: "not_decomposed" }
  | { result: "failed"; failures: FailureOf[] };

export async function research(splitting: Splitting, { ask, search }: ResearchPlace): Promise<Researched> {
  const split = await ask("decompose", decomposeMessages(splitting), 0);
  if (!split.said) return { result: "failed", failures: split.failures };
  let next = subQuestions(split.text) ?? [];
  if (next.length === 0) return { result: "not_decomposed" };
  const hops: AnswerHop[] = [hop(0, "decompose", { sub_queries: next, llm_call_ms: split.ms })];
  const asked: string[] = [];
  let pool = emptyPool;
  for (let round = 1; next.length > 0; round++) {
    const found = await search(next, (2 * round - 1) / (2 * MAX_ROUNDS));
    if (!Array.isArray(found)) return { result: "failed", failures: [found] };
    asked.push(...next);
    const before = pool.hits.length;
    pool = found.reduce(pooled, pool);
    const added = { context_chunks_added: pool.hits.length - before };
    if (round === MAX_ROUNDS || isFull(pool)) {
      hops.push(hop(round, "decide", { ...added, forced_stop: true }));
      break;
    }
    const decided = await ask("decide", decideMessages(splitting, asked, pool.hits), round / MAX_ROUNDS);
    if (!decided.said) return { result: "failed", failures: decided.failures };
    next = subQuestions(decided.text) ?? [];
    hops.push(hop(round, "decide", { ...added, sub_queries: next, llm_call_ms: decided.ms }));
  }
  return { result: "pool", pool, hops };
}

export const hop = (iter: number, kind: AnswerHop["kind"], fields: Partial<AnswerHop> = {}): AnswerHop => ({
  iter,
  kind,
  sub_queries: [],
  context_chunks_added: 0,
  forced_stop: false,
  llm_call_ms: 0,
  ...fields,
});
