// `npx holdfast` against the real server, through connections that break, and against servers that are none.
import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as v from "valibot";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { answerSchema } from "../../schemas/dialects/kebab-answer.ts";
import { runCommand, startCommand, type Ran } from "../support/command.ts";
import { startCuttingProxy, type CuttingProxy } from "../support/cutting-proxy.ts";
import type { Script, Step } from "../support/fault-provider/script.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { freePort } from "../support/free-port.ts";
import { newCollection, openKebab, type Kebab } from "../support/kebab-house.ts";
import { kebabLines, kindsOf } from "../support/kebab-lines.ts";
import { publishedFault } from "../support/kebab-schemas.ts";
import { openAiDelta, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { answer, MAIN } from "./house.ts";

const KEY = randomUUID();
const QUESTION = "Which cursor does a reader have?";
const ASK = "/kebab/ask";

/** Answers for the model, and for servers that are none. */
let provider: FaultProvider;
let kebab: Kebab;
let proxy: CuttingProxy;
let collection: string;
const folder = mkdtempSync(path.join(tmpdir(), "holdfast-command-"));

beforeAll(async () => {
  provider = await startFaultProvider();
  const main = {
    id: "main",
    adapter: "openai-chat",
    baseUrl: `${provider.origin}/main`,
    model: "test-model",
    retries: 0,
  };
  kebab = await openKebab(
    { targets: [main], routes: { default: ["main"] }, breaker: { failures: 0 } },
    { vars: { API_KEYS: JSON.stringify({ [createHash("sha256").update(KEY).digest("hex")]: "one" }) } },
  );
  proxy = await startCuttingProxy(kebab.server.port);
  collection = newCollection();
  const put = await kebab.call(
    "PUT",
    `/collections/${collection}/documents/notes/a.md`,
    "# Runs\n\n## Cursors\n\nThe cursor of a reader is the last sequence that it has seen.\n",
    { authorization: `Bearer ${KEY}`, "content-type": "text/markdown" },
  );
  expect(put.status).toBe(201);
});
afterEach(() => provider.reset());
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await proxy.stop();
  await kebab.server.stop();
  await provider.stop();
});

const here = (server = kebab.server.origin) => ({ HOLDFAST_URL: server, HOLDFAST_KEY: KEY });
const holdfast = (words: readonly string[], env: Record<string, string> = here()): Promise<Ran> =>
  runCommand(words, env);
const ask = (...words: string[]): string[] => ["ask", QUESTION, "--collection", collection, ...words];
const told = (deltas: readonly string[]) => deltas.map((content) => openAiDelta({ content }));

function onlyAnswer(out: string) {
  expect(out.endsWith("\n")).toBe(true);
  expect(out.trimEnd()).not.toContain("\n");
  const value: unknown = JSON.parse(out);
  expect(publishedFault("answer", value)).toBeUndefined();
  return v.parse(answerSchema, value);
}

/** The error of a command that failed: the last line of stderr, of which nothing is known but that it is published. */
function errorOf({ status, out, err }: Ran): Record<string, unknown> {
  expect([status, out], err).toEqual([2, ""]);
  const value: Record<string, unknown> = JSON.parse(err.trimEnd().split("\n").at(-1) ?? "");
  expect(publishedFault("error", value)).toBeUndefined();
  return value;
}

test("R-KB-90 the answer is the one line on stdout, the events are lines on stderr, and the status says how it ended", async () => {
  provider.on(MAIN, answer(["The last ", "sequence [#1]."]));
  const streamed = await holdfast(ask("--stream"));
  expect(kindsOf(kebabLines(streamed.err))).toEqual(["retrieval_done", "token", "token", "final"]);
  expect(onlyAnswer(streamed.out)).toMatchObject({ answer: "The last sequence [#1].", grounded: true });
  expect(streamed.status).toBe(0);
  const quiet = await holdfast(ask());
  expect([quiet.status, quiet.err]).toEqual([0, ""]);
  expect(onlyAnswer(quiet.out).grounded).toBe(true);
});

test("R-KB-90 a refusal has its answer on stdout, and the status 1", async () => {
  provider.on(MAIN, answer(["They do not say."]));
  const judged = await holdfast(ask("--stream"));
  expect(kindsOf(kebabLines(judged.err))).toEqual(["retrieval_done", "token", "final"]);
  expect([judged.status, onlyAnswer(judged.out).refusal_reason]).toEqual([1, "llm_self_judge"]);
  const none = await holdfast(["ask", "Zebra?", "--stream", "--collection", collection]);
  expect(kindsOf(kebabLines(none.err))).toEqual(["retrieval_done"]);
  expect([none.status, onlyAnswer(none.out).refusal_reason]).toEqual([1, "no_chunks"]);
});

