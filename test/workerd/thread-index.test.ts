// The index of a tenant's threads, and what a death of a thread's object at any of its waits changes: nothing is lost, nothing doubled.
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { ThreadEntry, ThreadSearch } from "../../schemas/thread-index.ts";
import {
  age,
  ai,
  ask,
  begin,
  create,
  ended,
  human,
  ids,
  newRun,
  newsOf,
  newThread,
  patch,
  records,
  recordsOf,
  runs,
  startRun,
  starting,
  turn,
  view,
  viewIf,
} from "./threads.ts";

afterEach(() => takeGate(undefined));

const newTenant = (): string => crypto.randomUUID();
const search = async (tenant: string, fields: Partial<ThreadSearch> = {}): Promise<ThreadEntry[]> =>
  env.THREAD_INDEX.getByName(tenant).search({ metadata: {}, limit: 100, offset: 0, ...fields });
const found = async (tenant: string, fields?: Partial<ThreadSearch>): Promise<string[]> =>
  (await search(tenant, fields)).map(({ threadId }) => threadId);

/** Ends the object of a thread once, at its `moment`-th wait or at the first of that name, and says whether it came to that. */
function crashAt(name: string, moment: number | string): () => boolean {
  let passed = 0;
  let crashed = false;
  takeGate(async (at, state) => {
    if (crashed || state.id.toString() !== env.THREAD.idFromName(name).toString()) return;
    if (passed++ !== moment && at !== moment) return;
    crashed = true;
    state.abort("crash");
    await new Promise(() => undefined);
  });
  return () => crashed;
}

/** Says it again when its object has died. */
async function persistently<T>(say: () => Promise<T>): Promise<T> {
  try {
    return await say();
  } catch {
    return say();
  }
}

it("R-REC-2 R-THR-22 a search whose threads are too large for one answer gives the first of them, and goes on behind them", async () => {
  const tenant = newTenant();
  const names: string[] = [];
  for (let one = 0; one < 16; one++) {
    const { threadId, stub } = newThread(tenant);
    await create(stub(), { note: "я".repeat(1_000_000) });
    names.push(threadId);
  }
  const first = await found(tenant);
  expect(first.length).toBeGreaterThan(5);
  expect(first.length).toBeLessThan(16);
  const rest = await found(tenant, { offset: first.length });
  expect([...first, ...rest].toSorted()).toEqual(names.toSorted());
});

describe("a search", () => {
  it("R-THR-22 gives pinned threads first, then the one that changed last, of those that match", async () => {
    const tenant = newTenant();
    const index = env.THREAD_INDEX.getByName(tenant);
    const entry = (threadId: string, updatedAt: number, fields: Partial<ThreadEntry> = {}): ThreadEntry => ({
      threadId,
      status: "idle",
      createdAt: 0,
      updatedAt,
      metadata: {},
      interrupts: {},
      ...fields,
    });
    expect(await found(tenant)).toEqual([]);
    for (const one of [
      entry("old", 1, { metadata: { deerflow_pinned: true, topic: "rain" } }),
      entry("a", 2, { metadata: { topic: "rain" } }),
      entry("b", 2, { status: "busy" }),
      entry("new", 3, { metadata: { topic: "rain", deerflow_pinned: "yes" } }),
    ]) {
      await index.tell(one.threadId, 1, one);
    }
    expect(await found(tenant)).toEqual(["old", "new", "b", "a"]);
    expect(await found(tenant, { limit: 2, offset: 1 })).toEqual(["new", "b"]);
    expect(await found(tenant, { metadata: { topic: "rain" }, offset: 1 })).toEqual(["new", "a"]);
    expect(await found(tenant, { status: "busy" })).toEqual(["b"]);
    // What comes late says nothing any more.
    await index.tell("b", 3);
    await index.tell("b", 2, entry("b", 9));
    expect(await found(tenant)).toEqual(["old", "new", "a"]);
  });

  it("R-THR-22 finds a thread as it is after each change, and a deleted one no more", async () => {
    const tenant = newTenant();
    const { threadId, stub } = newThread(tenant);
    await create(stub(), { topic: "rain" });
    expect(await search(tenant)).toMatchObject([{ threadId, status: "idle" }]);
    await patch(stub(), { topic: "sun" });
    expect(await found(tenant, { metadata: { topic: "sun" } })).toEqual([threadId]);
    const { runId } = await begin(stub());
    await expect.poll(() => found(tenant, { status: "busy" })).toEqual([threadId]);
    await stub().take(newsOf(runId, [ai("a1")], ended({ title: "Rain" })));
    expect(await search(tenant)).toEqual([await view(stub())]);
    expect(await search(tenant)).toMatchObject([{ title: "Rain", status: "idle" }]);
    await stub().remove();
    expect(await found(tenant)).toEqual([]);
    await turn(stub());
    expect(await found(tenant)).toEqual([threadId]);
  });

  it("R-THR-22 finds what a thread could not tell at first", async () => {
    const tenant = newTenant();
    const { threadId, stub } = newThread(tenant);
    await create(stub());
    const crashed = crashAt(`${tenant}/${threadId}`, "reported");
    await expect(patch(stub(), { topic: "rain" })).rejects.toThrow("crash");
    expect(crashed()).toBe(true);
    await patch(stub(), { other: true });
    expect(await search(tenant)).toEqual([await view(stub())]);
  });

  it("R-THR-9 shows a thread idle whose run was never started, without anybody asking for it", async () => {
    const tenant = newTenant();
    const { threadId, stub } = newThread(tenant);
    await begin(stub());
    await expect.poll(() => found(tenant, { status: "busy" })).toEqual([threadId]);
    await age(stub(), 15_000);
    expect(await runDurableObjectAlarm(stub())).toBe(true);
    await expect.poll(() => found(tenant, { status: "idle" })).toEqual([threadId]);
  });
});

