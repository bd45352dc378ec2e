// How the console's ask view follows a stream of lines, against a scripted kebab server on loopback: cuts, repeats, refusals, plain answers.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { followLines, type Following, type LineNotice, type LineStart } from "../../src/console/ask/follow-lines.ts";
import { createKebabApi, type KebabApi } from "../../src/console/ask/kebab-api.ts";
import { textIn } from "../../src/console/fields.ts";
import type { ProviderCall } from "../support/fault-provider/call-log.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { errorScript, streamScript, type StreamOptions } from "../support/provider-bytes/scripts.ts";

const ASK = "/kebab/ask";
const RUN = "/kebab/runs/run_1";
const pauses = { first: 5, longest: 40, silence: 10_000 };

const lineOf = (fields: Record<string, unknown>): string => `${JSON.stringify(fields)}\n`;
const event = (sequence: number, kind: string, fields: Record<string, unknown>) =>
  lineOf({ schema_version: "answer_event.v1", kind, ...fields, sequence });
const words = ["Grüße ", "aus ", "北京 ", "🙂 ", "and back. [#1]"];
const lines = [
  event(0, "retrieval_done", { hits: [] }),
  ...words.map((delta, at) => event(at + 1, "token", { delta })),
  lineOf({ schema_version: "answer.v1", answer: words.join(""), sequence: 6 }),
];
const stream = (said: readonly string[], options: StreamOptions = {}) =>
  streamScript("application/x-ndjson", said, { ...options, headers: { "x-run-id": "run_1", location: RUN } });
/** The lines behind the cursor that the call names. */
const after = ({ query }: ProviderCall): number => Number(new URLSearchParams(query).get("after") ?? -1) + 1;

let server: FaultProvider;
let api: KebabApi;
let following: Following | undefined;
/** What a browser would report as an uncaught error. */
const faults: unknown[] = [];

beforeEach(async () => {
  vi.stubGlobal("reportError", (fault: unknown) => faults.push(fault));
  server = await startFaultProvider();
  api = createKebabApi(server.origin, () => "the-key");
});
afterEach(async () => {
  following?.close();
  await server.stop();
  vi.unstubAllGlobals();
  expect(faults).toEqual([]);
});

const ask: LineStart = {
  kind: "begin",
  request: { method: "POST", path: ASK, headers: { "Idempotency-Key": "ask-1" }, body: '{"question":"Why?"}' },
};
const read: LineStart = { kind: "read", runId: "run_1" };

function follow(start: LineStart, timing = pauses) {
  const notices: LineNotice[] = [];
  const ended = Promise.withResolvers<LineNotice>();
  following = followLines(
    api.send,
    start,
    (notice) => {
      notices.push(notice);
      if (notice.kind === "ended" || notice.kind === "refused") ended.resolve(notice);
    },
    timing,
  );
  return { notices, ended: ended.promise };
}

const textOf = (notices: readonly LineNotice[]): string =>
  notices.map((notice) => (notice.kind === "line" ? (textIn(notice.line, "delta") ?? "") : "")).join("");