test("R-KB-90 an event is on stderr before the run goes on", async () => {
  provider.on(MAIN, answer(["Seen ", "[#1]."], { gateBefore: { index: 2, name: "more" } }));
  const running = startCommand(ask("--stream"), here());
  await running.said('"delta":"Seen "');
  provider.open("more");
  expect((await running.ended).status).toBe(0);
});

test("R-KB-91 options are the fields of the request, as they are given", async () => {
  const line = JSON.stringify({ schema_version: "answer.v1", grounded: true });
  provider.on(ASK, stream(["", line]));
  const words = ["--k", "8", "--mode", "hybrid", "--temperature", "0.5", "--seed=-7", "--explain", "--multi-hop"];
  const ran = await holdfast(
    ["ask", ...words, "--session", "talk", "--route", "near", "--", "-why?"],
    here(provider.origin),
  );
  expect(ran).toEqual({ status: 0, out: `${line}\n`, err: "" });
  await holdfast(["ask", "why?"], here(provider.origin));
  expect(provider.calls(ASK).map(({ body }) => JSON.parse(body))).toEqual([
    {
      question: "-why?",
      k: 8,
      mode: "hybrid",
      temperature: 0.5,
      seed: -7,
      explain: true,
      multi_hop: true,
      conversation: "talk",
      route: "near",
    },
    { question: "why?" },
  ]);
});

test("R-KB-92 an error leaves stdout empty: text on stderr, or with --json one error.v1 behind the events", async () => {
  provider.on(MAIN, [{ step: "head", status: 500, headers: { "content-length": "0" } }]);
  const plain = await holdfast(ask("--stream"));
  expect([plain.status, plain.out]).toEqual([2, ""]);
  const [first = "", last = "", ...rest] = plain.err.trimEnd().split("\n");
  expect([kindsOf(kebabLines(first)), rest]).toEqual([["retrieval_done"], []]);
  expect(last).toMatch(/^error: \S/);
  const json = await holdfast(ask("--stream", "--json"));
  expect(kindsOf(kebabLines(json.err))).toEqual(["retrieval_done", "error.v1"]);
  expect(errorOf(json)).toMatchObject({ code: "model_unreachable", details: { error_class: "Unavailable" } });
  const unknown = await holdfast(["ask", "x", "--collection", newCollection(), "--json"]);
  expect(errorOf(unknown)).toMatchObject({ code: "not_indexed", details: { found: "none" } });
  const stranger = await holdfast(ask("--json"), { HOLDFAST_URL: kebab.server.origin });
  expect(errorOf(stranger)).toMatchObject({ code: "generic", details: { reason: "unauthorized" } });
});

test("R-KB-92 words that cannot be meant are refused with how to use it, and no server is asked", async () => {
  const { status, out, err } = await holdfast(["ask", "x", "--k", "0"], here(provider.origin));
  expect([status, out]).toEqual([2, ""]);
  expect(err).toMatch(/^usage: holdfast ask .+\nholdfast --help has all options\nerror: .+\n$/);
  const json = await holdfast(["ask", "--json"], here(provider.origin));
  expect(errorOf(json)).toMatchObject({ code: "generic", details: { reason: "invalid_input", field: "question" } });
  expect(provider.calls()).toEqual([]);
});

