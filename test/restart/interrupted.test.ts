// The whole server is killed in the middle of runs and started again on the same storage. Every run is recovered: what a
// reader had is still there or voided by name, all readers end with the same text, and the run goes on as its policy says.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { draws } from "../crash/draws.ts";
import { again, allPolicies, momentAfter, moments, type Moment, type Policies } from "../crash/moments.ts";
import { eventsIn, expectKept, expectRestated, expectUntouched, expectWhole, receivedIn } from "../crash/promises.ts";
import { startWorkerd } from "../crash/workerd-server.ts";
import { post, shownText, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider, type ProviderCall } from "../support/fault-provider/server.ts";
import { startHoldfast } from "../support/holdfast-server.ts";
import { follow, type RunReader } from "../support/run-reader.ts";
import { anthropic, openAi, pathOf, scriptedConfig } from "../support/scripted-targets.ts";

const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 1_000_000));
const draw = draws(seed);
const atRandom = (): Moment => momentAfter(draw(6, 400));

let provider: FaultProvider;
let server: { origin: string; kill(): Promise<void>; start(): Promise<void>; stop(): Promise<void> };
let answers: Moment["answers"];

/** The run that a call belongs to travels in its prompt. */
const callsOf = (name: string, target: "a" | "b"): ProviderCall[] =>
  provider.calls(paths[target]).filter(({ body }) => body.includes(`"${promptOf(name)}"`));
const promptOf = (name: string): string => `Prompt of ${name}.`;
const paths = { a: pathOf(openAi), b: pathOf(anthropic, "b") };

