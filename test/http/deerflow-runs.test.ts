// Runs of the DeerFlow family over sockets: started in every way, waited for, joined, cancelled, resumed.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { gives, inOrder, MODEL, says, sentMessages, toolPath } from "../support/agent-house.ts";
import { framesOf } from "../support/api.ts";
import {
  endless,
  events,
  jsonOf,
  lastValues,
  listOf,
  newThreadId,
  openDeerHouse,
  refusalOf,
  runIdOf,
  runOf,
  saying,
  textsOf,
  type DeerHouse,
  type Json,
} from "../support/deerflow.ts";
import { errorScript } from "../support/provider-bytes/scripts.ts";
import { until } from "./house.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/;
const GRACE_MS = 600;

let house: DeerHouse;

beforeAll(async () => {
  house = await openDeerHouse({ heartbeatMs: 100, attachWaitMs: 500 }, { deerflow: { disconnectGraceMs: GRACE_MS } });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const get = async (path: string): Promise<Json> => jsonOf(await house.call("GET", path));
const start = (threadId: string, fields: Json = {}, how = "", signal?: AbortSignal): Promise<Response> =>
  fetch(`${house.server.origin}/api/threads/${threadId}/runs${how}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(saying("Hi", fields)),
    ...(signal !== undefined && { signal }),
  });
const statusOf = async (threadId: string, runId: string): Promise<unknown> =>
  (await get(`/threads/${threadId}/runs/${runId}`))["status"];
const ends = (threadId: string, runId: string, status: string): Promise<void> =>
  until(async () => (await statusOf(threadId, runId)) === status, `the run is ${status}`);
test("R-DFH-12 a stream names its run and where it goes on, and begins with metadata", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const { runId, headers, frames, values } = await house.run(id);
  expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(headers.get("cache-control")).toBe("no-cache");
  expect(headers.get("x-accel-buffering")).toBe("no");
  expect(headers.get("content-location")).toBe(`/api/threads/${id}/runs/${runId}`);
  expect(headers.get("location")).toBe(`/threads/${id}/runs/${runId}/stream`);
  expect(events(frames)[0]).toBe("metadata");
  expect(JSON.parse(frames[0]?.data ?? "")).toEqual({ run_id: runId, thread_id: id });
  expect(events(frames).at(-1)).toBe("end");
  expect(textsOf(values)).toEqual(["Hi", "Hello."]);
  expect(new Set(frames.map(({ id: frame }) => frame)).size).toBe(frames.length);
});

test("R-DFH-12 a run in the background is answered as it stands, and told the same by its name and in the list", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const fields = {
    assistant_id: "anything",
    metadata: { a: 1 },
    config: { recursion_limit: 5, configurable: { api_key: "secret" } },
    multitask_strategy: "interrupt",
  };
  const response = await start(id, fields);
  const run = await jsonOf(response);
  const runId = String(run["run_id"]);
  expect(response.headers.get("content-location")).toBe(`/api/threads/${id}/runs/${runId}`);
  expect(run).toMatchObject({
    thread_id: id,
    assistant_id: "anything",
    status: expect.stringMatching(/^(pending|running)$/),
    metadata: { a: 1 },
    kwargs: { input: saying("Hi")["input"], config: { recursion_limit: 5, configurable: {} } },
    multitask_strategy: "interrupt",
    created_at: expect.stringMatching(TIME),
    updated_at: expect.stringMatching(TIME),
    stop_reason: null,
    error: null,
    llm_call_count: 0,
  });
  await ends(id, runId, "success");
  const ended = await get(`/threads/${id}/runs/${runId}`);
  expect(ended).toMatchObject({ llm_call_count: 1, message_count: 2, subagent_tokens: 0, middleware_tokens: 0 });
  expect(ended["total_tokens"]).toBe(Number(ended["total_input_tokens"]) + Number(ended["total_output_tokens"]));
  expect(ended["lead_agent_tokens"]).toBe(ended["total_tokens"]);
  expect(await listOf(await house.call("GET", `/threads/${id}/runs?limit=10&offset=0`))).toEqual([ended]);
  expect(await refusalOf(await house.call("GET", `/threads/${id}/runs/nobody`))).toEqual([404, "Run nobody not found"]);
});

test("R-DFH-12 a run makes its thread only when it says so; one without a thread in its path always does", async () => {
  house.provider.on(MODEL, says("Hello."));
  const id = newThreadId();
  expect(await refusalOf(await start(id, {}, "/wait"))).toEqual([404, `Thread ${id} not found`]);
  const made = await jsonOf(await start(id, { if_not_exists: "create" }, "/wait"));
  expect(textsOf(made)).toEqual(["Hi", "Hello."]);
  const free = await house.call("POST", "/runs/stream", saying("Hi"));
  const location = free.headers.get("location") ?? "";
  expect(location).toMatch(/^\/threads\/[0-9a-f-]{36}\/runs\/[^/]+\/stream$/);
  expect(textsOf((await runOf(free)).values)).toEqual(["Hi", "Hello."]);
  const named = newThreadId();
  const config = { configurable: { thread_id: named } };
  expect(textsOf(await jsonOf(await house.call("POST", "/runs/wait", saying("Hi", { config }))))).toHaveLength(2);
  const background = await jsonOf(await house.call("POST", "/runs", saying("More", { config })));
  expect(background["thread_id"]).toBe(named);
  await ends(named, String(background["run_id"]), "success");
});

test("R-DFH-10 what would stop before nodes or show graphs within is taken and changes nothing", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const fields = {
    interrupt_before: "*",
    interrupt_after: ["model"],
    stream_subgraphs: true,
    stream_mode: ["updates"],
  };
  const { runId, frames } = await house.run(id, fields);
  expect(events(frames)).toEqual(["metadata", "updates", "custom", "end"]);
  expect(await statusOf(id, runId)).toBe("success");
});

test("R-DFH-11 a model is chosen by a route or a target, else by the agent's name, else it is the default", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("A."));
  house.provider.on("/openai-b/chat/completions", says("B."));
  const answerTo = async (fields: Json): Promise<unknown> =>
    textsOf(await jsonOf(await start(id, fields, "/wait"))).at(-1);
  expect(await answerTo({ context: { model_name: "openai-b" } })).toBe("B.");
  expect(await answerTo({ context: { model_name: "default" } })).toBe("A.");
  expect(await answerTo({ config: { configurable: { model_name: "openai-b" } }, assistant_id: "default" })).toBe("B.");
  expect(await answerTo({ assistant_id: "default" })).toBe("A.");
  expect(await answerTo({ assistant_id: "lead_agent" })).toBe("A.");
});

test("R-DFH-11 recursion_limit bounds the steps, and the run tells that it was capped", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("", [["a", "clock"]]), says("", [["b", "clock"]]), says("Late.")));
  house.provider.on(toolPath("clock"), gives("noon"));
  const { runId } = await house.run(id, { config: { recursion_limit: 1 } });
  expect(house.provider.calls(MODEL)).toHaveLength(1);
  expect((await get(`/threads/${id}/runs/${runId}`))["stop_reason"]).toBe("loop_capped");
  house.provider.on(MODEL, says("", [["a", "clock"]]));
  for (const limit of [0, -5, 1.5]) {
    const before = house.provider.calls(MODEL).length;
    await house.run(id, { config: { recursion_limit: limit } });
    expect(house.provider.calls(MODEL)).toHaveLength(before + 1);
  }
});

test("R-DFH-11 a run begins at a checkpoint, and its thread goes on from there", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("One."), says("Two."), says("Other."), says("Third.")));
  await house.run(id);
  const { checkpoint } = await get(`/threads/${id}/state`);
  await house.run(id, saying("And?"));
  const forked = await house.run(id, saying("Or?", { checkpoint }));
  expect(textsOf(forked.values)).toEqual(["Hi", "One.", "Or?", "Other."]);
  expect(sentMessages(house.provider, 2).map(({ content }) => content)).toEqual(["Hi", "One.", "Or?"]);
  expect(textsOf(Object((await get(`/threads/${id}/state`))["values"]))).toEqual(["Hi", "One.", "Or?", "Other."]);
  const { checkpoint_id: named } = Object(checkpoint);
  const again = await house.run(id, saying("Well?", { config: { configurable: { checkpoint_id: named } } }));
  expect(textsOf(again.values)).toEqual(["Hi", "One.", "Well?", "Third."]);
});

test("R-DFH-11 messages are taken in every spelling, and keep nothing that only a server may say", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Done."));
  const messages = [
    { type: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Hi" }], additional_kwargs: { turn_duration: 9, files: [1] } },
    { role: "assistant", content: "", tool_calls: [{ name: "f", args: { a: 1 }, id: "c" }] },
    { role: "tool", content: "r", tool_call_id: "c" },
    { type: "human", content: "And?", id: "mine", name: "Ann" },
  ];
  const { values } = await house.run(id, { input: { messages } });
  const kept: Json[] = Object(values).messages;
  expect(kept.map(({ type }) => type)).toEqual(["system", "human", "ai", "tool", "human", "ai"]);
  expect(kept[1]?.["additional_kwargs"]).toEqual({ files: [1] });
  expect(kept[2]?.["tool_calls"]).toEqual([{ name: "f", args: { a: 1 }, id: "c", type: "tool_call" }]);
  expect(kept[4]).toMatchObject({ id: "mine", name: "Ann", content: "And?" });
  expect(kept.every(({ id: one }) => typeof one === "string" && one !== "")).toBe(true);
  expect(sentMessages(house.provider, 0).map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "tool",
    "user",
  ]);
});

test("R-DFH-13 a thread has one active run: another is refused, or ends it first", async () => {
  const id = await house.thread();
  const first = await house.hanging(id);
  expect(await refusalOf(await start(id, {}, "/stream"))).toEqual([409, `Thread ${id} already has an active run`]);
  expect((await get(`/threads/${id}`))["status"]).toBe("busy");
  expect(await refusalOf(await house.call("DELETE", `/threads/${id}`))).toEqual([
    409,
    "Thread has work in flight. Delete it after the work finishes.",
  ]);
  expect(await refusalOf(await house.call("POST", `/threads/${id}/state`, { values: {} }))).toEqual([
    409,
    "Thread has a run in flight. Update state after the run finishes.",
  ]);
  house.provider.on(MODEL, says("Second."));
  const second = await runOf(await start(id, saying("Now?", { multitask_strategy: "interrupt" }), "/stream"));
  expect(await statusOf(id, first.runId)).toBe("interrupted");
  expect(textsOf(second.values)).toEqual(["Hi", "Once ", "Now?", "Second."]);
  expect(events(framesOf(await first.rest())).at(-1)).toBe("end");
  const third = await house.hanging(id);
  house.provider.on(MODEL, says("Fourth."));
  const fourth = await runOf(await start(id, saying("Anew", { multitask_strategy: "rollback" }), "/stream"));
  expect(await get(`/threads/${id}/runs/${third.runId}`)).toMatchObject({
    status: "error",
    error: "Rolled back by user",
  });
  expect(textsOf(fourth.values)).toEqual(["Hi", "Once ", "Now?", "Second.", "Anew", "Fourth."]);
  await third.leave();
});

test("R-DFH-14 wait and join answer the final values; join gives the stream to a client that names it", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const waited = await start(id, {}, "/wait");
  const runId = runIdOf(waited);
  expect(waited.headers.get("content-type")).toBe("application/json");
  const values = await jsonOf(waited);
  expect(textsOf(values)).toEqual(["Hi", "Hello."]);
  expect(await get(`/threads/${id}/runs/${runId}/join?cancel_on_disconnect=0`)).toEqual(values);
  const stream = await house.call("GET", `/threads/${id}/runs/${runId}/join`, undefined, {
    accept: "text/event-stream",
  });
  expect(textsOf((await runOf(stream)).values)).toEqual(["Hi", "Hello."]);
});

test("R-DFH-14 while a run goes on its waiters get white space, and all of them the same end", async () => {
  const id = await house.thread();
  const { runId, leave } = await house.hanging(id);
  const join = await house.call("GET", `/threads/${id}/runs/${runId}/join`);
  const reader = join.body?.getReader();
  const first = await reader?.read();
  expect(new TextDecoder().decode(first?.value).trim()).toBe("");
  await house.call("POST", `/threads/${id}/runs/${runId}/cancel?wait=1`);
  let rest = "";
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    rest += new TextDecoder().decode(read.value);
  }
  expect(textsOf(JSON.parse(rest))).toEqual(["Hi", "Once "]);
  await leave();
});

test("R-DFH-14 what waits for a decision, and how a run failed, stand beside the values", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("", [["w", "wipe", { of: "all" }]]), errorScript(400, {}, "{}")));
  const waiting = await jsonOf(await start(id, {}, "/wait"));
  expect(waiting["__interrupt__"]).toEqual([
    { id: "w", value: expect.objectContaining({ name: "wipe", args: { of: "all" }, needs: "decision" }) },
  ]);
  const failed = await jsonOf(await start(id, {}, "/wait"));
  expect(failed["__error__"]).toEqual({ error: "error", message: expect.any(String) });
  const [run] = await listOf(await house.call("GET", `/threads/${id}/runs`));
  expect(run).toMatchObject({ status: "error", error: Object(failed["__error__"]).message });
  expect((await get(`/threads/${id}`))["status"]).toBe("error");
});

test("R-DFH-14 a join of an earlier run answers what that run left, whatever came after it", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("One."), says("", [["w", "wipe"]]), says("As you like.")));
  const joined = async (runId: string): Promise<Json> => get(`/threads/${id}/runs/${runId}/join`);
  const first = await house.run(id);
  const waiting = await house.run(id, saying("Wipe it."));
  const told = await joined(waiting.runId);
  expect(told["__interrupt__"]).toMatchObject([{ id: "w" }]);
  await house.run(id, saying("No."));
  expect(textsOf(await joined(first.runId))).toEqual(["Hi", "One."]);
  expect(await joined(waiting.runId)).toEqual(told);
  const undone = await house.hanging(id, saying("Undo me"));
  await house.call("POST", `/threads/${id}/runs/${undone.runId}/cancel?wait=1&action=rollback`);
  await undone.leave();
  const before = textsOf(Object((await get(`/threads/${id}/state`))["values"]));
  house.provider.on(MODEL, says("Last."));
  await house.run(id, saying("More"));
  expect(await joined(undone.runId)).toMatchObject({ __error__: { error: "error", message: "Rolled back by user" } });
  expect(textsOf(await joined(undone.runId))).toEqual(before);
});

test("R-DFH-14 a join of a run that is carried out elsewhere waits for its end as well", async () => {
  const id = await house.thread();
  const path = `/threads/${id}/runs/pushed`;
  const message = (event: string, content: Json, metadata: Json): Json => ({
    event_type: event,
    category: "message",
    content,
    metadata: { caller: "lead_agent", ...metadata },
  });
  const asked = message("llm.human.input", { type: "human", content: "Hi", id: "h" }, {});
  await jsonOf(await house.call("POST", `${path}/events`, { sequence: 0, records: [asked] }));
  const join = await house.call("GET", `${path}/join`);
  const reader = join.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value?.trim()).toBe("");
  const answer = message(
    "llm.ai.response",
    { type: "ai", content: "Hello.", id: "a", tool_calls: [] },
    { usage: {}, latency_ms: 1, llm_call_index: 1 },
  );
  const last = { sequence: 1, records: [answer], end: { status: "success" } };
  await jsonOf(await house.call("POST", `${path}/events`, last));
  let rest = "";
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) rest += read.value;
  const values: Json = JSON.parse(rest);
  expect(textsOf(values)).toEqual(textsOf(Object((await get(`/threads/${id}/state`))["values"])));
  expect(textsOf(values)).toContain("Hello.");
  expect(await get(`${path}/join`)).toEqual(values);
});

test("R-DFH-15 a join goes on after the frame that was seen last; with an id that says nothing it begins anew", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const whole = await house.run(id, { stream_mode: ["values", "messages-tuple", "updates", "custom"] });
  const path = `/threads/${id}/runs/${whole.runId}/stream`;
  const rest = async (cursor?: string, method = "GET"): Promise<string> => {
    const answer = await house.call(method, path, undefined, cursor === undefined ? {} : { "last-event-id": cursor });
    expect([answer.status, answer.headers.get("location")]).toEqual([200, path]);
    return answer.text();
  };
  const bare = (raw: string): string => raw.replaceAll(/^(retry: \d+|: .*)\n/gm, "");
  for (const cursor of [undefined, "-1", "nonsense", ""]) expect(bare(await rest(cursor))).toBe(bare(whole.raw));
  for (const [index, { id: cursor = "" }] of whole.frames.entries()) {
    const frames = framesOf(await rest(cursor, index % 2 === 0 ? "GET" : "POST"));
    const expected = whole.frames.slice(index + 1);
    expect(frames).toEqual(expected.length > 0 ? expected : frames);
    if (expected.length > 0) expect(events(frames).at(-1)).toBe("end");
  }
});

test("R-DFH-15 a stream that is joined with an action is cancelled first", async () => {
  const id = await house.thread();
  const first = await house.hanging(id);
  const joined = await runOf(await house.call("GET", `/threads/${id}/runs/${first.runId}/stream?action=interrupt`));
  expect(events(joined.frames).at(-1)).toBe("end");
  expect(await statusOf(id, first.runId)).toBe("interrupted");
  await first.leave();
  const second = await house.hanging(id);
  const path = `/threads/${id}/runs/${second.runId}/stream?action=rollback&wait=1`;
  const answer = await house.call("POST", path);
  expect([answer.status, await answer.text()]).toEqual([204, ""]);
  expect(await statusOf(id, second.runId)).toBe("error");
  expect(await refusalOf(await house.call("POST", path))).toEqual([
    409,
    `Run ${second.runId} is not cancellable (status: error)`,
  ]);
  await second.leave();
});

test("R-DFH-16 a cancel is accepted at once or answered at the end, again for an interrupted run, and refused for an ended one", async () => {
  const id = await house.thread();
  const { runId, leave } = await house.hanging(id);
  const cancel = (query = ""): Promise<Response> => house.call("POST", `/threads/${id}/runs/${runId}/cancel${query}`);
  const accepted = await cancel("?wait=0&action=interrupt");
  expect([accepted.status, await accepted.text()]).toEqual([202, ""]);
  expect((await cancel("?wait=1")).status).toBe(204);
  expect(await statusOf(id, runId)).toBe("interrupted");
  expect((await cancel()).status).toBe(202);
  expect(textsOf(Object((await get(`/threads/${id}/state`))["values"]))).toEqual(["Hi", "Once "]);
  await leave();
  house.provider.on(MODEL, says("Done."));
  const done = await house.run(id);
  expect(await refusalOf(await house.call("POST", `/threads/${id}/runs/${done.runId}/cancel`))).toEqual([
    409,
    `Run ${done.runId} is not cancellable (status: success)`,
  ]);
  const other = await house.thread();
  for (const path of [`/threads/${id}/runs/nobody`, `/threads/${other}/runs/${runId}`]) {
    const named = path.split("/").at(-1);
    expect(await refusalOf(await house.call("POST", `${path}/cancel`))).toEqual([404, `Run ${named} not found`]);
  }
});

test("R-DFH-16 a rollback leaves the state as it was before the run", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("One."));
  await house.run(id);
  const { runId, leave } = await house.hanging(id, saying("Undo me"));
  expect((await house.call("POST", `/threads/${id}/runs/${runId}/cancel?wait=1&action=rollback`)).status).toBe(204);
  expect(await get(`/threads/${id}/runs/${runId}`)).toMatchObject({ status: "error", error: "Rolled back by user" });
  expect(textsOf(Object((await get(`/threads/${id}/state`))["values"]))).toEqual(["Hi", "One."]);
  await leave();
});

/** A run that is left now has ended: one that was left before has been without readers for longer. */
async function graceGoesBy(): Promise<void> {
  const id = await house.thread();
  const leave = new AbortController();
  const left = await start(id, {}, "/stream", leave.signal);
  leave.abort();
  await ends(id, runIdOf(left), "interrupted");
}

test("R-DFH-17 a run that nobody reads any more is cancelled after the grace; a reader in between keeps it", async () => {
  const id = await house.thread();
  const leave = new AbortController();
  house.provider.on(MODEL, endless());
  const left = await start(id, {}, "/stream", leave.signal);
  const runId = runIdOf(left);
  leave.abort();
  await ends(id, runId, "interrupted");
  const other = await house.thread();
  const away = new AbortController();
  const first = await start(other, {}, "/stream", away.signal);
  const kept = runIdOf(first);
  const reader = await house.call("GET", `/threads/${other}/runs/${kept}/stream`);
  away.abort();
  await graceGoesBy();
  expect(await statusOf(other, kept)).toBe("running");
  await reader.body?.cancel();
  await ends(other, kept, "interrupted");
});

test("R-DFH-17 a run that goes on without readers, and one in the background, are not ended by a reader's leaving", async () => {
  for (const [how, fields] of [
    ["/stream", { on_disconnect: "continue" }],
    ["", {}],
  ] as const) {
    const id = await house.thread();
    house.provider.on(MODEL, endless());
    const away = new AbortController();
    const started = await start(id, fields, how, away.signal);
    const runId = runIdOf(started);
    if (how === "") await (await house.call("GET", `/threads/${id}/runs/${runId}/stream`)).body?.cancel();
    away.abort();
    await graceGoesBy();
    expect(await statusOf(id, runId)).toBe("running");
    await house.call("POST", `/threads/${id}/runs/${runId}/cancel?wait=1`);
  }
});

test("R-DFH-17 a run in the background that nobody has read yet is not ended, only once its first reader has left", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, endless());
  const runId = runIdOf(await start(id, { on_disconnect: "cancel" }));
  await graceGoesBy();
  expect(await statusOf(id, runId)).toBe("running");
  await (await house.call("GET", `/threads/${id}/runs/${runId}/stream`)).body?.cancel();
  await ends(id, runId, "interrupted");
});

test("R-DFH-18 a run that waits is gone on from with decisions and results, in the thread", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("", [["w", "wipe"]]), says("Wiped."), says("Fine.")));
  house.provider.on(toolPath("wipe"), gives("gone"));
  const first = await house.run(id);
  expect(Object(lastValues(first.frames))["__interrupt__"]).toMatchObject([{ id: "w" }]);
  const thread = await get(`/threads/${id}`);
  expect(thread["status"]).toBe("interrupted");
  expect(Object.values(Object(thread["interrupts"])).flat()).toMatchObject([{ id: "w", value: { name: "wipe" } }]);
  expect(await get(`/threads/${id}/state`)).toMatchObject({
    next: ["tools"],
    tasks: [{ name: "tools", interrupts: [{ id: "w" }] }],
  });
  const resume = { decisions: [{ toolCallId: "w", decision: "approve" }] };
  const second = await runOf(await start(id, { input: null, command: { resume } }, "/stream"));
  expect(textsOf(second.values)).toEqual(["Hi", "", "gone", "Wiped."]);
  expect(house.provider.calls(toolPath("wipe"))).toHaveLength(1);
  expect((await get(`/threads/${id}`))["status"]).toBe("idle");
  expect(await refusalOf(await start(id, { input: null, command: { resume } }, "/stream"))).toEqual([
    409,
    `Thread ${id} has no interrupted run that can be resumed`,
  ]);
});

test("R-DFH-18 a text as answer to an interrupt is a user's message: what waited is not carried out", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("", [["w", "wipe"]]), says("As you like.")));
  await house.run(id);
  const { values } = await runOf(await start(id, { input: null, command: { resume: "No, stop." } }, "/stream"));
  expect(textsOf(values).slice(-2)).toEqual(["No, stop.", "As you like."]);
  expect(house.provider.calls(toolPath("wipe"))).toHaveLength(0);
  expect(sentMessages(house.provider, 1).map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
});

test("R-DFH-18 a call that waits no more in the state is carried out by no answer", async () => {
  const resume = { decisions: [{ toolCallId: "w", decision: "approve" }] };
  const waits = async (): Promise<{ id: string; before: unknown; asking: unknown }> => {
    const id = await house.thread();
    house.provider.on(MODEL, says("One."));
    await house.run(id);
    const before = (await get(`/threads/${id}/state`))["checkpoint_id"];
    house.provider.on(MODEL, says("", [["w", "wipe"]]));
    const { values } = await house.run(id);
    expect(await get(`/threads/${id}`)).toMatchObject({ status: "interrupted" });
    return { id, before, asking: Object(values)["messages"].at(-1)["id"] };
  };
  const changed = async (id: string, body: Json): Promise<void> => {
    const state = await jsonOf(await house.call("POST", `/threads/${id}/state`, body));
    expect(state).toMatchObject({ next: [], tasks: [] });
    expect(await get(`/threads/${id}`)).toMatchObject({ status: "idle", interrupts: {} });
    expect(await refusalOf(await start(id, { input: null, command: { resume } }, "/wait"))).toEqual([
      409,
      `Thread ${id} has no interrupted run that can be resumed`,
    ]);
    expect((await get(`/threads/${id}/state`))["values"]).toEqual(state["values"]);
  };
  const answered = await waits();
  const result = { type: "tool", tool_call_id: "w", content: "by hand", id: "t1" };
  await changed(answered.id, { values: { messages: [result] } });
  const removed = await waits();
  await changed(removed.id, { values: { messages: [{ type: "remove", id: removed.asking }] } });
  const forked = await waits();
  await changed(forked.id, { values: { title: "Forked" }, checkpoint_id: forked.before });
  expect(house.provider.calls(toolPath("wipe"))).toHaveLength(0);
});

test("R-DFH-18 what waits again, since the run after it was undone, or at the checkpoint that is named, can be gone on from", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("", [["w", "wipe"]]));
  house.provider.on(toolPath("wipe"), gives("gone"));
  await house.run(id);
  const resume = { decisions: [{ toolCallId: "w", decision: "approve" }] };
  const { runId, leave } = await house.hanging(id, saying("Undo me"));
  await house.call("POST", `/threads/${id}/runs/${runId}/cancel?wait=1&action=rollback`);
  await leave();
  const state = await get(`/threads/${id}/state`);
  expect(state).toMatchObject({ next: ["tools"], tasks: [{ interrupts: [{ id: "w" }] }] });
  house.provider.on(MODEL, says("Leave it, then."));
  await house.run(id);
  expect((await get(`/threads/${id}/state`))["tasks"]).toEqual([]);
  house.provider.on(MODEL, says("Wiped."));
  const fields = { input: null, command: { resume }, checkpoint_id: state["checkpoint_id"] };
  const { values } = await runOf(await start(id, fields, "/stream"));
  expect(textsOf(values)).toEqual(["Hi", "", "gone", "Wiped."]);
  expect(house.provider.calls(toolPath("wipe"))).toHaveLength(1);
});

test("R-DFH-18 of two calls that waited only the one that still does is answered; the model reads the state's result of the other", async () => {
  const id = await house.thread();
  house.provider.on(
    MODEL,
    says("", [
      ["a", "wipe"],
      ["b", "wipe"],
    ]),
  );
  house.provider.on(toolPath("wipe"), gives("gone"));
  await house.run(id);
  const result = { type: "tool", tool_call_id: "a", content: "by hand", id: "t1" };
  const state = await jsonOf(await house.call("POST", `/threads/${id}/state`, { values: { messages: [result] } }));
  expect(state["tasks"]).toMatchObject([{ interrupts: [{ id: "b" }] }]);
  house.provider.on(MODEL, says("Both are."));
  const approve = (toolCallId: string) => ({ decisions: [{ toolCallId, decision: "approve" }] });
  const other = await start(id, { input: null, command: { resume: approve("a") } }, "/wait");
  expect(other.status).toBe(422);
  const { values } = await runOf(await start(id, { input: null, command: { resume: approve("b") } }, "/stream"));
  expect(textsOf(values)).toEqual(["Hi", "", "by hand", "gone", "Both are."]);
  expect(house.provider.calls(toolPath("wipe"))).toHaveLength(1);
  expect(sentMessages(house.provider, house.provider.calls(MODEL).length - 1).slice(-2)).toMatchObject([
    { role: "tool", tool_call_id: "a", content: "by hand" },
    { role: "tool", tool_call_id: "b", content: "gone" },
  ]);
});

test("R-DFH-18 an answer that says nothing, or names no open call, is refused, and the run still waits", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("", [["w", "wipe"]]), says("Kept.")));
  await house.run(id);
  const refused = async (resume: unknown) =>
    refusalOf(await start(id, { input: null, command: { resume } }, "/stream"));
  const at = ["body", "command", "resume"];
  expect(await refused({})).toEqual([
    422,
    [
      {
        type: "value_error",
        loc: at,
        msg: "Value error, needs decisions or results",
        input: {},
        ctx: { error: "needs decisions or results" },
      },
    ],
  ]);
  expect(await refused({ decisions: [{ toolCallId: "w", decision: "maybe" }] })).toEqual([
    422,
    [expect.objectContaining({ type: "literal_error", loc: [...at, "decisions", 0, "decision"] })],
  ]);
  expect(await refused({ results: [{ toolCallId: "nobody", output: 1 }] })).toEqual([
    422,
    [expect.objectContaining({ type: "value_error", loc: [...at, "results", 0, "toolCallId"], input: "nobody" })],
  ]);
  expect((await get(`/threads/${id}`))["status"]).toBe("interrupted");
  const deny = { decisions: [{ toolCallId: "w", decision: "deny" }] };
  const { values } = await runOf(await start(id, { input: null, command: { resume: deny } }, "/stream"));
  expect(textsOf(values).at(-1)).toBe("Kept.");
});