test("R-KB-93 a reader of stderr that goes cancels the run at its next line; its answer is still on stdout", async () => {
  provider.on(
    MAIN,
    streamScript(OPENAI_STREAM_TYPE, told(["Seen [#1]", " and", " so on"]), {
      end: "hang",
      gateBefore: { index: 1, name: "more" },
    }),
  );
  const running = startCommand(ask("--stream"), here());
  await running.said('"kind":"token"');
  running.close("err");
  provider.open("more");
  const { status, out } = await running.ended;
  expect([status, onlyAnswer(out)]).toMatchObject([1, { refusal_reason: "llm_stream_aborted", grounded: false }]);
  expect((await provider.calls(MAIN)[0]?.closed)?.how).not.toBe("local");
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "R-KB-93 %s cancels the run, however silent it is",
  async (name) => {
    provider.on(MAIN, streamScript(OPENAI_STREAM_TYPE, told(["Seen [#1]"]), { end: "hang" }));
    const running = startCommand(ask("--stream"), here());
    await running.said('"kind":"token"');
    running.signal(name);
    // As npx hands it on.
    running.signal(name);
    const { status, out } = await running.ended;
    expect(onlyAnswer(out)).toMatchObject({ answer: "Seen [#1]", refusal_reason: "llm_stream_aborted" });
    expect(status).toBe(1);
    expect((await provider.calls(MAIN)[0]?.closed)?.how).not.toBe("local");
  },
);

test("R-KB-93 nobody who reads stdout is as good as a refusal", async () => {
  provider.on(MAIN, answer(["Seen [#1]."], { gateBefore: { index: 0, name: "more" } }));
  const running = startCommand(ask("--stream"), here());
  await running.said('"kind":"retrieval_done"');
  running.close("out");
  provider.open("more");
  expect((await running.ended).status).toBe(1);
});

test("R-KB-94 a connection that breaks is taken up again behind the last event, and the question is asked once", async () => {
  provider.on(MAIN, answer(["One ", "two ", "[#1]."], { gateBefore: { index: 3, name: "more" } }));
  const before = proxy.accepted();
  const running = startCommand(ask("--stream"), here(proxy.origin));
  await running.said('"delta":"two "');
  expect(proxy.cut()).toBe(1);
  provider.open("more");
  const { status, out, err } = await running.ended;
  expect(kindsOf(kebabLines(err))).toEqual(["retrieval_done", "token", "token", "token", "final"]);
  expect([status, onlyAnswer(out).answer]).toEqual([0, "One two [#1]."]);
  expect(proxy.accepted() - before).toBe(2);
  expect(provider.calls(MAIN)).toHaveLength(1);
});

test("R-KB-94 a server that dies and comes back is gone on with", async () => {
  provider.on(MAIN, [{ step: "hang" }]);
  const running = startCommand(ask("--stream"), here());
  await provider.waitForCall(MAIN);
  await kebab.server.kill();
  provider.on(MAIN, answer(["Seen [#1]."]));
  await kebab.server.start();
  const { status, out, err } = await running.ended;
  expect(kindsOf(kebabLines(err))).toEqual(["retrieval_done", "token", "final"]);
  expect([status, onlyAnswer(out).answer]).toEqual([0, "Seen [#1]."]);
});

/** A server of the tests: its lines, each a packet of its own. */
function stream(lines: readonly string[], end: "played" | "fin" | "rst" | "hang" = "played"): Step[] {
  const head: Step = {
    step: "head",
    status: 200,
    headers: { "content-type": "application/x-ndjson", "transfer-encoding": "chunked", location: "/kebab/runs/r1" },
  };
  const chunks = lines.map((line): Step => ({ step: "chunk", bytes: `${line}\n` }));
  return [head, ...chunks, end === "played" ? { step: "lastChunk" } : { step: end }];
}

const token = (delta: string, sequence: number) =>
  JSON.stringify({ schema_version: "answer_event.v1", kind: "token", ts: "2026-01-01T00:00:00Z", delta, sequence });
const final = JSON.stringify({
  schema_version: "answer_event.v1",
  kind: "final",
  ts: "2026-01-01T00:00:00Z",
  answer: {},
});
const end = JSON.stringify({ schema_version: "answer.v1", answer: "ab", grounded: true, sequence: 3 });

test("R-KB-94 of an event that broke off nothing is shown twice, and what is no line of ours not at all", async () => {
  const first: Script = stream(
    ["   ", "<html>", "{broken", "[1]", '{"schema_version":"other.v1"}', token("a", 1), final],
    "rst",
  );
  provider.on(ASK, first);
  const rest: Step[][] = [stream([token("a", 1), token("b", 2)], "hang"), stream([final, end])];
  provider.on("/kebab/runs/r1", (_, index) => rest[index] ?? []);
  const ran = await holdfast(["ask", "x", "--stream", "--timeout", "0.5"], here(provider.origin));
  expect(ran).toEqual({ status: 0, out: `${end}\n`, err: `${[token("a", 1), token("b", 2), final].join("\n")}\n` });
  expect(provider.calls("/kebab/runs/r1").map(({ query }) => query)).toEqual(["?after=1", "?after=2"]);
});

test("R-KB-94 a start whose answer breaks is sent again with its key, and a stream that never goes on is given up", async () => {
  const busy = [{ step: "head", status: 503, headers: { "content-length": "0", "retry-after": "0" } }] as const;
  const answers: Script[] = [[{ step: "rst" }], busy, stream([end])];
  provider.on(ASK, (_, index) => answers[index] ?? []);
  expect(await holdfast(["ask", "x"], here(provider.origin))).toEqual({ status: 0, out: `${end}\n`, err: "" });
  const keys = provider.calls(ASK).map(({ headers }) => headers["idempotency-key"]);
  expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  provider.on(ASK, stream([token("a", 1)], "rst"));
  provider.on("/kebab/runs/r1", stream([], "fin"));
  const lost = await holdfast(["ask", "x", "--json", "--retries", "1"], here(provider.origin));
  expect(errorOf(lost)).toMatchObject({ code: "model_unreachable", details: { run_id: "r1" } });
  expect(provider.calls("/kebab/runs/r1")).toHaveLength(1);
  provider.on(ASK, busy);
  const closed = await holdfast(["ask", "x", "--json", "--retries", "1"], here(provider.origin));
  expect(errorOf(closed)).toMatchObject({ code: "generic", message: expect.stringContaining("status 503") });
});

test("R-KB-94 a server that says that once more would be the same is not asked once more", async () => {
  const error = { schema_version: "error.v1", code: "model_not_pulled", message: "No such model." };
  const refusal = (retryable: boolean) => JSON.stringify({ ...error, details: { model: "m", retryable } });
  const says = (text: string): Script => [
    { step: "head", status: 503, headers: { "content-length": String(text.length) } },
    { step: "write", bytes: text },
  ];
  provider.on(ASK, (_, index) => says(refusal(index === 0)));
  const ran = await holdfast(["ask", "x", "--json", "--mode", "vector"], here(provider.origin));
  expect(errorOf(ran)).toMatchObject({ code: "model_not_pulled", details: { retryable: false } });
  expect(provider.calls(ASK)).toHaveLength(2);
});

test("R-KB-94 a cancel that does not arrive is sent again, and one that is given up names the run that goes on", async () => {
  const sent = "/kebab/runs/r1/cancel";
  const stopped = async (...words: string[]): Promise<Ran> => {
    provider.on(ASK, stream([token("a", 1)], "hang"));
    const running = startCommand(["ask", "x", "--stream", ...words], here(provider.origin));
    await running.said('"delta":"a"');
    running.signal("SIGINT");
    return running.ended;
  };
  const restarting = [{ step: "head", status: 503, headers: { "content-length": "0" } }] as const;
  const answers: Script[] = [[{ step: "rst" }], restarting, [{ step: "rst" }], stream([end])];
  provider.on(sent, (_, index) => answers[index] ?? []);
  expect(await stopped()).toMatchObject({ status: 0, out: `${end}\n` });
  expect(provider.calls(sent)).toHaveLength(4);
  provider.reset();
  provider.on(sent, restarting);
  const lost = errorOf(await stopped("--json", "--retries", "1"));
  expect(lost).toMatchObject({ code: "model_unreachable", details: { run_id: "r1", source: "status 503" } });
  expect(provider.calls(sent)).toHaveLength(2);
});

test("R-KB-93 a question that was stopped before its run had a name is looked for by its key, and cancelled", async () => {
  const asked = [
    [{ step: "gate", name: "stopped" } as const, { step: "rst" } as const],
    stream([token("a", 1)], "hang"),
  ];
  provider.on(ASK, (_, index) => asked[index] ?? []);
  provider.on("/kebab/runs/r1/cancel", stream([end]));
  const running = startCommand(["ask", "x", "--stream"], here(provider.origin));
  await provider.waitForCall(ASK);
  running.signal("SIGINT");
  provider.open("stopped");
  expect(await running.ended).toMatchObject({ status: 0, out: `${end}\n` });
  const keys = provider.calls(ASK).map(({ headers }) => headers["idempotency-key"]);
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
});

test("R-KB-95 a server that is not there is an error at once", async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  for (const words of [["ask", "x"], ["search", "x"], ["schema"]]) {
    expect(errorOf(await holdfast([...words, "--json"], here(nobody)))).toMatchObject({
      code: "model_unreachable",
      details: { endpoint: nobody, source: "ECONNREFUSED" },
    });
  }
});

