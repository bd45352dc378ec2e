// What a run finds out before it answers: asks its models, searches its collection, and hands in what came of it. Every rule about what is asked and looked for is elsewhere.
import type { SearchAnswer, SearchAsk } from "../schemas/collection.ts";
import type { Failure, FailureOf } from "../schemas/failure.ts";
import type { PlannedTarget } from "../schemas/plan.ts";
import type { Message, StartRequest } from "../schemas/run.ts";
import type { Pool } from "../src/kebab/pool.ts";
import { research, type ResearchTask, type Said } from "../src/kebab/research.ts";
import { completed } from "../src/kebab/researched.ts";
import { failurePolicies } from "../src/run/fallback.ts";
import type { Input } from "../src/run/machine.ts";
import { promptBytes } from "../src/run/request.ts";
import { pass } from "./gate.ts";
import { foundBy } from "./run-fold.ts";
import type { RunRow } from "./run-row.ts";
import { askModel } from "./side-question.ts";

const TRIES = 2;

export interface RunResearch {
  /** Begins; does nothing while it goes on. */
  begin(): void;
}

export interface RunResearchOptions {
  ctx: DurableObjectState;
  env: Env;
  row: RunRow;
  /** `undefined` when the run has nothing to send any more. */
  request(): StartRequest | undefined;
  /** Aborted when the run is over: then nothing is asked any more, and the provider's socket is closed. */
  over: AbortSignal;
  /** The run has these from now on; resolves when they are on disk. */
  complete(plan: RunRow["plan"], request: StartRequest): Promise<void>;
  apply(input: Extract<Input, { type: "researched" | "research_failed" | "aside" | "preparing" }>): void;
}

export function runResearch({ ctx, env, row, request, over, complete, apply }: RunResearchOptions): RunResearch {
  const { tenant } = row.plan;
  let going = false;
  /** The target that has answered last is asked first. */
  let answered: string | undefined;

  const inOrder = (): readonly PlannedTarget[] => {
    const { chain } = row.plan;
    return [...chain.filter(({ id }) => id === answered), ...chain.filter(({ id }) => id !== answered)];
  };

  const tell = (providerId: string, task: string, fractionCompleted: number): void =>
    apply({ type: "preparing", at: Date.now(), progress: { providerId, task, fractionCompleted } });

  async function ask(task: ResearchTask, messages: Message[], done: number): Promise<Said> {
    const began = Date.now();
    const { temperature, seed } = request()?.generation ?? {};
    const generation = { ...(temperature !== undefined && { temperature }), ...(seed !== undefined && { seed }) };
    const failures: FailureOf[] = [];
    for (const target of inOrder()) {
      const startedAt = Date.now();
      tell(target.id, task, done);
      const answer = await askModel(env, target, { messages, generation }, over);
      await pass("asked", ctx);
      if (over.aborted) break;
      const { usage } = answer;
      const failure = answer.answered ? undefined : answer.failure;
      const told = { ...(usage !== undefined && { usage }), ...(failure !== undefined && { failure }) };
      apply({ type: "aside", at: Date.now(), targetId: target.id, startedAt, ...told });
      if (answer.answered) {
        answered = target.id;
        // 0 would say that nobody was asked.
        return { said: true, text: answer.text, ms: Math.max(1, Date.now() - began) };
      }
      failures.push({ ...answer.failure, targetId: target.id });
      if (!failurePolicies[answer.failure.failureClass].fallsBack) break;
    }
    return { said: false, failures };
  }

  /** Anew for each try: a stub whose object has died stays broken. */
  async function searchOne(collection: string, wanted: SearchAsk): Promise<SearchAnswer> {
    for (let tries = 1; ; tries++) {
      try {
        // A stub's own type gives up at fields of unknown type.
        const answer: SearchAnswer = await env.COLLECTION.getByName(`${tenant}/${collection}`).search(wanted);
        return answer;
      } catch (error) {
        if (tries === TRIES) throw error;
      }
    }
  }

  async function carryOut(): Promise<void> {
    const { ask: plan, chain } = row.plan;
    if (plan?.research === undefined) return;
    const { collection, search: like } = plan.research;
    const search = async (questions: readonly string[], done: number): Promise<Pool[] | FailureOf> => {
      tell(collection, "retrieve", done);
      try {
        const answers = await Promise.all(questions.map((query) => searchOne(collection, { ...like, query })));
        const failed = answers.find((answer) => !answer.found && answer.refused === "embedding_failed");
        return failed !== undefined && "failure" in failed
          ? { ...failed.failure, targetId: failed.targetId }
          : answers.map(poolOf);
      } catch {
        return unsearched;
      } finally {
        await pass("searched", ctx);
      }
    };
    const came = await research(plan.research, { ask, search });
    const asked = request();
    if (over.aborted || asked === undefined) return;
    if (came.result === "failed") return apply({ type: "research_failed", at: Date.now(), failures: came.failures });
    const done = completed(plan, plan.research, asked, chain, came);
    const { asks } = row.plan;
    const added = promptBytes(done.request) - promptBytes(asked);
    await complete(
      { ...row.plan, ask: done.ask, asks: { ...asks, promptBytes: asks.promptBytes + added } },
      done.request,
    );
    apply({
      type: "researched",
      at: Date.now(),
      found: foundBy(done.ask),
      promptBytes: row.plan.asks.promptBytes,
    });
  }

  return {
    begin() {
      if (going) return;
      going = true;
      ctx.waitUntil(carryOut().catch(() => ctx.abort("The research broke off.")));
    },
  };
}

const unsearched: Failure = { failureClass: "interrupted", message: "The collection could not be searched." };

/** A collection that has gone meanwhile holds nothing. */
const poolOf = (answer: SearchAnswer): Pool =>
  answer.found ? { hits: answer.hits, texts: answer.texts ?? [] } : { hits: [], texts: [] };
