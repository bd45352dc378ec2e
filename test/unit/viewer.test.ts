// What a reader of a dialect that cannot replace text is told, at every cursor: after a crash, a retraction, and damage. The log is scripted.
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ownFrames, sharedFrames } from "../../durable-objects/frames.ts";
import type { RunLog } from "../../durable-objects/run-log.ts";
import { viewerStream } from "../../durable-objects/viewer.ts";
import type { Draft, LogEntry } from "../../schemas/event.ts";
import { deerflowSse } from "../../src/dialects/deerflow.ts";
import type { Dialect, EntryDialect } from "../../src/dialects/dialect.ts";
import { indeRunSse } from "../../src/dialects/inderun.ts";
import { svedaSse } from "../../src/dialects/sveda.ts";
import { damagedLog, goneLog, replacedText } from "../../src/run/reader-faults.ts";
import { completed, logOf, turnRun } from "./sveda/turns.ts";

const damage = damagedLog("sv_1");
const replaced = replacedText("sv_1");

/** A finished log, in small pages; what is damaged cannot be read. */
function finished(entries: readonly LogEntry[], damagedPart?: { from: number; to: number }): RunLog {
  return {
    visibleTo: entries.length - 1,
    sealed: true,
    gone: false,
    append: () => undefined,
    durable: async () => undefined,
    settled: async () => undefined,
    page(after) {
      const hurt = damagedPart !== undefined && after + 1 >= damagedPart.from && after < damagedPart.to;
      if (hurt) return { damagedTo: damagedPart.to };
      const end = damagedPart !== undefined && after < damagedPart.from ? damagedPart.from : entries.length;
      return { entries: entries.slice(after + 1, Math.min(after + 4, end)) };
    },
    changed: () => new Promise(() => undefined),
    discard: () => undefined,
  };
}

const options = (log: RunLog, dialect: Dialect, heartbeatMs = 60_000) => ({
  log,
  dialect,
  heartbeatMs,
  damage,
  gone: goneLog("sv_1"),
  replaced,
  onClose: () => undefined,
});

const open = (log: RunLog, dialect: EntryDialect, cursor: number, heartbeatMs?: number): ReadableStream<Uint8Array> =>
  viewerStream({
    ...options(log, dialect, heartbeatMs),
    frames: sharedFrames(turnRun)(dialect),
    cursor,
    opening: "",
  });

const read = (log: RunLog, dialect: EntryDialect, cursor: number): Promise<string> =>
  new Response(open(log, dialect, cursor)).text();

const text = (value: string): Draft => ({ type: "content_delta", payload: { text: value } });
const restated = (value: string, releasedFrom: number): Draft[] => [
  { type: "diagnostic", payload: { code: "sequence_released" } },
  { type: "diagnostic", payload: { code: "sequence_released" } },
  { type: "content_snapshot", payload: { text: value, reasoning: "", releasedFrom } },
];

/** Stretches of text, some of them ended by a crash that voids two numbers. */
const crashes = fc
  .array(fc.record({ texts: fc.array(fc.string(), { maxLength: 4 }), crashed: fc.boolean() }), { maxLength: 4 })
  .map((stretches) => {
    const log: Draft[] = [];
    let shown = "";
    for (const { texts, crashed } of stretches) {
      log.push(...texts.map(text));
      shown += texts.join("");
      if (crashed) log.push(...restated(shown, log.length));
    }
    return [...log, completed({ finalText: shown })];
  });

/** The frames that a reader with this cursor is due. */
function due(entries: readonly LogEntry[], cursor: number): string {
  const encode = svedaSse.encoder(turnRun);
  let wire = svedaSse.preamble;
  for (const entry of entries.slice(cursor + 1)) {
    const snapshot: { releasedFrom?: number } =
      entry.type === "content_snapshot" ? JSON.parse(entry.payload) : { releasedFrom: Number.POSITIVE_INFINITY };
    if (cursor >= (snapshot.releasedFrom ?? -1)) return wire + svedaSse.failure(replaced);
    wire += encode(entry);
  }
  return wire;
}

