// Questions in several steps whose object dies at any await: what is found is shown once, and every reader ends with the same.
import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { AskPlan } from "../../schemas/ask.ts";
import { crashAt, crashes, expectWhole, readThrough, shown, view, type Event } from "./crashing.ts";
import { limits, planOf, researchTarget } from "./plan.ts";

afterEach(() => takeGate(undefined));

const COLLECTION = "research";
const ANSWER = "It is a number [#1].";

const ask: AskPlan = {
  mode: "lexical",
  k: 10,
  scoreGate: 0.3,
  traceId: "ret_0a1b2c3d",
  hits: [],
  used: 0,
  promptVersion: "rag-multi-hop-v2",
  research: {
    collection: COLLECTION,
    question: "What is a cursor?",
    noEvidence: "Nothing.",
    search: {
      query: "What is a cursor?",
      k: 10,
      snippetChars: 220,
      maxTokens: undefined,
      cursor: undefined,
      filters: {
        tags: undefined,
        lang: undefined,
        pathGlob: undefined,
        trustMin: undefined,
        media: undefined,
        ingestedAfter: undefined,
        docId: undefined,
      },
      trace: false,
      staleMs: 0,
      textChars: 32_000,
    },
  },
};

const put = (path: string, source: string) =>
  env.COLLECTION.getByName(`local/${COLLECTION}`).put([
    {
      path,
      docId: "1".repeat(32),
      fingerprint: source,
      media: "markdown",
      words: {},
      source,
      bytes: source.length,
    },
  ]);

const plan = (runId: string, maxRecoveries = limits.maxRecoveries) =>
  planOf(runId, {
    request: {
      schemaVersion: "1.0",
      task: { kind: "text_to_text" },
      messages: [
        { role: "system", content: "rules" },
        { role: "user", content: "What is a cursor?" },
      ],
    },
    chain: [researchTarget()],
    limits: { ...limits, flushMs: 3_600_000, maxRecoveries },
    ask,
  });

/** What readers of kebab's lines get. */
async function linesOf(name: string): Promise<string> {
  const query = { dialect: "kebab", framing: "ndjson", from: "start", waitMs: 0 } as const;
  const answer = await env.RUN.getByName(name).attach(query);
  if (!(answer instanceof Response)) throw new Error(answer.refused);
  return new TextDecoder().decode(await answer.arrayBuffer());
}

/** Starts the run and reads it to its end, with the object dying at `moment`. False: it died before there was a run. */
async function live(name: string, moment: number | string): Promise<Event[] | undefined> {
  crashAt(name, moment);
  try {
    await env.RUN.getByName(name).start(plan(name.slice("local/".length)), 100);
  } catch {
    if ((await view(name)) === undefined) return undefined;
  }
  const seen: Event[] = [];
  await readThrough(name, seen);
  return seen;
}

const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type);

test("R-KB-67 wherever the object dies, what is found is shown once, and before any of the answer", async () => {
  await put("a.md", "# Cursor\n\nA cursor is the number of the last event.");
  const reached = new Set<string>();
  for (let moment = 0; ; moment++) {
    const name = `local/${crypto.randomUUID()}`;
    const seen = await live(name, moment);
    takeGate(undefined);
    const crash = crashes.get(name);
    if (seen !== undefined) {
      expectWhole(seen);
      const late: Event[] = [];
      await readThrough(name, late);
      expectWhole(late);
      for (const events of [seen, late]) {
        const types = typesOf(events);
        expect(
          types.filter((type) => type === "retrieval"),
          crash,
        ).toHaveLength(1);
        expect(types.indexOf("retrieval"), crash).toBeLessThan(types.indexOf("attempt"));
      }
      const { outcome } = late.at(-1)?.payload ?? {};
      if (outcome === "completed") expect(shown(late), crash).toBe(ANSWER);
      else expect(late.at(-1)?.payload["error"], crash).toMatchObject({ details: { code: "interrupted" } });
      const lines = await linesOf(name);
      expect(await linesOf(name)).toBe(lines);
      expect(lines.split('"retrieval_done"'), crash).toHaveLength(2);
      if (outcome === "completed") expect(lines).toContain('"kind":"synthesize"');
    }
    if (crash === undefined) break;
    reached.add(crash);
  }
  console.log(`died at ${[...reached].join(", ")}`);
  for (const step of ["asked", "searched", "research written", "research confirmed"])
    expect([...reached]).toContain(step);
});

test("R-KB-67 what a later try finds counts, and after as many tries as there may be the run ends", async () => {
  await put("a.md", "# Cursor\n\nA cursor is the number of the last event.");
  const name = `local/${crypto.randomUUID()}`;
  const seen = await live(name, "research written");
  expect(crashes.get(name)).toBe("research written");
  expect(typesOf(seen ?? []).filter((type) => type === "retrieval")).toHaveLength(1);
  const other = `local/${crypto.randomUUID()}`;
  crashAt(other, "searched");
  await env.RUN.getByName(other).start(plan(other.slice("local/".length), 0), 100);
  const events: Event[] = [];
  await readThrough(other, events);
  expectWhole(events);
  expect(typesOf(events)).not.toContain("retrieval");
  expect(events.at(-1)?.payload).toMatchObject({ outcome: "error", error: { details: { code: "interrupted" } } });
});