test.each<[string, Step[], RegExp]>([
  ["a page", [...htmlPage(200)], /Holdfast/],
  ["a page of a fault", [...htmlPage(500)], /status 500/],
  [
    "another address",
    [{ step: "head", status: 308, headers: { "content-length": "0", location: "http://127.0.0.2:1/" } }],
    /127\.0\.0\.2/,
  ],
])(
  "R-KB-95 of what is no Holdfast, %s, nothing is believed, and the key goes nowhere else",
  async (_, script, message) => {
    provider.on(ASK, script);
    provider.on("/kebab/schema", script);
    for (const words of [["ask", "x"], ["schema"]]) {
      const error = errorOf(await holdfast([...words, "--json"], here(provider.origin)));
      expect(error).toMatchObject({ code: "generic", message: expect.stringMatching(message) });
    }
    expect(provider.calls(ASK)).toHaveLength(1);
  },
);

function htmlPage(status: number): Step[] {
  const body = "<html>\u001b[31mNo\n</html>";
  const headers = { "content-type": "text/html", "content-length": String(body.length) };
  return [
    { step: "head", status, headers },
    { step: "write", bytes: body },
  ];
}

test("R-KB-95 what a server says of an error is text for a terminal, on one line", async () => {
  const body = JSON.stringify({
    schema_version: "error.v1",
    code: "generic",
    message: "No\u001b]0;x\u0007\n\u202eerror",
    details: {},
  });
  provider.on(ASK, [
    { step: "head", status: 400, headers: { "content-length": String(Buffer.byteLength(body)) } },
    { step: "write", bytes: body },
  ]);
  expect((await holdfast(["ask", "x"], here(provider.origin))).err).toBe("error: No ]0;x error\n");
});