describe("a thread whose object dies", () => {
  /** Two runs, the second in the place of the first; whoever is cut off says it again. */
  async function twoRuns(moment: number): Promise<boolean> {
    const { threadId, stub } = newThread();
    const crashed = crashAt(`local/${threadId}`, moment);
    const [one, two] = [newRun(), newRun()];
    await persistently(() => ask(stub(), starting(one, { input: [human("h1")] })));
    await startRun(one);
    await persistently(async () => stub().take({ runId: one, records: recordsOf([ai("a1")]), through: 0 }));
    const second = persistently(() => ask(stub(), starting(two, { strategy: "interrupt", input: [human("h2")] })));
    await expect.poll(() => env.RUN.getByName(`local/${one}`).word()).toBe("cancelled");
    const news = newsOf(one, [ai("a1"), ai("a2")], ended({ status: "interrupted" }));
    await persistently(async () => stub().take(news));
    expect(await second).toMatchObject({ begun: true, human: human("h2") });
    await persistently(async () => stub().take(newsOf(two, [ai("a3")])));
    takeGate(undefined);
    expect(await records(stub())).toEqual([
      `1 ${one} llm.ai.response`,
      `2 ${one} llm.ai.response`,
      `3 ${one} run.terminal`,
      `4 ${two} llm.ai.response`,
      `5 ${two} run.terminal`,
    ]);
    expect(await ids(stub())).toEqual(["h1", "a1", "a2", "h2", "a3"]);
    expect((await runs(stub())).map(({ runId, status }) => [runId, status])).toEqual([
      [two, "success"],
      [one, "interrupted"],
    ]);
    await runDurableObjectAlarm(stub());
    const listed = (await search("local", { limit: 1000 })).find((entry) => entry.threadId === threadId);
    expect(listed).toEqual(await viewIf(stub()));
    return crashed();
  }

  it("R-THR-10 neither loses nor doubles what its runs say, at whichever of its waits it dies", async () => {
    let moment = 0;
    while (await twoRuns(moment)) moment++;
    expect(moment).toBeGreaterThan(3);
  });

  it("R-THR-9 is not held by a run that it was just taking back", async () => {
    const { threadId, stub } = newThread();
    const { runId } = await begin(stub());
    const crashed = crashAt(`local/${threadId}`, "abandoned");
    const abandon = async (): Promise<void> => stub().abandonRun(runId);
    await expect(abandon()).rejects.toThrow("crash");
    expect(crashed()).toBe(true);
    await age(stub(), 15_000);
    expect(await ask(stub(), starting(newRun()))).toMatchObject({ begun: true, repeat: false });
  });
});
