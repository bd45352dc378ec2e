// Ingests that are runs, wherever the objects die: the documents are kept whole or not at all, and the run says which.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as v from "valibot";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { IngestRun, NewDocument } from "../../schemas/collection.ts";
import { progressLineSchema } from "../../schemas/dialects/kebab-documents.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import { crashAt, crashes, expectWhole, readThrough, view, type Event } from "./crashing.ts";
import { limits, newName, planOf } from "./plan.ts";

afterEach(() => takeGate(undefined));

const document = (path: string, source: string, fingerprint = `${path} ${source}`): NewDocument => ({
  path,
  docId: "0".repeat(32),
  fingerprint,
  media: "markdown",
  words: {},
  source,
  bytes: source.length,
});
const documents = [document("a.md", "# A\n\nalpha"), document("b.md", "# B\n\nbeta")];

function ingestRun(fields: Partial<RunPlan> = {}, leaseMs = 30_000) {
  const name = newName();
  const runId = name.slice("local/".length);
  const collection = `c-${runId}`;
  const order: IngestRun = { tenant: "local", runId, collection, leaseMs };
  const plan = planOf(runId, {
    chain: [],
    push: { leaseMs },
    ingest: { collection, documents: documents.length },
    limits: { ...limits, maxOutputBytes: 1_000_000 },
    ...fields,
  });
  const keeper = () => env.COLLECTION.getByName(`local/${collection}`);
  const run = () => env.RUN.getByName(name);
  return {
    name,
    keeperName: `local/${collection}`,
    run,
    keeper,
    start: (): Promise<unknown> => run().start(plan, 100),
    ingest: async (given = documents): Promise<void> => keeper().ingest(order, given),
    kept: async (): Promise<number> => (await keeper().breakdown(0)).documents,
    cancel: async (): Promise<unknown> => run().cancel("enough"),
    notes: (): Promise<number> =>
      runInDurableObject(keeper(), (_, { storage }) => {
        const there = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'ingest_note'").toArray().length;
        return there === 0 ? 0 : Number(storage.sql.exec("SELECT COUNT(*) AS n FROM ingest_note").one()["n"]);
      }),
    async lines(): Promise<unknown[]> {
      const answer = await run().attach({ dialect: "kebab", framing: "ndjson", from: "start", waitMs: 0 });
      if (!(answer instanceof Response)) throw new Error(answer.refused);
      const text = await answer.text();
      return text.split("\n").flatMap((line): unknown => (line.trim() === "" ? [] : [JSON.parse(line)]));
    },
    async events(): Promise<Event[]> {
      const seen: Event[] = [];
      await readThrough(name, seen);
      return seen;
    },
  };
}

/** Holds the collection's object at this step until the function that comes back is called. */
function holdAt(step: string): { reached: Promise<void>; goOn: () => void } {
  const reached = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  takeGate(async (at) => {
    if (at !== step) return;
    reached.resolve();
    await open.promise;
  });
  return { reached: reached.promise, goOn: open.resolve };
}

const linesOf = (events: readonly Event[]) =>
  events.flatMap(({ payload }) => v.parse(v.array(progressLineSchema), payload["progress"] ?? []));

const endOf = (events: readonly Event[]): unknown => events.at(-1)?.payload["outcome"];

describe("an ingest whose collection's object dies", () => {
  it("R-KB-56 keeps all or nothing, and the run says which, at whichever await that is", async () => {
    const reached: Record<string, unknown> = {};
    for (let moment = 0; ; moment++) {
      const made = ingestRun({}, 400);
      await made.start();
      crashAt(made.keeperName, moment, env.COLLECTION);
      await made.ingest();
      const events = await made.events();
      takeGate(undefined);
      expectWhole(events);
      expect(await made.kept()).toBe(endOf(events) === "completed" ? 2 : 0);
      const crash = crashes.get(made.keeperName);
      if (crash === undefined) break;
      reached[crash] = endOf(events);
      if (endOf(events) === "error") {
        expect(events.at(-1)?.payload["error"]).toMatchObject({ details: { code: "producer_lost" }, retryable: true });
      }
    }
    expect(reached).toEqual({
      "ingest ready": "error",
      "ingest written": "error",
      "ingest confirmed": "completed",
      "ingest told": "completed",
    });
  });

  it("R-KB-56 its alarm tells the run that the documents are kept, and then nothing is left to tell", async () => {
    const made = ingestRun();
    await made.start();
    crashAt(made.keeperName, "ingest confirmed", env.COLLECTION);
    await made.ingest();
    await expect.poll(() => crashes.get(made.keeperName)).toBe("ingest confirmed");
    takeGate(undefined);
    expect(await made.notes()).toBe(1);
    expect(await view(made.name)).toMatchObject({ status: "running" });
    expect(await runDurableObjectAlarm(made.keeper())).toBe(true);
    const events = await made.events();
    expectWhole(events);
    expect(JSON.parse(String(events.at(-1)?.payload["finalText"]))).toMatchObject({ new: 2, scanned: 2 });
    expect(await made.notes()).toBe(0);
  });
});

it("R-KB-56 an ingest goes on when its run's object dies, and nothing is told twice", async () => {
  const made = ingestRun();
  await made.start();
  const held = holdAt("ingest ready");
  await made.ingest();
  await held.reached;
  await runInDurableObject(made.run(), (_, state) => state.abort("crash")).catch(() => undefined);
  held.goOn();
  const events = await made.events();
  expectWhole(events);
  expect(endOf(events)).toBe("completed");
  expect(linesOf(events).map(({ kind }) => kind)).toEqual([
    "scan_started",
    "scan_completed",
    ...documents.flatMap(() => ["asset_started", "asset_chunked"]),
    ...documents.map(() => "asset_finished"),
    "completed",
  ]);
});