describe("R-DIAL-2 a reader that cannot replace text", () => {
  test("after crashes, at every cursor: all frames, or the failure when it has seen what was voided", async () => {
    await fc.assert(
      fc.asyncProperty(crashes, async (drafts) => {
        const entries = logOf(drafts);
        for (let cursor = -1; cursor < entries.length - 1; cursor++) {
          expect(await read(finished(entries), svedaSse, cursor)).toBe(due(entries, cursor));
        }
      }),
      { numRuns: 150 },
    );
  });

  test("a text that comes at once, with nothing shown before it, is text", async () => {
    const whole: Draft = { type: "content_snapshot", payload: { text: "All of it." } };
    const entries = logOf([{ type: "lifecycle", payload: { phase: "started" } }, whole, completed()]);
    const frames = entries.map(svedaSse.encoder(turnRun));
    expect(frames[1]).toContain('"type":"text.delta","delta":"All of it."');
    for (let cursor = -1; cursor < entries.length - 1; cursor++) {
      expect(await read(finished(entries), svedaSse, cursor)).toBe(
        svedaSse.preamble + frames.slice(cursor + 1).join(""),
      );
    }
    const twice = logOf([whole, { type: "content_snapshot", payload: { text: "Else." } }, completed()]);
    const told = svedaSse.preamble + twice.slice(0, 1).map(svedaSse.encoder(turnRun)).join("");
    expect(await read(finished(twice), svedaSse, -1)).toBe(told + svedaSse.failure(replaced));
  });

  test("a retraction is its end, whatever the run goes on to say", async () => {
    const entries = logOf([
      text("wrong"),
      { type: "content_snapshot", payload: { text: "" } },
      text("right"),
      completed(),
    ]);
    const [first] = entries.map(svedaSse.encoder(turnRun));
    const { preamble } = svedaSse;
    expect(await read(finished(entries), svedaSse, -1)).toBe(preamble + first + svedaSse.failure(replaced));
    expect(await read(finished(entries), svedaSse, 0)).toBe(preamble + svedaSse.failure(replaced));
    const after = await read(finished(entries), svedaSse, 1);
    expect(after).toContain('"delta":"right"');
    expect(after).not.toContain('"error"');
  });

  test("one that can is shown every snapshot", async () => {
    const entries = logOf([
      text("a"),
      ...restated("a", 1),
      { type: "content_snapshot", payload: { text: "" } },
      completed(),
    ]);
    const encode = indeRunSse.encoder(turnRun);
    for (let cursor = -1; cursor < entries.length - 1; cursor++) {
      const rest = entries
        .slice(cursor + 1)
        .map(encode)
        .join("");
      expect(await read(finished(entries), indeRunSse, cursor)).toBe(indeRunSse.preamble + rest);
    }
  });
});

test("R-DIAL-3 R-DUR-8 after damage only readers that can replace text are told how the run ended", async () => {
  const entries = logOf([text("a"), text("b"), text("c"), text("d"), completed()]);
  const log = finished(entries, { from: 1, to: 2 });
  const sveda = svedaSse.encoder(turnRun);
  const native = indeRunSse.encoder(turnRun);
  expect(await read(log, svedaSse, -1)).toBe(
    svedaSse.preamble + entries.slice(0, 1).map(sveda).join("") + svedaSse.failure(damage),
  );
  expect(await read(log, indeRunSse, -1)).toBe(
    indeRunSse.preamble +
      entries.slice(0, 1).map(native).join("") +
      indeRunSse.failure(damage) +
      entries.slice(4).map(native).join(""),
  );
});