beforeAll(async () => {
  console.log(`random moments of this run: TEST_SEED=${seed}`);
  provider = await startFaultProvider();
  for (const target of ["a", "b"] as const) {
    provider.on(paths[target], ({ body, index }) => {
      const name = /Prompt of ([^"]*)\./.exec(body)?.[1] ?? "";
      return answers(target, callsOf(name, target).filter((call) => call.index < index).length);
    });
  }
});
afterAll(() => provider.stop());

/** One slot per policy: runs that kept theirs over a restart would refuse those of the next moment. */
const config = (): unknown => scriptedConfig(provider.origin, { limits: { maxActiveRuns: 4, heartbeatMs: 300 } });

const runs = () => `${server.origin}/v1/runs`;

interface Life {
  name: string;
  policy: Policies;
  body: unknown;
  key: Record<string, string>;
  reader: RunReader;
}

async function liveUntilKill(moment: Moment, policy: Policies): Promise<Life> {
  const { onMidStreamFailure, durability } = policy;
  const name = `${moment.name}, ${onMidStreamFailure}, ${durability}, ${provider.calls().length}`;
  const key = { "idempotency-key": name.replaceAll(" ", "-") };
  const body = startBody({ prompt: promptOf(name), targets: ["openai-a", "anthropic-b"], ...policy });
  const reader = await follow(runs(), { body, headers: key });
  await moment.wait(reader, (target) => callsOf(name, target));
  return { name, policy, body, key, reader };
}

/** Bytes of events and outcome, content of the state, by URL. */
type Settled = Map<string, string>;

async function afterTheKill(moment: Moment, life: Life, settled: Settled): Promise<void> {
  const { name, policy, body, key, reader } = life;
  const { target, shown } = moment;
  const goesOn = !shown || policy.onMidStreamFailure === "retract";
  const seen = receivedIn(reader.raw());
  const url = `${runs()}/${reader.runId}`;
  const [live] = callsOf(name, target);
  expect((await live?.closed)?.how).toMatch(/fin|rst/);

  // The first thing the server hears of the run is a repeat of its start for some, a reader with its cursor for others.
  const repeat = async () => {
    const response = await post(runs(), body, { ...key, accept: "text/event-stream" });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-run-id")).toBe(reader.runId);
    return receivedIn(await response.text());
  };
  const comeBack = async () => {
    const last = seen.at(-1)?.event.sequence ?? -1;
    const onward = await follow(`${url}/events`, { headers: { "last-event-id": String(last) } });
    expect(onward.response.status).toBe(200);
    await onward.rest();
    return receivedIn(onward.raw());
  };
  const repeatFirst = policy.durability === "standard";
  const [one, two] = repeatFirst ? [await repeat(), await comeBack()] : [await comeBack(), await repeat()];
  const [standing, onward] = repeatFirst ? [one, two] : [two, one];

  const collected = [...seen, ...onward];
  const events = eventsIn(standing);
  expectWhole(eventsIn(collected));
  expectWhole(events);
  expectKept(seen, standing);
  expect(onward).toEqual(standing.slice(seen.length));
  const ranges = expectRestated(events);
  if (policy.durability === "strict") expectUntouched(seen, standing);
  else expect(ranges).toHaveLength(1);
  expect(shownText(eventsIn(collected))).toBe(shownText(events));
  expect(events.some(({ type }) => type === "tool_call")).toBe(false);

  const outcome = events.at(-1)?.payload;
  const attempts = events.filter(({ type }) => type === "attempt").map(({ payload }) => payload);
  const { a, b } = { a: callsOf(name, "a"), b: callsOf(name, "b") };
  if (goesOn) {
    expect(outcome).toMatchObject({ outcome: "completed", finalText: again.join("") });
    expect([a.length, b.length]).toEqual(target === "a" ? [2, 0] : [1, 2]);
    const [first, second] = target === "a" ? a : b;
    expect(second?.body).toBe(first?.body);
    const targetId = target === "a" ? "openai-a" : "anthropic-b";
    const [ended, resumed] = attempts.slice(-3);
    expect(ended).toMatchObject({ targetId, phase: "superseded" });
    expect(resumed).toMatchObject({ targetId, phase: "started", attempt: Number(ended?.["attempt"]) + 1 });
  } else {
    expect(outcome).toMatchObject({
      outcome: "error",
      error: {
        errorClass: "Unavailable",
        retryable: true,
        details: { code: "interrupted", failureClass: "interrupted" },
      },
      provenance: { attempts: [{ targetId: "openai-a", status: "failed", failureClass: "interrupted" }] },
    });
    const partial = String(outcome?.["partialText"]);
    expect(moment.text?.startsWith(partial)).toBe(true);
    // A strict run has lost nothing of what it showed.
    if (policy.durability === "strict") expect(partial.startsWith(shownText(eventsIn(seen)))).toBe(true);
    expect([a.length, b.length]).toEqual([1, 0]);
  }

  expect(await (await fetch(`${url}/outcome`)).text()).toBe(JSON.stringify(outcome));
  const state = await (await fetch(url)).json();
  expect(state).toMatchObject({ status: outcome?.["outcome"], lastSequence: events.length - 1, recoveries: 1 });
  expect(await (await post(`${url}/cancel`, { reason: "late" })).json()).toEqual(outcome);
  for (const suffix of ["/events", "/outcome", ""]) {
    settled.set(url + suffix, await (await fetch(url + suffix)).text());
  }
}

describe.each([
  // The bare runtime starts at once, so that it can be killed at many moments.
  {
    kind: "workerd",
    start: () => startWorkerd(config()),
    moments: [...moments, ...Array.from({ length: 8 }, atRandom)],
  },
  {
    kind: "wrangler dev",
    start: () => startHoldfast({ config: config() }),
    moments: [...moments.slice(0, 1), atRandom()],
  },
])("$kind", (described) => {
  const settled: Settled = new Map();

  beforeAll(async () => {
    server = await described.start();
  });
  afterAll(() => server.stop());

  test.each(described.moments)(
    "R-LIFE-1 R-LIFE-2 R-DUR-2 R-DUR-4 R-DUR-5 R-DUR-7 R-NAME-2 killed $name: gapless, one text, one end",
    async (moment) => {
      answers = moment.answers;
      const { policies = allPolicies } = moment;
      const lives = await Promise.all(policies.map((policy) => liveUntilKill(moment, policy)));
      await server.kill();
      await Promise.all(lives.map(async ({ reader }) => expect(reader.rest()).rejects.toThrow()));
      await server.start();
      try {
        for (const life of lives) await afterTheKill(moment, life, settled);
      } finally {
        // A run that went wrong must not keep its slot; one that has ended does not change.
        for (const { reader } of lives) await post(`${runs()}/${reader.runId}/cancel`, {});
      }
    },
  );

  test("R-LIFE-3 what was recovered and ended is unchanged by further restarts, and no provider hears of it", async () => {
    expect(settled.size).toBeGreaterThan(0);
    const calls = provider.calls().length;
    await server.kill();
    await server.start();
    for (const [url, body] of settled) {
      const now = await (await fetch(url)).text();
      if (url.endsWith("/events") || url.endsWith("/outcome")) expect(now, url).toBe(body);
      else expect(JSON.parse(now), url).toEqual(JSON.parse(body));
    }
    expect(provider.calls()).toHaveLength(calls);
  });
});
