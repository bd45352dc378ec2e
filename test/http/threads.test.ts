// Runs of a thread on the native routes: the conversation goes on, one run is active at a time, continuations stay, and what is deleted is gone.
import * as v from "valibot";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { threadRunsSchema, threadSchema } from "../../schemas/native-thread.ts";
import {
  goOn,
  inOrder,
  MODEL,
  openAgentHouse,
  payloads,
  play,
  says,
  sentMessages,
  type AgentHouse,
} from "../support/agent-house.ts";
import { post, startBody } from "../support/api.ts";
import { faultyFields, handleOf, newName, outcomeOf, problemOf } from "./house.ts";

let house: AgentHouse;

beforeAll(async () => {
  house = await openAgentHouse();
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const urlOf = (threadId: string): string => `${house.server.origin}/v1/threads/${threadId}`;

async function threadOf(threadId: string) {
  const response = await fetch(urlOf(threadId));
  expect(response.status).toBe(200);
  return v.parse(threadSchema, await response.json());
}

async function runsOf(threadId: string) {
  const response = await fetch(`${urlOf(threadId)}/runs`);
  expect(response.status).toBe(200);
  return v.parse(threadRunsSchema, await response.json()).runs;
}

const tools = [{ name: "ask_user", parameters: { type: "object" } }];

test("R-THR-30 R-THR-37 a run of a thread is sent its conversation before its own messages, and its own instructions first", async () => {
  const { provider, runs } = house;
  const threadId = newName();
  provider.on(MODEL, inOrder(says("One."), says("Two.")));
  const first = await play(runs, { threadId, prompt: "First question?", metadata: { of: "first" } });
  expect(first.outcome).toMatchObject({ outcome: "completed", finalText: "One.", titles: ["First question?"] });
  expect(payloads(first.events, "step").map(({ phase }) => phase)).toEqual(["started", "finished"]);
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Second question?" },
  ];
  const second = await play(runs, { threadId, messages });
  expect(second.outcome).toMatchObject({ finalText: "Two." });
  expect(second.outcome).not.toHaveProperty("titles");
  expect(sentMessages(provider, 1)).toMatchObject([
    { role: "system", content: "Be brief." },
    { role: "user", content: "First question?" },
    { role: "assistant", content: "One." },
    { role: "user", content: "Second question?" },
  ]);
  expect(await threadOf(threadId)).toMatchObject({ threadId, status: "idle", title: "First question?", metadata: {} });
  expect(await runsOf(threadId)).toMatchObject([
    { runId: second.runId, status: "success", metadata: {} },
    { runId: first.runId, status: "success", metadata: { of: "first" } },
  ]);
});

test("R-THR-31 a thread has one active run, and its repeats are that run", async () => {
  const { provider, runs } = house;
  const threadId = newName();
  provider.on(MODEL, [{ step: "gate", name: "answer" }, ...says("One.")]);
  const body = startBody({ threadId, prompt: "First?" });
  const { runId } = await handleOf(await post(runs, { ...body, requestId: newName() }));
  const other = newName();
  const refused = await problemOf(await post(runs, { ...body, requestId: other }), 409, "conflict");
  expect(faultyFields(refused)).toEqual(["/threadId"]);
  await problemOf(await fetch(`${runs}/${other}`), 404, "not_found");
  expect(await threadOf(threadId)).toMatchObject({ status: "busy" });
  await problemOf(await fetch(urlOf(threadId), { method: "DELETE" }), 409, "conflict");
  expect((await handleOf(await post(runs, { ...body, requestId: runId }))).runId).toBe(runId);
  provider.open("answer");
  await outcomeOf(house.server.origin, runId);
  provider.on(MODEL, says("Two."));
  const next = await play(runs, { threadId, prompt: "Second?" });
  // The refused one has left nothing.
  expect(sentMessages(provider, provider.calls(MODEL).length - 1)).toMatchObject([
    { content: "First?" },
    { content: "One." },
    { content: "Second?" },
  ]);
  expect((await runsOf(threadId)).map((run) => run.runId)).toEqual([next.runId, runId]);
});

test("R-THR-31 what is refused for itself makes no thread", async () => {
  const threadId = newName();
  for (const fields of [{ route: "nowhere" }, { messages: [] }, { source: "push", route: "default" }]) {
    const response = await post(house.runs, { ...startBody({ threadId }), ...fields });
    expect(response.status).toBeGreaterThanOrEqual(400);
  }
  await problemOf(await fetch(urlOf(threadId)), 404, "not_found");
  await problemOf(await fetch(`${urlOf(threadId)}/runs`), 404, "not_found");
  const bad = await problemOf(await post(house.runs, startBody({ threadId: "a.b" })), 400, "invalid_request");
  expect(faultyFields(bad)).toEqual(["/threadId"]);
});

test("R-THR-32 a run that goes on from one of a thread is in it, with the results that it brings", async () => {
  const { provider, runs } = house;
  const threadId = newName();
  provider.on(MODEL, inOrder(says("Let me ask. ", [["a", "ask_user", { q: 1 }]]), says("Thanks."), says("Bye.")));
  const first = await play(runs, { threadId, prompt: "Tidy up.", tools });
  expect(first.outcome).toMatchObject({ stopReason: "tool_calls" });
  expect(await threadOf(threadId)).toMatchObject({ status: "interrupted" });
  const toolResults = [{ toolCallId: "a", output: { yes: true } }];
  const elsewhere = await goOn(runs, first.runId, { toolResults, threadId: newName() });
  expect(faultyFields(await problemOf(elsewhere, 400, "invalid_request"))).toEqual(["/threadId"]);
  const { runId } = await handleOf(await goOn(runs, first.runId, { toolResults }));
  expect(await outcomeOf(house.server.origin, runId)).toMatchObject({ outcome: "completed", finalText: "Thanks." });
  expect(await runsOf(threadId)).toMatchObject([
    { runId, status: "success" },
    { runId: first.runId, status: "interrupted" },
  ]);
  expect(await threadOf(threadId)).toMatchObject({ status: "idle" });
  await play(runs, { threadId, prompt: "Thank you." });
  expect(sentMessages(provider, 2)).toMatchObject([
    { role: "user", content: "Tidy up." },
    { role: "assistant", tool_calls: [{ id: "a" }] },
    { role: "tool", tool_call_id: "a", content: '{"yes":true}' },
    { role: "assistant", content: "Thanks." },
    { role: "user", content: "Thank you." },
  ]);
});

test("R-THR-32 where its calls do not wait in the thread any more, no run goes on from it", async () => {
  const { provider, runs } = house;
  const threadId = newName();
  provider.on(MODEL, inOrder(says("", [["a", "ask_user", { q: 1 }]]), says("Never mind.")));
  const first = await play(runs, { threadId, prompt: "Tidy up.", tools });
  await play(runs, { threadId, prompt: "Leave it." });
  const late = await goOn(runs, first.runId, { toolResults: [{ toolCallId: "a", output: 1 }] });
  expect(faultyFields(await problemOf(late, 409, "conflict"))).toEqual(["/previousRunId"]);
  expect(await runsOf(threadId)).toHaveLength(2);
});

test("R-THR-37 R-ERR-3 a thread that is deleted is gone, and so are its runs", async () => {
  const { provider, runs } = house;
  const threadId = newName();
  provider.on(MODEL, says("One."));
  const { runId } = await play(runs, { threadId, prompt: "First?" });
  await problemOf(await fetch(`${urlOf(threadId)}/runs/%2e%2e`, { method: "DELETE" }), 404, "not_found");
  expect((await fetch(urlOf(threadId), { method: "DELETE" })).status).toBe(204);
  await problemOf(await fetch(urlOf(threadId)), 404, "not_found");
  await problemOf(await fetch(urlOf(threadId), { method: "DELETE" }), 404, "not_found");
  await expect.poll(async () => (await fetch(`${runs}/${runId}`)).status, { timeout: 10_000 }).toBe(404);
  provider.on(MODEL, says("Anew."));
  await play(runs, { threadId, prompt: "Again?" });
  expect(sentMessages(provider, provider.calls(MODEL).length - 1)).toMatchObject([{ content: "Again?" }]);
  await problemOf(await fetch(urlOf("a.b")), 404, "not_found");
});
