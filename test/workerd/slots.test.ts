// A tenant's slot of a run whose object dies between the seal and the release: it is free again before anyone learns of the end.
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { StartAnswer } from "../../schemas/attach.ts";
import { newName, planOf, quickTarget } from "./plan.ts";

afterEach(() => takeGate(undefined));

/** Starts a run under a name; the tenant has one slot. */
function start(name: string, tenant: string): Promise<StartAnswer> {
  return env.RUN.getByName(name).start(planOf(name, { tenant, chain: [quickTarget()] }), 1);
}

/** A run whose object dies right after the terminal is on disk. */
async function sealedAndDead(tenant: string): Promise<string> {
  const name = newName();
  let died = false;
  takeGate(async (at, state) => {
    if (at !== "ending" || state.id.toString() !== env.RUN.idFromName(name).toString()) return;
    takeGate(undefined);
    died = true;
    state.abort("crash");
    await new Promise(() => undefined);
  });
  expect(await start(name, tenant)).toMatchObject({ started: true });
  // Polled: a promise resolved by an object that dies would go on inside of it.
  await expect.poll(() => died, { timeout: 20_000 }).toBe(true);
  return name;
}

it("R-START-11 R-LIFE-1 frees the slot of a run that died while it ended, before the end is visible", async () => {
  const tenant = crypto.randomUUID();
  const name = await sealedAndDead(tenant);
  expect(await start(newName(), tenant)).toEqual({ started: false, refused: "too_many_runs" });
  expect(await env.RUN.getByName(name).outcome(0)).toBeInstanceOf(Response);
  const next = newName();
  expect(await start(next, tenant)).toMatchObject({ started: true });
  await env.RUN.getByName(next).forget();
});

it("R-START-11 R-LIFE-1 frees it with nobody asking, and keeps the run", async () => {
  const tenant = crypto.randomUUID();
  const name = await sealedAndDead(tenant);
  expect(await runDurableObjectAlarm(env.RUN.getByName(name))).toBe(true);
  const next = newName();
  expect(await start(next, tenant)).toMatchObject({ started: true });
  await env.RUN.getByName(next).forget();
  // The alarm that stands now is retention's: running it early takes nothing away.
  expect(await runDurableObjectAlarm(env.RUN.getByName(name))).toBe(true);
  expect(await env.RUN.getByName(name).outcome(0)).toBeInstanceOf(Response);
});