describe("a run that is deleted", () => {
  const many = Array.from({ length: 1500 }, (_, index) =>
    document(`a/long/path/of/document/${index}.md`, `# ${index}`),
  );

  it("R-DELETE-1 tells a reader that has stalled that there is no more", async () => {
    const made = ingestRun();
    await made.start();
    const answer = await made.run().attach({ dialect: "kebab", framing: "ndjson", from: "start", waitMs: 0 });
    if (!(answer instanceof Response)) throw new Error(answer.refused);
    await made.ingest(many);
    await expect.poll(() => made.run().word()).toBe("completed");
    expect(await made.run().forget()).toBe("forgotten");
    const last: unknown = JSON.parse((await answer.text()).trimEnd().split("\n").at(-1) ?? "");
    expect(last).toMatchObject({ schema_version: "error.v1", code: "generic" });
  });

  it("R-DELETE-1 stays as long as its collection does not say what became of the documents", async () => {
    const made = ingestRun();
    await made.start();
    const open = Promise.withResolvers<void>();
    const held = runInDurableObject(made.keeper(), (_, state) => state.blockConcurrencyWhile(() => open.promise));
    expect(await made.run().forget()).toBe("untold");
    open.resolve();
    await held;
    expect(await made.run().forget()).toBe("forgotten");
    await made.ingest();
    expect(await made.kept()).toBe(0);
  });
});

describe("a cancel", () => {
  it("R-KB-55 before the documents are written leaves none", async () => {
    const made = ingestRun();
    await made.start();
    const held = holdAt("ingest ready");
    await made.ingest();
    await held.reached;
    await made.cancel();
    held.goOn();
    const events = await made.events();
    expect(events.at(-1)?.payload).toMatchObject({ outcome: "cancelled", reason: "enough" });
    const lines = await made.lines();
    expect(lines.slice(-2)).toMatchObject([
      { kind: "aborted", counts: { scanned: 2, new: 0, updated: 0, chunks_indexed: 0 } },
      { schema_version: "error.v1", code: "generic", details: { reason: "cancelled" }, sequence: events.length - 1 },
    ]);
    expect(await made.kept()).toBe(0);
  });

  it("R-KB-55 that comes before the documents do lets none of them in", async () => {
    const made = ingestRun();
    await made.start();
    await made.cancel();
    await made.ingest();
    expect(endOf(await made.events())).toBe("cancelled");
    expect(await made.kept()).toBe(0);
  });

  it("R-KB-55 once they are kept finds the run completed", async () => {
    const made = ingestRun();
    await made.start();
    const held = holdAt("ingest confirmed");
    await made.ingest();
    await held.reached;
    const cancelled = made.cancel();
    held.goOn();
    const outcome = await cancelled;
    if (!(outcome instanceof Response)) throw new Error("a run has an outcome");
    expect(await outcome.json()).toMatchObject({ outcome: "completed" });
    expect(await made.kept()).toBe(2);
  });

  it("R-KB-55 R-CLOCK-2 is asked for by the total clock too", async () => {
    const made = ingestRun({ totalMs: 300 });
    await made.start();
    const held = holdAt("ingest ready");
    await made.ingest();
    await held.reached;
    const events = await made.events();
    held.goOn();
    expect(events.at(-1)?.payload["error"]).toMatchObject({ errorClass: "Timeout" });
    expect(await made.kept()).toBe(0);
  });
});

it("R-KB-54 a collection that refuses the documents ends the run with the reason", async () => {
  const made = ingestRun();
  await made.start();
  await made.ingest([document("large.md", "word ".repeat(4), "x"), document("many.md", "# H\n\n".repeat(20_001))]);
  expect((await made.events()).at(-1)?.payload["error"]).toMatchObject({
    errorClass: "CapabilityMismatch",
    details: { code: "too_many_chunks", doc_path: "many.md", limit: 20_000 },
  });
  expect(await made.kept()).toBe(0);
});

it("R-KB-50 documents that are all kept already write nothing", async () => {
  const made = ingestRun();
  await made.keeper().put(documents);
  const rows = () =>
    runInDurableObject(made.keeper(), async (_, { storage }) => [
      storage.sql.exec("SELECT revision FROM collection").one()["revision"],
      await storage.getAlarm(),
    ]);
  const before = await rows();
  await made.start();
  await made.ingest();
  const events = await made.events();
  expect(JSON.parse(String(events.at(-1)?.payload["finalText"]))).toMatchObject({ unchanged: 2, new: 0 });
  expect(await rows()).toEqual(before);
});

it("R-KB-57 R-FEED-8 only the collection tells the run", async () => {
  const made = ingestRun();
  await made.start();
  const answer: unknown = await made.run().push({ epoch: 9, sequence: 0, events: [] });
  expect(answer).toEqual({ taken: false, refused: "not_pushed" });
  await made.cancel();
});

it("R-KB-58 a search that comes while documents are cut is answered before they are kept", async () => {
  const made = ingestRun();
  await made.keeper().put([document("first.md", "# First\n\nneedle")]);
  const many = Array.from({ length: 16 }, (_, index) => document(`${index}.md`, "# H\n\nword ".repeat(8192)));
  const order: string[] = [];
  const put = made.keeper().put(many);
  const put1 = put.then(() => order.push("kept"));
  const search = made.keeper().page("", 1);
  await Promise.all([put1, search.then((page) => order.push(`${page?.stats.documents} there`))]);
  expect(order).toEqual(["1 there", "kept"]);
});
