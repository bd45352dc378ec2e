// What a run that waits keeps, who may go on from it, and runs that were stored before there was such a thing.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import type { RunObject } from "../../durable-objects/run-object.ts";
import { continuationSchema } from "../../schemas/continuation.ts";
import type { TurnAnswer } from "../../schemas/chat.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import { asking } from "../unit/chats/entries.ts";
import { agentPlan, agentTarget, demoTarget, limits, planOf } from "./plan.ts";

type Stub = DurableObjectStub<RunObject>;

interface Named {
  name: string;
  runId: string;
  tenant: string;
}

const named = (tenant = "local", runId: string = crypto.randomUUID()): Named => ({
  name: `${tenant}/${runId}`,
  runId,
  tenant,
});

async function ended(name: string): Promise<Record<string, unknown>> {
  const answer = await env.RUN.getByName(name).outcome(20_000);
  if (!(answer instanceof Response)) throw new Error("still running");
  return answer.json();
}

/** A run that has ended with both of its calls waiting for an approval. */
async function waitingRun(fields: Partial<RunPlan> = {}): Promise<Named> {
  const run = named(fields.tenant, fields.runId);
  const agent = agentPlan();
  const tools = agent.tools.map((tool) => ({ ...tool, confirmation: true }));
  const plan = planOf(run.runId, { chain: [agentTarget()], agent: { ...agent, tools }, ...fields });
  await env.RUN.getByName(run.name).start(plan, 100);
  expect(await ended(run.name)).toMatchObject({ stopReason: "tool_calls", pending: [{}, {}] });
  return run;
}

async function continuation(name: string) {
  const answer: unknown = await env.RUN.getByName(name).continuation();
  return v.parse(continuationSchema, answer);
}

const dump = (stub: Stub): Promise<string> =>
  runInDurableObject(stub, (_, state) => JSON.stringify(state.storage.sql.exec("SELECT * FROM run").toArray()));

/** Starts a run that goes on from another one, and then waits for its model. */
const goOn = ({ name, runId, tenant }: Named, continues: string, maxActiveRuns = 100) =>
  env.RUN.getByName(name).start(
    planOf(runId, { tenant, chain: [demoTarget("demo-silent")], continues }),
    maxActiveRuns,
  );

describe("a run that waits", () => {
  it("R-NEXT-7 keeps its request until a run that goes on from it is accepted", async () => {
    const first = await waitingRun();
    expect(await dump(env.RUN.getByName(first.name))).toContain("marker-of-the-prompt");
    await evictDurableObject(env.RUN.getByName(first.name));
    expect(await continuation(first.name)).toMatchObject({
      found: true,
      request: { prompt: "marker-of-the-prompt" },
      turns: [{ role: "assistant", content: "Looking. ", toolCalls: [{ toolCallId: "a" }, { toolCallId: "b" }] }],
      open: [{ toolCallId: "a", confirmation: "required" }, { toolCallId: "b" }],
    });
    const second = named();
    expect(await goOn(second, first.runId)).toMatchObject({
      started: true,
    });
    await expect.poll(() => dump(env.RUN.getByName(first.name))).not.toContain("marker-of-the-prompt");
    expect(await continuation(first.name)).toEqual({ found: false, refused: "not_waiting" });
    await env.RUN.getByName(second.name).forget();
  });

  it("R-NEXT-7 loses its request with its events", async () => {
    const first = await waitingRun({ limits: { ...limits, retentionEventsMs: 1000 } });
    const sweep = async (): Promise<string> => {
      await runDurableObjectAlarm(env.RUN.getByName(first.name));
      return dump(env.RUN.getByName(first.name));
    };
    await expect.poll(sweep, { timeout: 20_000 }).not.toContain("marker-of-the-prompt");
    expect(await continuation(first.name)).toEqual({ found: false, refused: "gone" });
  });

  it("R-NEXT-1 a turn of a chat is not one to go on from, and keeps nothing", async () => {
    const chat = { visitor: crypto.randomUUID(), chatId: "chat" };
    const turn: TurnAnswer = await env.VISITOR.getByName(`local/${chat.visitor}`).beginTurn(asking());
    const first = await waitingRun({ chat, runId: turn.begun ? turn.runId : "" });
    expect(await dump(env.RUN.getByName(first.name))).not.toContain("marker-of-the-prompt");
    expect(await continuation(first.name)).toEqual({ found: false, refused: "not_waiting" });
  });

  it("R-NEXT-4 a claimant that was never accepted does not count; one that was stays the only one", async () => {
    const tenant = crypto.randomUUID();
    const first = await waitingRun({ tenant });
    const [never, second, third, fourth] = [named(tenant), named(tenant), named(tenant), named(tenant)];
    const claim = ({ runId }: Named) => env.RUN.getByName(first.name).claim(runId);
    expect(await claim(never)).toBe(true);
    expect(await claim(never)).toBe(true);
    expect(await goOn(third, first.runId, 0)).toEqual({ started: false, refused: "too_many_runs" });
    expect(await goOn(second, first.runId)).toMatchObject({ started: true });
    const refused = { started: false, refused: "conflict", field: "previousRunId" };
    expect(await goOn(third, first.runId, 2)).toEqual(refused);
    expect(await claim(never)).toBe(false);
    // The start that was refused holds no slot.
    const another = await waitingRun({ tenant });
    expect(await goOn(fourth, another.runId, 2)).toMatchObject({ started: true });
    await env.RUN.getByName(second.name).forget();
    await env.RUN.getByName(fourth.name).forget();
    expect(await goOn(second, first.runId)).toEqual(refused);
    expect(await goOn(third, first.runId)).toEqual(refused);
  });

  it("R-NEXT-4 of many claims at the same moment one is granted", async () => {
    const first = await waitingRun();
    const runs = Array.from({ length: 6 }, () => named());
    const answers = await Promise.all(runs.map((run) => goOn(run, first.runId)));
    expect(answers.filter(({ started }) => started)).toHaveLength(1);
    await Promise.all(runs.map(({ name }) => env.RUN.getByName(name).forget()));
  });
});

