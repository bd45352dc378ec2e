// Runs that go on from another one, over real sockets: results and decisions, once only, repeats, and what is refused.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  gives,
  goOn,
  inOrder,
  MODEL,
  openAgentHouse,
  payloads,
  play,
  says,
  sentMessages,
  toolPath,
  type AgentHouse,
} from "../support/agent-house.ts";
import { eventsOf, post, startBody } from "../support/api.ts";
import { faultyFields, handleOf, newName, outcomeOf, problemOf } from "./house.ts";

let house: AgentHouse;

beforeAll(async () => {
  house = await openAgentHouse();
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const tools = [{ name: "ask_user", parameters: { type: "object" } }];

/** A run that ends with two approvals and a call of the client's open, beside one that the server has made. */
async function waitingRun(fields: Record<string, unknown> = {}): Promise<string> {
  const { provider, runs } = house;
  const opening = says("Let me see. ", [
    ["w", "wipe", { of: "disk" }],
    ["a", "ask_user", { q: 1 }],
    ["p", "pay", {}],
    ["k", "clock", {}],
  ]);
  provider.on(MODEL, inOrder(opening, says("All done."), says("Again."), says("And again.")));
  provider.on(toolPath("clock"), gives("noon"));
  provider.on(toolPath("wipe"), gives({ wiped: true }));
  provider.on(toolPath("pay"), gives({ paid: true }));
  const { outcome, runId } = await play(runs, { tools, prompt: "Tidy up.", ...fields });
  expect(outcome).toMatchObject({ stopReason: "tool_calls", pending: [{}, {}, {}] });
  expect(provider.calls(toolPath("wipe"))).toHaveLength(0);
  return runId;
}

const approve = (...ids: string[]) => ids.map((toolCallId) => ({ toolCallId, decision: "approve" }));
const deny = (...ids: string[]) => ids.map((toolCallId) => ({ toolCallId, decision: "deny" }));
const result = { toolCallId: "a", output: { yes: true } };

async function followed(response: Response): Promise<{ outcome: Record<string, unknown>; runId: string }> {
  const { runId } = await handleOf(response);
  return { outcome: await outcomeOf(house.server.origin, runId), runId };
}

test("R-NEXT-1 R-NEXT-2 R-STEP-3 results and decisions go on with the conversation, the rest of the request and its tools", async () => {
  const { provider, runs } = house;
  const previous = await waitingRun({ generation: { temperature: 0.5 }, maxSteps: 7 });
  const response = await goOn(
    runs,
    previous,
    { toolResults: [result], toolDecisions: [...approve("w"), ...deny("p")] },
    { accept: "text/event-stream" },
  );
  expect(response.status).toBe(200);
  const events = eventsOf(await response.text());
  expect(events.at(-1)?.payload).toMatchObject({ outcome: "completed", finalText: "All done." });
  expect(payloads(events, "tool_result")).toEqual([
    {
      toolCallId: "p",
      toolName: "pay",
      output: { success: false, denied: true, error: "The user denied this action and it was not executed." },
      decision: "deny",
    },
    { toolCallId: "w", toolName: "wipe", output: { wiped: true }, decision: "approve" },
  ]);
  // What was decided is carried out before any model is asked.
  const order = events.map(({ type }) => type);
  expect(order.lastIndexOf("tool_result")).toBeLessThan(order.indexOf("step"));
  expect(provider.calls(toolPath("wipe")).map(({ body }) => body)).toEqual(['{"of":"disk"}']);
  expect(provider.calls(toolPath("pay"))).toHaveLength(0);
  const sent: unknown = JSON.parse(provider.calls(MODEL)[1]?.body ?? "");
  expect(sent).toMatchObject({ temperature: 0.5 });
  const messages = sentMessages(provider, 1);
  expect(messages.slice(0, 2)).toMatchObject([
    { role: "user", content: "Tidy up." },
    { role: "assistant", content: "Let me see. ", tool_calls: [{ id: "w" }, { id: "a" }, { id: "p" }, { id: "k" }] },
  ]);
  const answers = messages.slice(2).map((message) => [message["role"], message["tool_call_id"], message["content"]]);
  // However they came, the model reads them in the order of its calls.
  expect(answers).toEqual([
    ["tool", "w", '{"wiped":true}'],
    ["tool", "a", '{"yes":true}'],
    ["tool", "p", expect.stringContaining("denied")],
    ["tool", "k", "noon"],
  ]);
});

test("R-NEXT-3 calls that nobody settles stay pending, no model is asked, and that run can be gone on from", async () => {
  const { provider, runs } = house;
  const first = await waitingRun();
  const second = await followed(await goOn(runs, first, { toolDecisions: approve("w") }));
  expect(second.outcome).toMatchObject({
    stopReason: "tool_calls",
    finalText: "",
    pending: [
      { toolCallId: "a", execution: "client" },
      { toolCallId: "p", execution: "server", confirmation: "required" },
    ],
  });
  expect(provider.calls(MODEL)).toHaveLength(1);
  expect(provider.calls(toolPath("wipe"))).toHaveLength(1);
  const third = await followed(await goOn(runs, second.runId, { toolResults: [result] }));
  expect(third.outcome).toMatchObject({ stopReason: "tool_calls", pending: [{ toolCallId: "p" }] });
  const last = await followed(await goOn(runs, third.runId, { toolDecisions: approve("p") }));
  expect(last.outcome).toMatchObject({ stopReason: "stop", finalText: "All done." });
  expect(provider.calls(toolPath("wipe"))).toHaveLength(1);
  expect(provider.calls(toolPath("pay"))).toHaveLength(1);
  const roles = sentMessages(provider, 1).map((message) => String(message["tool_call_id"] ?? message["role"]));
  expect(new Set(roles)).toEqual(new Set(["a", "assistant", "k", "p", "user", "w"]));
});

test("R-NEXT-4 of many continuations at once one starts, and an approved call is made once", async () => {
  const { provider, runs } = house;
  const previous = await waitingRun();
  const fields = { toolResults: [result], toolDecisions: approve("w", "p") };
  const answers = await Promise.all(Array.from({ length: 8 }, () => goOn(runs, previous, fields)));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  for (const answer of answers) {
    if (answer.status === 202) expect((await followed(answer)).outcome).toMatchObject({ finalText: "All done." });
    else expect(faultyFields(await problemOf(answer, 409, "conflict"))).toEqual(["/previousRunId"]);
  }
  const later = await problemOf(await goOn(runs, previous, fields), 409, "conflict");
  expect(faultyFields(later)).toEqual(["/previousRunId"]);
  expect(provider.calls(toolPath("wipe"))).toHaveLength(1);
  expect(provider.calls(toolPath("pay"))).toHaveLength(1);
  expect(provider.calls(MODEL)).toHaveLength(2);
});

test("R-NEXT-4 forgetting the run that went on does not open the earlier one again", async () => {
  const { provider, runs } = house;
  const previous = await waitingRun();
  const fields = { requestId: newName(), toolResults: [result], toolDecisions: approve("w", "p") };
  const { runId } = await followed(await goOn(runs, previous, fields));
  expect((await fetch(`${runs}/${runId}`, { method: "DELETE" })).status).toBe(204);
  await problemOf(await goOn(runs, previous, fields), 409, "conflict");
  await problemOf(await goOn(runs, previous, { ...fields, requestId: newName() }), 409, "conflict");
  expect(provider.calls(toolPath("wipe"))).toHaveLength(1);
});

test("R-NEXT-6 a repeat with the same key or name is the same run, also at the same moment and after its end", async () => {
  const { provider, runs } = house;
  const previous = await waitingRun();
  const fields = { toolResults: [result], toolDecisions: approve("w", "p") };
  const key = { "idempotency-key": newName() };
  const both = await Promise.all([goOn(runs, previous, fields, key), goOn(runs, previous, fields, key)]);
  const ids = await Promise.all(both.map(async (answer) => (await handleOf(answer)).runId));
  expect(ids[0]).toBe(ids[1]);
  await outcomeOf(house.server.origin, ids[0] ?? "");
  const again = await handleOf(await goOn(runs, previous, fields, key));
  expect(again.runId).toBe(ids[0]);
  const stream = await goOn(runs, previous, fields, { ...key, accept: "text/event-stream", "last-event-id": "3" });
  expect(eventsOf(await stream.text())[0]?.sequence).toBe(4);
  const other = await goOn(runs, previous, { toolDecisions: approve("w") }, key);
  expect(faultyFields(await problemOf(other, 409, "conflict"))).toEqual([""]);
  expect(provider.calls(toolPath("wipe"))).toHaveLength(1);
  expect(provider.calls(MODEL)).toHaveLength(2);
});

test("R-NEXT-1 only a run that has completed and waits can be gone on from", async () => {
  const { provider, runs } = house;
  const fields = { toolResults: [result] };
  provider.on(MODEL, inOrder(says("Nothing to do.")));
  const plain = await play(runs, {});
  const problem = await problemOf(await goOn(runs, plain.runId, fields), 409, "conflict");
  expect(faultyFields(problem)).toEqual(["/previousRunId"]);
  provider.on(MODEL, [{ step: "hang" }]);
  const live = await handleOf(await post(runs, startBody({ serverTools: ["*"] })));
  await problemOf(await goOn(runs, live.runId, fields), 409, "conflict");
  await post(`${runs}/${live.runId}/cancel`, {});
  await problemOf(await goOn(runs, live.runId, fields), 409, "conflict");
  const unknown = await problemOf(await goOn(runs, newName(), fields), 404, "not_found");
  expect(faultyFields(unknown)).toEqual(["/previousRunId"]);
});

test("R-NEXT-5 what does not fit is refused by field, and leaves the earlier run waiting", async () => {
  const { provider, runs } = house;
  const previous = await waitingRun();
  for (const [fields, path] of [
    [{ toolResults: [{ toolCallId: "x", output: 1 }] }, "/toolResults/0/toolCallId"],
    [{ toolResults: [result, { toolCallId: "w", output: 1 }] }, "/toolResults/1/toolCallId"],
    [{ toolDecisions: approve("a") }, "/toolDecisions/0/toolCallId"],
    [{ toolDecisions: approve("k") }, "/toolDecisions/0/toolCallId"],
    [{ toolDecisions: [...approve("w"), ...deny("w")] }, "/toolDecisions/1/toolCallId"],
    [{ toolResults: [result], messages: [{ role: "user", content: "x" }] }, "/messages"],
    [{ toolResults: [result], route: "nowhere" }, "/route"],
    [{}, "/previousRunId"],
  ] satisfies [Record<string, unknown>, string][]) {
    const problem = await problemOf(await goOn(runs, previous, fields), 400, "invalid_request");
    expect(faultyFields(problem), JSON.stringify(fields)).toEqual([path]);
  }
  const body = startBody({ previousRunId: previous, toolResults: [result] });
  expect(faultyFields(await problemOf(await post(runs, body), 400, "invalid_request"))).toEqual(["/prompt"]);
  expect(provider.calls(MODEL)).toHaveLength(1);
  const { outcome } = await followed(
    await goOn(runs, previous, { toolResults: [result], toolDecisions: deny("w", "p") }),
  );
  expect(outcome).toMatchObject({ finalText: "All done." });
});

test("R-NEXT-2 a run without server tools is gone on from with the client's results alone", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(says("", [["a", "ask_user", { password: "p" }]]), says("Thanks.")));
  const start = await handleOf(await post(runs, startBody({ tools })));
  await outcomeOf(house.server.origin, start.runId);
  const { outcome } = await followed(
    await goOn(runs, start.runId, { toolResults: [{ toolCallId: "a", output: "no", isError: true }] }),
  );
  expect(outcome).toMatchObject({ stopReason: "stop", finalText: "Thanks." });
  expect(sentMessages(provider, 1)).toMatchObject([
    { role: "user" },
    { role: "assistant", tool_calls: [{ id: "a", function: { arguments: '{"password":"p"}' } }] },
    { role: "tool", tool_call_id: "a", content: "no" },
  ]);
  const offered: unknown = JSON.parse(provider.calls(MODEL)[1]?.body ?? "");
  expect(offered).toMatchObject({ tools: [{ function: { name: "ask_user" } }] });
});

