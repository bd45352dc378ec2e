// The dialects' frames: one event each, the stored payload byte for byte, and no line end where there must be none.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LogEntry } from "../../schemas/event.ts";
import { dialects, isDialectId } from "../../src/dialects/index.ts";
import { streamEventJson } from "../../src/dialects/inderun.ts";
import { sseReader } from "../../src/wire/sse-reader.ts";
import { hostile } from "../support/hostile-text.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const { sse, ndjson } = dialects.inderun;
const entry: LogEntry = { sequence: 7, at: 1_780_000_000_000, type: "content_delta", payload: '{"text":"Hé\\n"}' };
const json =
  '{"schemaVersion":"1.0","runId":"run_1","sequence":7,"timestamp":1780000000000,"type":"content_delta","payload":{"text":"Hé\\n"}}';

const entries = fc.record({
  sequence: fc.nat(),
  at: fc.nat(),
  type: fc.constantFrom("content_delta", "diagnostic", "terminal"),
  payload: fc.dictionary(hostile, fc.oneof(hostile, fc.jsonValue())).map((payload) => JSON.stringify(payload)),
});

const run = (runId: string) => ({ runId, startedAt: 0 });

test("R-READ-1 an SSE frame is one id line and one data line", () => {
  expect(sse.encoder(run("run_1"))(entry)).toBe(`id: 7\ndata: ${json}\n\n`);
  expect(sse.contentType).toBe("text/event-stream; charset=utf-8");
});

test("R-READ-4 an NDJSON frame is one line", () => {
  expect(ndjson.encoder(run("run_1"))(entry)).toBe(`${json}\n`);
  expect(ndjson.contentType).toBe("application/x-ndjson");
});

test("R-READ-8 the preamble is a retry line without a blank line; heartbeats read as nothing", () => {
  expect([sse.preamble, sse.heartbeat, ndjson.preamble, ndjson.heartbeat]).toEqual([
    "retry: 1000\n",
    ": hb\n",
    "",
    " ",
  ]);
  const reader = sseReader(1000);
  const wire =
    sse.preamble + sse.heartbeat + sse.encoder(run("r"))(entry) + sse.heartbeat + sse.encoder(run("r"))(entry);
  expect(reader.feed(toBytes(wire))).toHaveLength(2);
  for (const line of (ndjson.heartbeat + ndjson.encoder(run("r"))(entry)).trimEnd().split("\n")) {
    expect(JSON.parse(line)).toMatchObject({ sequence: 7 });
  }
});

describe("R-READ-1 R-LOG-5 whatever an event holds", () => {
  // T82
  test("its payload goes out byte for byte, and no CR or LF stands inside a data line", () => {
    fc.assert(
      fc.property(hostile, entries, (runId, logged) => {
        const text = streamEventJson(runId)(logged);
        expect(text).not.toMatch(/[\r\n]/);
        expect(text.endsWith(`"payload":${logged.payload}}`)).toBe(true);
        const { sequence, at, type, payload } = logged;
        expect(JSON.parse(text)).toEqual({
          schemaVersion: "1.0",
          runId,
          sequence,
          timestamp: at,
          type,
          payload: JSON.parse(payload),
        });
        expect(sse.encoder(run(runId))(logged)).toBe(`id: ${sequence}\ndata: ${text}\n\n`);
        expect(ndjson.encoder(run(runId))(logged)).toBe(`${text}\n`);
      }),
      { numRuns: 1000 },
    );
  });

  test("a reader gets the same events back, in the same number", () => {
    fc.assert(
      fc.property(fc.array(entries, { maxLength: 8 }), (log) => {
        const reader = sseReader(10_000_000);
        const wire = sse.preamble + log.map((logged) => sse.heartbeat + sse.encoder(run("run"))(logged)).join("");
        expect([...reader.feed(toBytes(wire)), ...reader.end()]).toEqual(
          log.map((logged) => ({ id: String(logged.sequence), data: streamEventJson("run")(logged) })),
        );
      }),
      { numRuns: 500 },
    );
  });

  test("the frames of a log's rest are the rest of the log's frames", () => {
    fc.assert(
      fc.property(fc.array(entries, { maxLength: 8 }), fc.nat({ max: 8 }), (log, after) => {
        for (const dialect of [sse, ndjson]) {
          const frames = log.map((logged) => dialect.encoder(run("run"))(logged));
          expect(log.slice(after).map((logged) => dialect.encoder(run("run"))(logged))).toEqual(frames.slice(after));
        }
      }),
      { numRuns: 100 },
    );
  });
});

test("R-READ-12 only a dialect's own name names it", () => {
  expect(["inderun", "", "INDERUN", "toString", "__proto__", "sse"].map(isDialectId)).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});