describe("a run of the layout before", () => {
  /** Takes away what was not there then. */
  const makeOld = (stub: Stub): Promise<void> =>
    runInDurableObject(stub, (_, { storage: { sql } }) => {
      sql.exec("ALTER TABLE run DROP COLUMN continued_by");
      sql.exec("ALTER TABLE run DROP COLUMN told");
      const plan: Record<string, unknown> = JSON.parse(sql.exec<{ plan: string }>("SELECT plan FROM run").one().plan);
      const { agent: _agent, chat: _chat, continues: _continues, policies, asks, ...rest } = plan;
      const { replaces: _replaces, ...oldPolicies } = Object(policies);
      const { clientTools: _clientTools, ...oldAsks } = Object(asks);
      sql.exec("UPDATE run SET plan = ?", JSON.stringify({ ...rest, policies: oldPolicies, asks: oldAsks }));
    });

  it("R-LIFE-1 R-NEXT-1 goes on and ends as it was begun, and nothing goes on from it", async () => {
    const { name, runId } = named();
    await env.RUN.getByName(name).start(planOf(runId, { chain: [demoTarget("demo-silent")] }), 100);
    await makeOld(env.RUN.getByName(name));
    await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("crash"))).rejects.toThrow(
      "crash",
    );
    expect(await env.RUN.getByName(name).state()).toMatchObject({ status: "running", recoveries: 1 });
    const answer = await env.RUN.getByName(name).cancel("enough");
    if (!(answer instanceof Response)) throw new Error("still running");
    expect(await answer.json()).toMatchObject({ outcome: "cancelled", reason: "enough" });
    await evictDurableObject(env.RUN.getByName(name));
    expect(await continuation(name)).toEqual({ found: false, refused: "not_waiting" });
    expect(await env.RUN.getByName(name).claim("x")).toBe(false);
    await env.RUN.getByName(name).forget();
  });

  it("R-LIFE-5 R-NEXT-1 one that ends with calls of the client's keeps no request", async () => {
    const { name, runId } = named();
    const request: RunPlan["request"] = {
      ...planOf(runId).request,
      tools: [{ name: "once", parameters: { type: "object" } }],
    };
    const chain = [demoTarget("demo-silent"), agentTarget()];
    await env.RUN.getByName(name).start(planOf(runId, { chain, request }), 100);
    await makeOld(env.RUN.getByName(name));
    await runInDurableObject(env.RUN.getByName(name), (_, { storage: { sql } }) => {
      const plan: { chain: unknown[] } = JSON.parse(sql.exec<{ plan: string }>("SELECT plan FROM run").one().plan);
      // The first target never answers: the one after it takes the run up.
      sql.exec("UPDATE run SET plan = ?", JSON.stringify({ ...plan, chain: plan.chain.slice(1) }));
    });
    await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("crash"))).rejects.toThrow(
      "crash",
    );
    await env.RUN.getByName(name).state();
    expect(await ended(name)).toMatchObject({ stopReason: "tool_calls", pending: [{ execution: "client" }, {}] });
    expect(await dump(env.RUN.getByName(name))).not.toContain("marker-of-the-prompt");
    expect(await continuation(name)).toEqual({ found: false, refused: "not_waiting" });
  });
});