test("R-NEXT-1 R-NEXT-7 a run that ended at its limit of steps goes on by its name alone, with the conversation as it stands", async () => {
  const { provider, runs } = house;
  const step = (number: number) => says(`Step ${number}. `, [[`k${number}`, "clock"]]);
  provider.on(MODEL, inOrder(step(1), step(2), step(3), says("All done.")));
  provider.on(toolPath("clock"), gives("noon"));
  const { outcome, runId, events } = await play(runs, { prompt: "Go.", maxSteps: 2 });
  expect(outcome).toMatchObject({ stopReason: "max_steps" });
  expect(payloads(events, "max_steps")).toEqual([{ maxSteps: 2, canContinue: true }]);
  for (const [fields, path] of [
    [{ toolResults: [{ toolCallId: "k2", output: 1 }] }, "/toolResults/0/toolCallId"],
    [{ toolDecisions: approve("k2") }, "/toolDecisions/0/toolCallId"],
  ] satisfies [Record<string, unknown>, string][]) {
    expect(faultyFields(await problemOf(await goOn(runs, runId, fields), 400, "invalid_request"))).toEqual([path]);
  }
  // The limit is inherited, and counts anew.
  const { outcome: last } = await followed(await goOn(runs, runId, {}));
  expect(last).toMatchObject({ stopReason: "stop", finalText: "Step 3. All done." });
  const roles = sentMessages(provider, 2).map((message) => [message["role"], message["content"]]);
  expect(roles).toEqual([
    ["user", "Go."],
    ["assistant", "Step 1. "],
    ["tool", "noon"],
    ["assistant", "Step 2. "],
    ["tool", "noon"],
  ]);
  await problemOf(await goOn(runs, runId, {}), 409, "conflict");
});
