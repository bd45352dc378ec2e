// A DeerFlow reader of a run in a thread: it is told what the thread held, and whatever dies, it ends with the run's text.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as v from "valibot";
import { expect, it } from "vitest";
import type { RunPlan } from "../../schemas/plan.ts";
import { outcomeSchema } from "../../schemas/outcome.ts";
import { answersIn, framesOf, messagesIn, shownBy, type DeerFrame } from "../support/deerflow-frames.ts";
import { agentPlan, demoTarget, limits, planOf } from "./plan.ts";
import { begin, human, newThread, turn } from "./threads.ts";

/** The frames after an id, until there are enough of them or the stream ends. */
async function read(runId: string, id: string | undefined, enough = Number.POSITIVE_INFINITY): Promise<DeerFrame[]> {
  const from = id === undefined ? ("start" as const) : { id };
  const answer = await env.RUN.getByName(`local/${runId}`).attach({
    dialect: "deerflow",
    framing: "sse",
    from,
    waitMs: 0,
  });
  if (!(answer instanceof Response) || answer.body === null) throw new Error("no stream");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let wire = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    wire += piece.value;
    if (framesOf(wire).length >= enough) break;
  }
  await reader.cancel();
  return framesOf(wire);
}

async function textOf(runId: string): Promise<string> {
  const outcome = await env.RUN.getByName(`local/${runId}`).outcome(20_000);
  if (!(outcome instanceof Response)) throw new Error("the run does not end");
  const ended = v.parse(outcomeSchema, await outcome.json());
  return ended.outcome === "completed" ? ended.finalText : ended.partialText;
}

async function startIn(threadId: string, runId: string, fields: Partial<RunPlan> = {}): Promise<void> {
  const thread = { threadId, chain: null, modes: ["values", "messages-tuple"] as const };
  const plan = planOf(runId, { thread, agent: agentPlan({ tools: [] }), ...fields });
  expect(await env.RUN.getByName(`local/${runId}`).start(plan, 100)).toMatchObject({ started: true });
}

it("R-DF-10 R-DF-12 is told what the thread held before the run, also when the run has ended and its object has died", async () => {
  const { threadId, stub } = newThread();
  const before = await turn(stub());
  const { runId } = await begin(stub(), { input: [human("h2", "And now?")] });
  await startIn(threadId, runId);
  const text = await textOf(runId);
  const frames = await read(runId, undefined);
  const ids = messagesIn(frames[1]?.data).map(({ id }) => id);
  expect(ids).toEqual([`h-${before}`, `a-${before}`, "h2"]);
  expect(answersIn(shownBy(frames)).at(-1)).toBe(text);
  expect(frames.at(-1)?.event).toBe("end");
  await crashRun(runId);
  for (const [index, { id }] of frames.slice(0, -1).entries()) {
    if (index % 7 === 0) expect(await read(runId, id)).toEqual(frames.slice(index + 1));
  }
  expect(await read(runId, "-1")).toEqual(frames);
});

it("R-DF-13 R-DUR-5 who has seen what a crash voided ends with the run's text all the same", async () => {
  const { threadId, stub } = newThread();
  const { runId } = await begin(stub(), { input: [human("h1", "Go on.")] });
  await startIn(threadId, runId, {
    chain: [demoTarget("demo-slow")],
    // Nothing is stored after the commit point, and everything may be shown.
    limits: { ...limits, flushMs: 3_600_000, reserveEvents: 4096 },
  });
  const ahead = await read(runId, undefined, 6);
  expect(answersIn(shownBy(ahead)).join("").length).toBeGreaterThan(0);
  await crashRun(runId);
  const text = await textOf(runId);
  const back = await read(runId, ahead.findLast(({ id }) => id !== undefined)?.id);
  expect(answersIn(shownBy([...ahead, ...back]))).toEqual([text]);
  expect(answersIn(shownBy(await read(runId, undefined)))).toEqual([text]);
  expect(back.at(-1)?.event).toBe("end");
});

async function crashRun(runId: string): Promise<void> {
  const run = env.RUN.getByName(`local/${runId}`);
  await expect(runInDurableObject(run, (_instance, state) => state.abort("crash"))).rejects.toThrow("crash");
}
