// What a research has come to, as the plan and the request that the run goes on with: the same gate and the same sources as of a question that was looked for once.
import type { AskPlan, ResearchPlan } from "../../schemas/ask.ts";
import type { PlannedTarget } from "../../schemas/plan.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { refusalOf } from "./gate.ts";
import type { Researched } from "./research.ts";
import { answerRoom, askPrompt, packSources } from "./sources.ts";
import { askMessages, turnsOf } from "./turns.ts";

export interface Completed {
  ask: AskPlan;
  request: StartRequest;
}

/** `request`: the question, after the rules and the turns before it. */
export function completed(
  plan: AskPlan,
  { question, noEvidence }: Pick<ResearchPlan, "question" | "noEvidence">,
  request: StartRequest,
  chain: readonly Pick<PlannedTarget, "target">[],
  researched: Exclude<Researched, { result: "failed" }>,
): Completed {
  const { research: _, ...ask } = plan;
  if (researched.result === "not_decomposed") {
    return { ask: { ...ask, refusal: { reason: "multi_hop_decompose_failed", text: "" } }, request };
  }
  const { pool, hops } = researched;
  const hits = [...pool.hits];
  const refusal = refusalOf(hits, ask.scoreGate, noEvidence);
  if (refusal !== undefined) {
    // Nothing was found, and so by nobody.
    const { embedding, ...rest } = ask;
    const found = embedding === undefined || refusal.reason === "no_chunks" ? rest : { ...rest, embedding };
    return { ask: { ...found, hits, hops, refusal }, request };
  }
  const packed = packSources(hits, pool.texts);
  const earlier = turnsOf((request.messages ?? []).slice(0, -1));
  const messages = askMessages(askPrompt(question, packed), earlier, packed);
  const maxOutputTokens = answerRoom(messages, packed, chain);
  return {
    ask: { ...ask, hits, hops, used: packed.used },
    request: { ...request, messages, generation: { ...request.generation, maxOutputTokens } },
  };
}