test("R-KB-96 a flag is before the file that one names, and the file before the environment; the key is never printed", async () => {
  const file = path.join(folder, "holdfast.json");
  const config = (value: unknown): string[] => {
    writeFileSync(file, JSON.stringify(value));
    return ["--config", file];
  };
  const wrong = { HOLDFAST_URL: "http://127.0.0.1:1", HOLDFAST_KEY: "wrong", MY_KEY: KEY };
  provider.on(MAIN, answer(["Seen [#1]."]));
  const settings = config({ server: `${kebab.server.origin}/`, collection, keyVar: "MY_KEY" });
  expect((await holdfast(["ask", QUESTION, ...settings], wrong)).status).toBe(0);
  const flags = ["--server", kebab.server.origin, "--key", KEY, "--collection", collection];
  const other = config({ server: wrong.HOLDFAST_URL, collection: "other", keyVar: "HOLDFAST_KEY" });
  expect((await holdfast(["ask", QUESTION, ...other, ...flags], wrong)).status).toBe(0);
  // A variable that is empty says nothing.
  const unset = { HOLDFAST_URL: "", HOLDFAST_KEY: "" };
  const nowhere = await holdfast(["schema", "--json", "--timeout", "5"], unset);
  expect(nowhere.out + nowhere.err).not.toContain("must be an http or https address");
  const refused = await holdfast(["ask", "x", "--json", ...config({ key: KEY })], wrong);
  expect(errorOf(refused)).toMatchObject({ code: "config_invalid", details: { path: file } });
  expect(refused.err).not.toContain(KEY);
});

test("R-KB-97 schema and search are a line on stdout each", async () => {
  const schema = await holdfast(["schema", "--collection", collection]);
  expect([schema.status, schema.err, JSON.parse(schema.out)]).toMatchObject([
    0,
    "",
    { schema_version: "schema.v1", capabilities: { streaming_ask: true }, stats: { doc_count: 1 } },
  ]);
  const search = await holdfast(["search", QUESTION, "--collection", collection, "--k", "1", "--explain"]);
  expect([search.status, search.err, JSON.parse(search.out)]).toMatchObject([
    0,
    "",
    { schema_version: "search_response.v1", hits: [{ doc_path: "notes/a.md" }], trace: { lexical: [{ rank: 1 }] } },
  ]);
  const none = await holdfast(["search", "zebra", "--collection", collection]);
  expect([none.status, JSON.parse(none.out)]).toMatchObject([1, { hits: [] }]);
  expect((await holdfast(["--help"], {})).out).toContain("holdfast ask");
  expect((await holdfast(["--version"], {})).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});