describe("R-KB-85 a question", () => {
  test("is posted once, with its name and the key, and read to its last line", async () => {
    server.on(ASK, stream(lines, { perPacket: 2 }));
    const { notices, ended } = follow(ask);
    expect(await ended).toEqual({ kind: "ended" });
    expect(textOf(notices)).toBe(words.join(""));
    expect(notices[0]).toEqual({ kind: "accepted", runId: "run_1" });
    const [call] = server.calls(ASK);
    expect(server.calls(ASK)).toHaveLength(1);
    expect(call?.headers).toMatchObject({
      accept: "application/x-ndjson",
      "idempotency-key": "ask-1",
      authorization: "Bearer the-key",
    });
    expect(call?.query).toBe("");
  });

  test.each(["rst", "fin", "clean"] as const)(
    "that is cut after each line by a %s is read on, without gap or repeat, and never posted again",
    async (end) => {
      server.on(ASK, stream(lines.slice(0, 1), { end }));
      server.on(RUN, (call) => stream(lines.slice(after(call), after(call) + 1), { end }));
      const { notices, ended } = follow(ask);
      expect(await ended).toEqual({ kind: "ended" });
      expect(textOf(notices)).toBe(words.join(""));
      expect(server.calls(ASK)).toHaveLength(1);
      expect(server.calls(RUN).map(after)).toEqual([1, 2, 3, 4, 5, 6]);
    },
  );

  test("that is cut inside of a line gets that line again, whole", async () => {
    server.on(ASK, stream([lines.slice(0, 3).join("").slice(0, -9)], { end: "fin" }));
    server.on(RUN, (call) => stream(lines.slice(after(call))));
    const { notices, ended } = follow(ask);
    await ended;
    expect(textOf(notices)).toBe(words.join(""));
    expect(server.calls(RUN).map(after)).toEqual([2]);
  });

  test("whose beginning is not answered is posted again under the same name", async () => {
    server.on(ASK, (_call, index) => (index < 2 ? [{ step: "rst" }] : stream(lines)));
    const { notices, ended } = follow(ask);
    expect(await ended).toEqual({ kind: "ended" });
    expect(server.calls(ASK).map(({ headers }) => headers["idempotency-key"])).toEqual(["ask-1", "ask-1", "ask-1"]);
    expect(notices.slice(0, 2)).toEqual([
      { kind: "lost", retryInMs: 5 },
      { kind: "lost", retryInMs: 10 },
    ]);
  });

  test("that is silent for too long is asked for again", async () => {
    server.on(ASK, stream(lines.slice(0, 2), { end: "hang" }));
    server.on(RUN, (call) => stream(lines.slice(after(call))));
    const { notices, ended } = follow(ask, { ...pauses, silence: 50 });
    expect(await ended).toEqual({ kind: "ended" });
    expect(textOf(notices)).toBe(words.join(""));
  });

  test("that was taken is waited for, whatever the server says for the moment", async () => {
    server.on(ASK, stream(lines.slice(0, 2), { end: "rst" }));
    server.on(RUN, (call, index) =>
      index < 2 ? errorScript(index === 0 ? 503 : 429, {}, "{}") : stream(lines.slice(after(call))),
    );
    expect(await follow(ask).ended).toEqual({ kind: "ended" });
  });

  test("that is refused is told in the server's words, and not asked again", async () => {
    const body = {
      schema_version: "error.v1",
      code: "generic",
      message: "Too many.",
      details: { reason: "rate_limited" },
    };
    server.on(ASK, errorScript(429, { "Retry-After": "3" }, JSON.stringify(body)));
    expect(await follow(ask).ended).toMatchObject({
      kind: "refused",
      problem: { status: 429, code: "rate_limited", message: "Too many.", retryAfterMs: 3000 },
    });
    expect(server.calls(ASK)).toHaveLength(1);
  });
});

test("R-KB-87 a run is read from its first line, and one that is not there any more ends the reading", async () => {
  server.on(RUN, (_call, index) => (index === 0 ? stream(lines) : errorScript(404, {}, "")));
  const { notices, ended } = follow(read);
  expect(await ended).toEqual({ kind: "ended" });
  expect(textOf(notices)).toBe(words.join(""));
  expect(await follow(read).ended).toMatchObject({ kind: "refused", problem: { status: 404 } });
  expect(server.calls(RUN)).toHaveLength(2);
});

test("R-KB-80 a server that makes no stream of it answers with the last line alone", async () => {
  const report = { schema_version: "ingest_report.v1", items: [] };
  const path = "/kebab/collections/a%20b/documents/x%2F/%23.md";
  server.on(path, errorScript(201, {}, JSON.stringify(report)));
  const { notices, ended } = follow({ kind: "begin", request: { method: "PUT", path, body: "# A" } });
  expect(await ended).toEqual({ kind: "ended" });
  expect(notices).toEqual([{ kind: "accepted", runId: null }, { kind: "line", line: report }, { kind: "ended" }]);
});

test("R-KB-81 R-KB-86 R-KB-88 documents, lines and runs are asked for by their names, with the key in the header", async () => {
  const documents = "/kebab/collections/a%2Fb/documents/c%20d/%C3%A4.md";
  server.on("/kebab/collections/a%2Fb", errorScript(200, {}, '{"doc_count":0}'));
  server.on(documents, ({ method }) =>
    method === "DELETE" ? [{ step: "head", status: 204, headers: {} }] : errorScript(200, {}, '{"text":"x"}'),
  );
  server.on(`${RUN}/cancel`, errorScript(200, {}, "{}"));
  expect(await api.collection("a/b", "c d")).toEqual({ ok: true, value: { doc_count: 0 } });
  expect(await api.lines("a/b", "c d/ä.md", 3, 4)).toEqual({ ok: true, value: { text: "x" } });
  expect(await api.remove("a/b", "c d/ä.md")).toEqual({ ok: true, value: {} });
  expect(await api.cancel("run_1")).toMatchObject({ ok: true });
  expect(server.calls("/kebab/collections/a%2Fb").map(({ query }) => query)).toEqual(["?limit=200&after=c+d"]);
  expect(server.calls(documents).map(({ method, query }) => `${method} ${query}`)).toEqual([
    "GET ?lines=3-4",
    "DELETE ",
  ]);
  const all = [documents, `${RUN}/cancel`].flatMap((path) => server.calls(path));
  expect(new Set(all.map(({ headers }) => headers["authorization"]))).toEqual(new Set(["Bearer the-key"]));
  await server.stop();
  expect(await api.cancel("run_1")).toMatchObject({ ok: false, problem: { status: null, code: "no_answer" } });
});
