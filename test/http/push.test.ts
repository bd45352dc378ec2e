// Runs that a backend pushes, over sockets: a producer that is killed and comes back, readers in every dialect meanwhile, and what is refused.
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import path from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadRunsSchema } from "../../schemas/native-thread.ts";
import { pushAnswerSchema } from "../../schemas/push.ts";
import type { IndeRunError } from "../../schemas/problem.ts";
import { eventsOf, post, shownText } from "../support/api.ts";
import { follow } from "../support/run-reader.ts";
import {
  faultyFields,
  handleOf,
  newName,
  objectOf,
  openHouse,
  outcomeOf,
  problemOf,
  until,
  type House,
} from "./house.ts";

const producerFile = path.resolve(import.meta.dirname, "../support/push-producer.ts");

let house: House;
let runs: string;
beforeAll(async () => {
  house = await openHouse({ limits: { producerLeaseMs: 20_000, maxBodyBytes: 300_000 } });
  runs = `${house.origin}/v1/runs`;
});
afterAll(() => house.stop());

const pushBody = (fields: Record<string, unknown> = {}) => ({
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  source: "push",
  ...fields,
});
const say = (text: string) => ({ type: "content_delta", payload: { text } });
const completed = { type: "terminal", payload: { outcome: "completed", stopReason: "stop" } };

async function startPushed(fields: Record<string, unknown> = {}): Promise<string> {
  return (await handleOf(await post(runs, pushBody(fields)))).runId;
}

const send = (runId: string, epoch: number, sequence: number, events: unknown[]): Promise<Response> =>
  post(`${runs}/${runId}/events`, { epoch, sequence, events });

async function taken(runId: string, epoch: number, sequence: number, ...events: unknown[]) {
  const response = await send(runId, epoch, sequence, events);
  expect(response.headers.get("x-run-id")).toBe(runId);
  return v.parse(pushAnswerSchema, await objectOf(response));
}

const detailsOf = ({ details }: IndeRunError): Record<string, unknown> => details ?? {};

interface Producer {
  process: ChildProcess;
  answers: string[];
  exited: Promise<number | null>;
}

function produce(runId: string, epoch: number, words: readonly string[]): Producer {
  const child = spawn(process.execPath, [producerFile, `${runs}/${runId}/events`, String(epoch), ...words], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const answers: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => answers.push(line));
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  return { process: child, answers, exited };
}

test("R-FEED-1 R-FEED-3 R-FEED-4 a producer is killed, the server too, and its readers miss nothing", async () => {
  const words = Array.from({ length: 400 }, (_, index) => `${index} `);
  const runId = await startPushed();
  const reader = await follow(`${runs}/${runId}/events`);
  const first = produce(runId, 1, words);
  await until(() => first.answers.length > 20, "the first producer has been heard", 20_000);
  first.process.kill("SIGKILL");
  await first.exited;
  const second = produce(runId, 2, words);
  await until(() => second.answers.length > 20, "the second producer has been heard", 20_000);
  await reader.until(({ sequence }) => sequence > 30);
  const seen = reader.events.length;
  await house.server.kill();
  expect(await second.exited).not.toBe(0);
  await house.server.start();
  const third = produce(runId, 3, words);
  expect(await third.exited).toBe(0);
  expect((await problemOf(await send(runId, 2, 0, [say("late")]), 409, "conflict")).details).toMatchObject({
    refused: "fenced",
    epoch: 3,
  });
  const cursor = String(reader.events[seen - 1]?.sequence);
  const rest = eventsOf(
    await (
      await fetch(`${runs}/${runId}/events`, { headers: { "last-event-id": cursor, accept: "text/event-stream" } })
    ).text(),
  );
  const all = [...reader.events.slice(0, seen), ...rest];
  expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => index));
  expect(shownText(all)).toBe(words.join(""));
  expect(await outcomeOf(house.origin, runId)).toMatchObject({ outcome: "completed", finalText: words.join("") });
  expect(await objectOf(await fetch(`${runs}/${runId}`))).toMatchObject({
    status: "completed",
    steps: 1,
    provenance: { targetId: "push" },
  });
});