describe("R-DIAL-6 a reader of frames that are made of the whole log", () => {
  const entries = logOf([text("a"), text("b"), text("c"), text("d"), completed()]);
  const readFrames = (log: RunLog, id: string): Promise<string> => {
    const reading = deerflowSse.follow(turnRun, { id }, log.visibleTo, entries);
    return new Response(
      viewerStream({
        ...options(log, deerflowSse),
        frames: ownFrames(reading),
        cursor: -1,
        opening: reading.opening,
      }),
    ).text();
  };

  test("has all of them, or those after the one that it has seen", async () => {
    const whole = await readFrames(finished(entries), "-1");
    expect(whole.startsWith(`${deerflowSse.preamble}event: metadata\n`)).toBe(true);
    expect(whole.endsWith("event: end\ndata: null\n\n")).toBe(true);
    for (const id of ["0-0", "1-0", "1-1", "4-0", "5-0"]) {
      const rest = whole.slice(whole.indexOf(`\nid: ${id}\n\n`) + `\nid: ${id}\n\n`.length);
      expect(await readFrames(finished(entries), id)).toBe(deerflowSse.preamble + rest);
    }
  });

  test("is told of damage, and then how the run ended", async () => {
    const wire = await readFrames(finished(entries, { from: 1, to: 2 }), "-1");
    expect(wire.match(/^event: .*$/gm)).toEqual(
      ["metadata", "values", "messages", "error", "custom", "end"].map((name) => `event: ${name}`),
    );
    expect(wire).toContain(damage.message);
  });

  test("has large frames one after the other, however many entries a page of the log has", async () => {
    const large = "x".repeat(100_000);
    const log = logOf([...Array.from({ length: 20 }, () => text(large)), completed()]);
    const reading = deerflowSse.follow(turnRun, "nothing", log.length, log);
    const stream = viewerStream({
      ...options({ ...finished(log), page: (after) => ({ entries: log.slice(after + 1) }) }, deerflowSse),
      frames: ownFrames(reading),
      cursor: -1,
      opening: reading.opening,
    });
    const sizes: number[] = [];
    let wire = "";
    for await (const bytes of stream) {
      sizes.push(bytes.length);
      wire += new TextDecoder().decode(bytes);
    }
    expect(wire).toBe(await readFrames(finished(log), "-1"));
    expect(Math.max(...sizes.slice(0, -1))).toBeLessThan(2 * large.length);
  });

  test("keeps the bytes that other dialects' readers share", () => {
    const shared = sharedFrames(turnRun);
    expect(shared(svedaSse).bytes(entries).frames).toBe(shared(svedaSse).bytes([...entries]).frames);
    expect(shared(indeRunSse)).not.toBe(shared(svedaSse));
  });
});

describe("while a run says nothing that the dialect shows", () => {
  afterEach(() => vi.useRealTimers());

  test("R-READ-8 heartbeats go on, and no empty write is made", async () => {
    vi.useFakeTimers();
    const entries: LogEntry[] = [];
    let wake = Promise.withResolvers<void>();
    const log: RunLog = {
      ...finished(entries),
      get visibleTo() {
        return entries.length - 1;
      },
      get sealed() {
        return entries.at(-1)?.type === "terminal";
      },
      page: (after) => ({ entries: entries.slice(after + 1) }),
      changed: () => wake.promise,
    };
    const append = (draft: Draft): void => {
      const [entry] = logOf([draft]);
      if (entry !== undefined) entries.push({ ...entry, sequence: entries.length });
      wake.resolve();
      wake = Promise.withResolvers<void>();
    };
    const seen: string[] = [];
    const decoder = new TextDecoder();
    const reading = open(log, svedaSse, -1, 1000).pipeTo(
      new WritableStream({ write: (piece) => void seen.push(decoder.decode(piece)) }),
    );
    // A long input of a tool call, in pieces, of which this dialect shows none.
    for (let piece = 0; piece < 50; piece++) {
      append({ type: "tool_call_delta", payload: { toolCallId: "t", inputText: "x" } });
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(seen.join("")).toBe(svedaSse.preamble + svedaSse.heartbeat.repeat(5));
    append(completed());
    await vi.advanceTimersByTimeAsync(0);
    await reading;
    expect(seen.at(-1)).toContain("data: [DONE]");
    expect(seen).not.toContain("");
  });

  test("R-READ-8 heartbeats go on when the time is set back", async () => {
    vi.useFakeTimers();
    let wake = Promise.withResolvers<void>();
    const log: RunLog = { ...finished([]), sealed: false, changed: () => wake.promise };
    const seen: string[] = [];
    const decoder = new TextDecoder();
    const over = new AbortController();
    const reading = open(log, svedaSse, -1, 1000).pipeTo(
      new WritableStream({ write: (piece) => void seen.push(decoder.decode(piece)) }),
      { signal: over.signal },
    );
    await vi.advanceTimersByTimeAsync(1500);
    vi.setSystemTime(Date.now() - 3_600_000);
    // By something that this dialect does not show.
    wake.resolve();
    wake = Promise.withResolvers<void>();
    await vi.advanceTimersByTimeAsync(2000);
    expect(seen.join("")).toBe(svedaSse.preamble + svedaSse.heartbeat.repeat(3));
    over.abort();
    await expect(reading).rejects.toThrow("aborted");
  });
});