test("R-FEED-1 a pushed run reads live in every dialect, and is a run of its thread", async () => {
  const threadId = newName();
  const body = pushBody({ threadId, prompt: "Look it up.", requestId: newName() });
  const { runId, providerId } = await handleOf(await post(runs, body));
  expect(providerId).toBe("push");
  expect((await handleOf(await post(runs, body))).runId).toBe(runId);
  const dialects = ["inderun", "sveda", "deerflow"];
  const readers = dialects.map(async (dialect) => {
    const response = await fetch(`${runs}/${runId}/events?dialect=${dialect}`);
    return response.text();
  });
  const lines = fetch(`${runs}/${runId}/events`, { headers: { accept: "application/x-ndjson" } }).then((one) =>
    one.text(),
  );
  await taken(runId, 1, 0, say("Looking. "), {
    type: "tool_call",
    payload: { toolCallId: "c1", toolName: "look", input: { q: 1 }, execution: "server" },
  });
  await taken(runId, 1, 2, { type: "tool_result", payload: { toolCallId: "c1", toolName: "look", output: "found" } });
  await taken(runId, 1, 3, say("Found."), { type: "usage", payload: { inputTokens: 5, outputTokens: 2 } });
  await taken(runId, 1, 5, completed);
  const [native = "", sveda = "", deerflow = ""] = await Promise.all(readers);
  expect(shownText(eventsOf(native))).toBe("Looking. Found.");
  expect(
    (await lines)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(eventsOf(native));
  expect(sveda).toContain('"text.delta"');
  expect(sveda).toContain("[DONE]");
  expect(deerflow).toContain("event: end");
  expect(deerflow).toContain('"content":"Found."');
  expect(await outcomeOf(house.origin, runId)).toMatchObject({ usage: { inputTokens: 5, outputTokens: 2 } });
  const thread = `${house.origin}/v1/threads/${threadId}`;
  expect(await objectOf(await fetch(thread))).toMatchObject({ status: "idle" });
  const listed = v.parse(threadRunsSchema, await objectOf(await fetch(`${thread}/runs`)));
  expect(listed.runs).toMatchObject([{ runId, status: "success" }]);
  const messages: unknown = await (await fetch(`${house.origin}/api/threads/${threadId}/messages`)).json();
  expect(messages).toMatchObject([
    { event_type: "llm.human.input", content: { content: "Look it up." } },
    { event_type: "llm.ai.response", content: { content: "Looking. ", tool_calls: [{ id: "c1", name: "look" }] } },
    { event_type: "llm.tool.result", content: { content: "found", tool_call_id: "c1" } },
    {
      event_type: "llm.ai.response",
      content: { content: "Found.", usage_metadata: { input_tokens: 5, output_tokens: 2 } },
    },
  ]);
});

test("R-FEED-2 R-FEED-3 R-FEED-4 repeats, overlaps, gaps and heartbeats", async () => {
  const runId = await startPushed();
  expect(await taken(runId, 0, 0)).toEqual({ accepted: true, nextSequence: 0, lastSequence: -1 });
  const first = await taken(runId, 0, 0, say("One. "), say("Two. "));
  expect(first).toEqual({ accepted: true, nextSequence: 2, lastSequence: 6 });
  expect(await taken(runId, 0, 1, say("Two. "), say("Three."))).toEqual({
    accepted: true,
    nextSequence: 3,
    lastSequence: 7,
  });
  expect(await taken(runId, 0, 0, say("One. "), say("Two. "))).toEqual(first);
  expect(await taken(runId, 0, 3)).toEqual({ accepted: true, nextSequence: 3, lastSequence: 7 });
  const gap = await problemOf(await send(runId, 0, 5, [say("x")]), 409, "conflict");
  expect(detailsOf(gap)).toMatchObject({ refused: "gap", expectedSequence: 3 });
  expect(faultyFields(gap)).toEqual(["/sequence"]);
  await taken(runId, 0, 3, completed);
  expect(await outcomeOf(house.origin, runId)).toMatchObject({ finalText: "One. Two. Three." });
  expect(await taken(runId, 0, 0, say("One. "), say("Two. "))).toEqual(first);
  const ended = await problemOf(await send(runId, 0, 4, [say("x")]), 409, "conflict");
  expect(detailsOf(ended)).toMatchObject({ refused: "ended", outcome: "completed" });
});

test("R-FEED-8 R-CANCEL-1 R-DELETE-1 a producer learns of a cancel, and of a run that is gone", async () => {
  const runId = await startPushed();
  await taken(runId, 1, 0, say("Some"));
  expect(await objectOf(await post(`${runs}/${runId}/cancel`, { reason: "user" }))).toMatchObject({
    outcome: "cancelled",
    partialText: "Some",
  });
  expect(detailsOf(await problemOf(await send(runId, 1, 1, []), 409, "conflict"))).toMatchObject({
    refused: "ended",
    outcome: "cancelled",
  });
  expect((await fetch(`${runs}/${runId}`, { method: "DELETE" })).status).toBe(204);
  await problemOf(await send(runId, 1, 1, []), 404, "not_found");
  await problemOf(await send(newName(), 1, 1, []), 404, "not_found");
});

test("R-FEED-9 R-CLOCK-3 a run may ask for a shorter lease", async () => {
  const runId = await startPushed({ clocks: { idleMs: 300 } });
  expect(await outcomeOf(house.origin, runId)).toMatchObject({
    outcome: "error",
    error: { errorClass: "Unavailable", retryable: true, details: { code: "producer_lost" } },
  });
});

test("R-FEED-5 R-TOOL-23 inputs and outputs keep the digits of their numbers", async () => {
  const runId = await startPushed();
  const response = await post(
    `${runs}/${runId}/events`,
    `{"epoch":1,"sequence":0,"events":[
      {"type":"tool_call","payload":{"toolCallId":"c1","toolName":"t","input":{"n":9007199254740993},"execution":"client"}},
      {"type":"tool_result","payload":{"toolCallId":"c1","toolName":"t","output":[1e400]}},
      {"type":"terminal","payload":{"outcome":"completed"}}]}`,
  );
  expect(response.status).toBe(200);
  const events = eventsOf(await (await fetch(`${runs}/${runId}/events`)).text());
  const of = (type: string) => events.find((event) => event.type === type)?.payload;
  expect(of("tool_call")).toMatchObject({ inputJson: '{"n":9007199254740993}' });
  expect(of("tool_call")).not.toHaveProperty("input");
  expect(of("tool_result")).toMatchObject({ outputJson: "[1e400]" });
});

test("R-FEED-5 bad batches: nothing of them is stored, and each fault has its path", async () => {
  const runId = await startPushed();
  const url = `${runs}/${runId}/events`;
  for (const [body, path] of [
    [{}, "/epoch"],
    [{ epoch: -1, sequence: 0, events: [] }, "/epoch"],
    [{ epoch: 1.5, sequence: 0, events: [] }, "/epoch"],
    [{ epoch: 1, sequence: -1, events: [] }, "/sequence"],
    [{ epoch: 1, sequence: 0 }, "/events"],
    [{ epoch: 1, sequence: 0, events: {} }, "/events"],
    [{ epoch: 1, sequence: 0, events: [], more: 1 }, "/more"],
    [{ epoch: 1, sequence: 0, events: [{ type: "content_delta" }] }, "/events/0/payload"],
    [{ epoch: 1, sequence: 0, events: [{ type: "", payload: {} }] }, "/events/0/type"],
    [{ epoch: 1, sequence: 0, events: [{ type: "a\tb", payload: {} }] }, "/events/0/type"],
    [{ epoch: 1, sequence: 0, events: [{ type: "x", payload: [] }] }, "/events/0/payload"],
    [{ epoch: 1, sequence: 0, events: Array.from({ length: 10_001 }, () => ({ type: "x", payload: {} })) }, "/events"],
    [{ epoch: 1, sequence: 0, events: [say("kept?"), { type: "attempt", payload: {} }] }, "/events/1/type"],
    [
      { epoch: 1, sequence: 0, events: [say("kept?"), say("?"), { type: "content_delta", payload: { text: 1 } }] },
      "/events/2/payload/text",
    ],
    [{ epoch: 1, sequence: 0, events: [completed, say("after")] }, "/events/1"],
    [
      {
        epoch: 1,
        sequence: 0,
        events: [say("kept?"), { type: "tool_result", payload: { toolCallId: "a", toolName: "b" } }],
      },
      "/events/1/payload/toolCallId",
    ],
  ] satisfies [unknown, string][]) {
    const problem = await problemOf(await post(url, body), 400, "invalid_request");
    expect(faultyFields(problem), JSON.stringify(body).slice(0, 100)).toContain(path);
  }
  await problemOf(await post(url, "[1"), 400, "invalid_request");
  await problemOf(await post(url, { epoch: 1, sequence: 0, events: [say("x".repeat(300_000))] }), 413, "too_large");
  const text = await fetch(url, { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" });
  await problemOf(text, 415, "unsupported_media_type");
  expect(await taken(runId, 1, 0)).toEqual({ accepted: true, nextSequence: 0, lastSequence: -1 });
  expect(await objectOf(await fetch(`${runs}/${runId}`))).toMatchObject({ lastSequence: 0, status: "running" });
});
