// Turns over the wire: the order of their events, what the model is sent, what is stored, and the same turn asked for again.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { gives, says, toolPath } from "../support/agent-house.ts";
import { ANTHROPIC_STREAM_TYPE, anthropicMessages } from "../support/provider-bytes/anthropic-messages.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { answerScript, errorScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { anthropic, pathOf } from "../support/scripted-targets.ts";
import {
  GENERATED_TITLE,
  modelCalls,
  modelSays,
  openSvedaHouse,
  sentBody,
  type SvedaHouse,
} from "../support/sveda-house.ts";
import { svedaFrames, svedaText } from "../support/sveda.ts";
import { exchange, newName } from "./house.ts";

const NO_LIMIT = { stream: "0,1", token: "0,1", activePerVisitor: 0 };

let house: SvedaHouse;

beforeAll(async () => {
  house = await openSvedaHouse({ maxSteps: 2, systemPrompt: "Be kind.", limits: NO_LIMIT }, { attachWaitMs: 0 });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const usage = { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42 };
const words = (deltas: readonly string[]) => streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas, usage }));
const cut = (deltas: readonly string[]) =>
  streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas, finishReason: null, done: false }), { end: "fin" });

/** Turns of a chat that has its title: no better one is looked for. */
async function titledChat() {
  const visitor = await house.visitor();
  const chatId = newName();
  modelSays(house.provider, says("Hello."));
  await visitor.turn({ prompt: "Begin.", chatId });
  house.provider.reset();
  return { visitor, chatId };
}

/** Resolves once the stream has shown this; `whole` is all of it in the end. */
async function oncePart(response: Response, part: string): Promise<{ whole: Promise<string> }> {
  const [seen, all] = (response.body ?? new ReadableStream<Uint8Array>()).tee();
  const whole = new Response(all).text();
  const reader = seen.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(part)) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  return { whole };
}

test("R-SVH-16 a turn is a stream of Sveda's events with the headers that name its run", async () => {
  modelSays(house.provider, words(["Hé", "llo"]));
  const visitor = await house.visitor();
  const { status, headers, frames, types, runId, raw } = await visitor.turn({
    prompt: "  Say hello.  ",
    chatId: " c1 ",
  });
  expect(status).toBe(200);
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
    "x-sveda-protocol-version": "1.0",
    "x-run-id": runId,
    location: `/sveda/runs/${runId}`,
  });
  expect(runId).toMatch(/^sv_[0-9a-f]{32}$/);
  expect(types).toEqual([
    "message.start",
    "text.delta",
    "text.delta",
    "context.usage",
    "message.end",
    "chat.title",
    "chat.title",
    "[DONE]",
  ]);
  expect(svedaText(frames)).toBe("Héllo");
  expect(frames[0]?.event).toMatchObject({ chatId: "c1", messageId: `msg_${runId}` });
  expect(frames.at(4)?.event).toMatchObject({
    finishReason: "stop",
    usage: { promptTokens: 40, completionTokens: 2, totalTokens: 42 },
  });
  expect(frames.slice(5, 7).map(({ event }) => event["title"])).toEqual(["Say hello.", GENERATED_TITLE]);
  expect(raw.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(sentBody(house.provider, 0).messages).toEqual([
    { role: "system", content: "Be kind." },
    { role: "user", content: "Say hello." },
  ]);
  expect(await visitor.chat("c1")).toMatchObject({
    title: GENERATED_TITLE,
    preview: "Say hello.",
    tokensUsed: 42,
    messages: [
      { role: "user", content: "Say hello." },
      { id: `msg_${runId}`, role: "assistant", content: "Héllo" },
    ],
  });
});

test.each([
  ["that was answered", [says("Hi.")], { finishReason: "stop" }],
  ["that waits for a decision", [says("I will.", [["t1", "wipe"]])], { finishReason: "tool_calls" }],
  ["cut at its length", [says("Half", [], { finishReason: "length" })], { finishReason: "length" }],
  [
    "at the limit of steps",
    [says("", [["t1", "clock"]]), says("", [["t2", "clock"]])],
    { finishReason: "stop", maxSteps: 2 },
  ],
  ["that failed after some text", [cut(["Half"])], { finishReason: "error" }],
  ["withheld by a filter", [says("Half", [], { finishReason: "content_filter" })], { finishReason: "error" }],
  ["that failed at once", [errorScript(400, {}, '{"error":{"message":"no"}}')], { finishReason: "error" }],
] as const)("R-SVC-19 a stored chat says of a turn %s what its stream said", async (_name, scripts, ending) => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, ...scripts);
  house.provider.on(toolPath("clock"), gives({ time: "12:00" }));
  const { frames, types, runId } = await visitor.turn({ prompt: "Go.", chatId });
  const said = frames.find(({ type }) => type === "error")?.event;
  const finish = {
    ...ending,
    ...(said !== undefined && { error: { code: said["code"], message: said["message"] } }),
  };
  expect(said === undefined).toBe(ending.finishReason !== "error");
  const chat = await visitor.chat(chatId);
  expect(chat?.["lastTurn"]).toEqual({ runId, ...finish });
  expect(chat?.messages.find(({ content }) => content === "Hello.")).toMatchObject({ finishReason: "stop" });
  const shown = chat?.messages.find(({ id }) => id === `msg_${runId}`);
  if (types.includes("message.start")) expect(shown).toMatchObject(finish);
  else expect(shown).toBeUndefined();
});

test("R-SVH-16 without a chatId a chat is made and named in the stream", async () => {
  modelSays(house.provider, says("Hi."));
  const visitor = await house.visitor();
  const { frames } = await visitor.turn({ prompt: "Hi" });
  const chatId = String(frames[0]?.event["chatId"]);
  expect(chatId).toMatch(/^chat_[0-9a-f-]{36}$/);
  expect(await visitor.chat(chatId)).toMatchObject({ chatId });
});

const order = {
  "text only": ["message.start", "text.delta", "text.delta", "context.usage", "message.end", "chat.title"],
  "reasoning then text": [
    "message.start",
    "reasoning.delta",
    "text.delta",
    "context.usage",
    "message.end",
    "chat.title",
  ],
  "backend tool then answer": [
    "message.start",
    "tool.call",
    "context.usage",
    "tool.result",
    "text.delta",
    "context.usage",
    "message.end",
    "chat.title",
  ],
  "confirmation required": ["message.start", "tool.call", "context.usage", "message.end", "chat.title"],
  "frontend tool": ["message.start", "tool.call", "context.usage", "message.end", "chat.title"],
  "max steps": [
    "message.start",
    "tool.call",
    "context.usage",
    "tool.result",
    "tool.call",
    "context.usage",
    "tool.result",
    "max_steps",
    "message.end",
    "chat.title",
  ],
  "mid-stream failure": ["message.start", "text.delta", "error", "message.end", "chat.title"],
  "failure at once": ["error", "message.end", "chat.title"],
};

test.each([
  ["text only", [says("", [], { deltas: ["a", "b"] })], "stop"],
  ["reasoning then text", [says("b", [], { reasoning: ["a"] })], "stop"],
  ["backend tool then answer", [says("", [["t1", "clock"]]), says("Noon.")], "stop"],
  ["confirmation required", [says("", [["t1", "wipe"]])], "tool_calls"],
  ["frontend tool", [says("", [["t1", "open_page"]])], "tool_calls"],
  ["max steps", [says("", [["t1", "clock"]]), says("", [["t2", "clock"]])], "stop"],
  ["mid-stream failure", [cut(["a"])], "error"],
  ["failure at once", [errorScript(400, {}, '{"error":{"message":"no"}}')], "error"],
] as const)(
  "R-SVH-17 the events of a turn with %s come in the reference's order",
  async (name, scripts, finishReason) => {
    const { visitor, chatId } = await titledChat();
    modelSays(house.provider, ...scripts);
    house.provider.on(toolPath("clock"), gives({ time: "12:00" }));
    const clientTools = [{ name: "open_page", description: "Opens a page.", parameters: { type: "object" } }];
    const { types, frames } = await visitor.turn({ prompt: "Go.", chatId, clientTools });
    expect(types).toEqual([...order[name], "[DONE]"]);
    expect(frames.find(({ type }) => type === "message.end")?.event["finishReason"]).toBe(finishReason);
  },
);

test("R-SVC-11 R-SVC-8 a tool's failure stays one in later turns, whoever brings the conversation", async () => {
  const { provider } = house;
  const model = pathOf(anthropic, "b");
  const answers = (fields: Parameters<typeof anthropicMessages>[0]) =>
    streamScript(ANTHROPIC_STREAM_TYPE, anthropicMessages(fields));
  const asks = answers({ blocks: [{ type: "tool_use", id: "t1", name: "clock", partialJson: ["{}"] }] });
  // The title is asked for once, at the first output.
  provider.on(model, (_, index) => (index === 0 ? asks : answers({ deltas: ["Sorry."] })));
  provider.on(toolPath("clock"), answerScript({ status: 503, headers: {}, body: "" }));
  const visitor = await house.visitor();
  const chatId = newName();
  await visitor.turn({ prompt: "What time?", chatId, model: "anthropic-b" });
  const stored = await visitor.chat(chatId);
  expect(stored?.conversationHistory.filter(({ role }) => role === "tool")).toEqual([
    { role: "tool", tool_call_id: "t1", content: expect.stringContaining("503"), is_error: true },
  ]);
  await visitor.turn({ prompt: "And now?", chatId, model: "anthropic-b" });
  const messages = [...((await visitor.chat(chatId))?.messages ?? []), { id: "m", role: "user", content: "Try." }];
  await visitor.turn({ messages, chatId, model: "anthropic-b" });
  const failures = provider.calls(model).flatMap(({ body }) => {
    const sent: { messages: { content: unknown }[] } = JSON.parse(body);
    const contents = sent.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    return contents.filter(({ type }) => type === "tool_result").map(({ is_error }) => is_error);
  });
  // The step after the call, and the two turns after that.
  expect(failures).toEqual([true, true, true]);
});

test("R-SVH-17 an approved call's result comes before the answer has begun, without its names", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, says("", [["t1", "wipe", { of: "disk" }]]), says("Wiped."));
  house.provider.on(toolPath("wipe"), gives({ wiped: true }));
  await visitor.turn({ prompt: "Wipe.", chatId });
  const { types, frames } = await visitor.turn({
    chatId,
    prompt: "",
    toolDecisions: [{ toolCallId: "t1", decision: "approve" }],
  });
  expect(types).toEqual([
    "tool.result",
    "message.start",
    "text.delta",
    "context.usage",
    "message.end",
    "chat.title",
    "[DONE]",
  ]);
  expect(frames[0]?.event).toEqual({
    type: "tool.result",
    toolCallId: "t1",
    toolName: "wipe",
    output: { wiped: true },
    timestamp: expect.any(String),
  });
});

test("R-SVH-18 a model is chosen by a route's, a target's or its provider's name, without regard to case", async () => {
  const visitor = await house.visitor();
  const answeredBy = async (model: unknown): Promise<string | number> => {
    house.provider.reset();
    modelSays(house.provider, says("Hi."));
    const { status, raw } = await visitor.turn({ prompt: "Hi", ...(model !== undefined && { model }) });
    return status === 200 ? sentBody(house.provider, 0).model : `${status} ${raw}`;
  };
  for (const model of [undefined, "", "  ", null, "default", "DEFAULT", " Openai-A ", "Configured-Model"]) {
    expect(await answeredBy(model)).toBe("configured-model");
  }
  expect(await answeredBy(" gpt-x ")).toBe('422 {"message":"Unknown Sveda model [gpt-x]."}');
  expect(await answeredBy("constructor")).toBe('422 {"message":"Unknown Sveda model [constructor]."}');
});

test("R-SVH-19 what a host page says of itself is not for the model; client tools are", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, says("Hi."));
  const parameters = { type: "object", properties: { page: { type: "string" } } };
  const clientTools = [{ name: "open_page", parameters }, { description: "no name" }];
  const context = { page: "secret-page", apiKey: "k", nested: { token: "t" } };
  await visitor.turn({ prompt: "Hi", chatId, context, clientTools, provider: "x", options: { thinking: false } });
  expect(modelCalls(house.provider)[0]?.body).not.toContain("secret-page");
  expect(
    sentBody(house.provider, 0)
      .tools?.map((tool) => tool.function.name)
      .toSorted(),
  ).toEqual(["clock", "open_page", "pay", "slow", "stock", "wipe"].toSorted());
});

test("R-SVH-20 the same turn again is the same run, while it runs and after: one call of the model", async () => {
  const { visitor, chatId } = await titledChat();
  const messages = [{ id: "m-1", role: "user", content: "Hello?" }];
  modelSays(
    house.provider,
    streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["a", "b", "c"] }), { gateBefore: { index: 2, name: "on" } }),
  );
  const both = [visitor.turn({ messages, chatId }), visitor.turn({ messages, chatId })];
  await house.provider.reached("on");
  const third = visitor.turn({ messages, chatId });
  house.provider.open("on");
  const turns = await Promise.all([...both, third]);
  turns.push(await visitor.turn({ messages, chatId }));
  for (const turn of turns) {
    expect(turn.runId).toBe(turns[0]?.runId);
    expect(turn.frames).toEqual(turns[0]?.frames);
    expect(svedaText(turn.frames)).toBe("abc");
  }
  expect(modelCalls(house.provider)).toHaveLength(1);
  const last = turns[0]?.frames.find(({ event }) => event["delta"] === "b")?.id ?? "";
  const rest = await visitor.turn({ messages, chatId }, { "last-event-id": last });
  expect(rest.types[0]).toBe("text.delta");
  expect(svedaText(rest.frames)).toBe("c");
  expect((await visitor.chat(chatId))?.messages.filter(({ id }) => id === "m-1")).toHaveLength(1);
});

test("R-SVH-20 an Idempotency-Key names a turn, also one without a chatId; other visitors' keys are their own", async () => {
  const visitor = await house.visitor();
  modelSays(house.provider, says("One."), says("Two."), says("Three."));
  const key = { "idempotency-key": newName() };
  const first = await visitor.turn({ prompt: "Hi" }, key);
  const again = await visitor.turn({ prompt: "Hi" }, key);
  expect([again.runId, again.frames]).toEqual([first.runId, first.frames]);
  const other = await (await house.visitor()).turn({ prompt: "Hi" }, key);
  expect(other.runId).not.toBe(first.runId);
  const { runId } = await visitor.turn({ prompt: "Hi" }, { "idempotency-key": newName() });
  expect(runId).not.toBe(first.runId);
  const bad = await visitor.turn({ prompt: "Hi" }, { "idempotency-key": "x".repeat(256) });
  expect(bad.status).toBe(422);
});

test("R-SVH-20 a turn that failed is run again when it is asked for again", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, cut(["Half"]), says("Whole."));
  const messages = [{ id: "m-1", role: "user", content: "Hello?" }];
  const failed = await visitor.turn({ messages, chatId });
  const second = await visitor.turn({ messages, chatId });
  expect(second.runId).not.toBe(failed.runId);
  expect(svedaText(second.frames)).toBe("Whole.");
});

test("R-SVH-20 a message with the id of an earlier one and other words is a turn of its own", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, says("One."), says("Two."));
  const ask = (content: string) => visitor.turn({ chatId, messages: [{ id: "1", role: "user", content }] });
  const texts = [await ask("First"), await ask("Second"), await ask("Second")].map(({ frames }) => svedaText(frames));
  expect(texts).toEqual(["One.", "Two.", "Two."]);
  expect(modelCalls(house.provider)).toHaveLength(2);
});

test("R-SVH-20 a turn that has completed and whose run is deleted is run anew, once", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, says("One."), says("Two."));
  const messages = [{ id: "m-1", role: "user", content: "Hello?" }];
  const first = await visitor.turn({ messages, chatId });
  expect((await fetch(`${house.runs}/${first.runId}`, { method: "DELETE" })).status).toBe(204);
  const turns = [await visitor.turn({ messages, chatId }), await visitor.turn({ messages, chatId })];
  expect(turns.map(({ frames }) => svedaText(frames))).toEqual(["Two.", "Two."]);
  expect(sentBody(house.provider, 1).messages.at(-1)).toEqual({ role: "user", content: "Hello?" });
});

test("R-SVH-21 a stream that is cut anywhere goes on at its run: 20 cuts, the uncut text", async () => {
  const { visitor, chatId } = await titledChat();
  const deltas = Array.from({ length: 80 }, (_, index) => `w${index} é🎉 `);
  modelSays(house.provider, streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas }), { delayMs: 15 }));
  const messages = [{ id: "m-1", role: "user", content: "Count." }];
  const response = await visitor.post("/stream", { messages, chatId });
  const runId = response.headers.get("x-run-id") ?? "";
  const path = `/sveda/runs/${runId}`;
  const readCut = async (cutAfter: number) => {
    const before = await exchange(house.server.port, path, { headers: visitor.headers, cutAfter });
    const whole = before.text.slice(0, before.text.lastIndexOf("\n\n") + 2);
    const seen = svedaFrames(whole);
    const id = seen.findLast((frame) => frame.id !== undefined)?.id;
    const headers = id === undefined ? {} : { "last-event-id": id };
    const rest = await visitor.get(`/runs/${runId}`, headers);
    expect(rest.status).toBe(200);
    return [...seen, ...svedaFrames(await rest.text())];
  };
  const cuts = Array.from({ length: 20 }, () => 1 + Math.floor(Math.random() * 16_000));
  const [uncut, ...resumed] = await Promise.all([response.text(), ...cuts.map(readCut)]);
  const frames = svedaFrames(uncut);
  expect(svedaText(frames)).toBe(deltas.join(""));
  for (const [index, parts] of resumed.entries()) expect(parts, `cut after ${cuts[index]}`).toEqual(frames);
  expect(modelCalls(house.provider)).toHaveLength(1);
});

test("R-SVH-21 cursors: malformed or ahead 400, everything seen the end mark, unknown and foreign runs 404", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, says("Hi."));
  const { runId, frames } = await visitor.turn({ prompt: "Hi", chatId });
  const read = async (headers: Record<string, string>, query = "") => {
    const response = await visitor.get(`/runs/${runId}${query}`, headers);
    return [response.status, await response.text()];
  };
  for (const cursor of ["x", "-1", "1.5", "9007199254740993", "100000"]) {
    const [status, text] = await read({ "last-event-id": cursor });
    expect([status, JSON.parse(String(text))]).toEqual([400, { message: expect.any(String) }]);
  }
  expect((await read({}, "?after=x"))[0]).toBe(400);
  expect((await read({}, "?from=snapshot"))[0]).toBe(400);
  expect(await read({ "last-event-id": frames.at(-1)?.id ?? "" })).toEqual([200, "retry: 1000\ndata: [DONE]\n\n"]);
  expect((await read({ "last-event-id": "" }, "?after=2"))[0]).toBe(200);
  const stranger = await house.visitor();
  for (const [who, name] of [
    [stranger, runId],
    [visitor, `sv_${"0".repeat(32)}`],
  ] as const) {
    const missing = await who.get(`/runs/${name}`);
    expect([missing.status, await missing.text()]).toEqual([404, ""]);
    const cancelled = await who.post(`/runs/${name}/cancel`, {});
    expect([cancelled.status, await cancelled.text()]).toEqual([404, ""]);
  }
});

test("R-SVC-19 R-SVH-22 cancel closes the provider's socket, keeps what was shown, and may be told again", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(
    house.provider,
    streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["Half", "never"] }), {
      gateBefore: { index: 2, name: "never" },
    }),
  );
  const response = await visitor.post("/stream", { prompt: "Go.", chatId });
  const runId = response.headers.get("x-run-id") ?? "";
  const { whole } = await oncePart(response, "Half");
  const cancelled = await visitor.post(`/runs/${runId}/cancel`, { reason: "stop" });
  expect([cancelled.status, await cancelled.json()]).toEqual([200, { success: true, outcome: "cancelled" }]);
  await modelCalls(house.provider)[0]?.closed;
  const frames = svedaFrames(await whole);
  expect(frames.find(({ type }) => type === "message.end")?.event["finishReason"]).toBe("cancelled");
  expect(frames.at(-1)?.type).toBe("[DONE]");
  expect(await (await visitor.post(`/runs/${runId}/cancel`, "")).json()).toEqual({
    success: true,
    outcome: "cancelled",
  });
  const chat = await visitor.chat(chatId);
  expect(chat?.messages.at(-1)).toMatchObject({ id: `msg_${runId}`, content: "Half", finishReason: "cancelled" });
  expect(chat?.["lastTurn"]).toEqual({ runId, finishReason: "cancelled" });
});

test("R-SVC-4 a new turn of a chat supersedes the one that runs", async () => {
  const { visitor, chatId } = await titledChat();
  const half = streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["Half", "never"] }), {
    gateBefore: { index: 2, name: "never" },
  });
  modelSays(house.provider, half, says("New."));
  const old = await oncePart(await visitor.post("/stream", { prompt: "Old.", chatId }), "Half");
  const fresh = await visitor.turn({ prompt: "New!", chatId });
  expect(svedaText(fresh.frames)).toBe("New.");
  expect(svedaFrames(await old.whole).find(({ type }) => type === "message.end")?.event["finishReason"]).toBe(
    "cancelled",
  );
  const texts = (await visitor.chat(chatId))?.messages.map(({ content }) => content);
  expect(texts?.slice(-4)).toEqual(["Old.", "Half", "New!", "New."]);
});

test("R-SVH-24 the message endpoint answers with the whole text, its tokens and its chat", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, says("Let me see. ", [["t1", "clock"]]), words(["It is ", "noon."]));
  house.provider.on(toolPath("clock"), gives("12:00"));
  const response = await visitor.post("/message", { prompt: "When?", chatId });
  expect([response.status, await response.json()]).toEqual([
    200,
    { explanation: "Let me see. It is noon.", tokens_used: expect.any(Number), chat_id: chatId },
  ]);
  expect(response.headers.get("x-run-id")).toMatch(/^sv_/);
  const state = await fetch(`${house.runs}/${response.headers.get("x-run-id")}`);
  expect(await state.json()).toMatchObject({ status: "completed", steps: 2 });
});

test("R-SVH-24 a repeat of a message has the whole answer, whatever cursor comes with it", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(house.provider, words(["It is ", "noon."]));
  const ask = { chatId, messages: [{ id: "m-1", role: "user", content: "When?" }] };
  const first: unknown = await (await visitor.post("/message", ask)).json();
  expect(first).toMatchObject({ explanation: "It is noon." });
  for (const cursor of ["4", "999", "no cursor"]) {
    const again = await visitor.post("/message", ask, { "last-event-id": cursor });
    expect([again.status, await again.json()]).toEqual([200, first]);
  }
  expect(modelCalls(house.provider)).toHaveLength(1);
});

test("R-SVH-24 an error after some text is told beside it, one without text is 500, and open calls are named", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(
    house.provider,
    cut(["Half "]),
    errorScript(400, {}, '{"error":{"message":"no"}}'),
    says("", [["t1", "wipe"]]),
  );
  const ask = async () => {
    const response = await visitor.post("/message", { prompt: "Go.", chatId });
    return [response.status, await response.json()];
  };
  expect(await ask()).toEqual([
    200,
    {
      explanation: "Half ",
      tokens_used: expect.any(Number),
      chat_id: chatId,
      finish_reason: "error",
      error: { code: "llm_error", message: expect.any(String) },
    },
  ]);
  expect(await ask()).toEqual([500, { message: expect.any(String) }]);
  expect(await ask()).toEqual([
    200,
    { explanation: "", tokens_used: expect.any(Number), chat_id: chatId, finish_reason: "tool_calls" },
  ]);
  expect(await ask()).toEqual([
    409,
    { message: "Tool confirmation is required before the conversation can continue." },
  ]);
});

test("R-SVH-25 a turn that cannot be started is refused by its field and leaves the chat as it was", async () => {
  const { visitor, chatId } = await titledChat();
  const standing = async () => [await visitor.chat(chatId), await (await visitor.get("/chat-histories")).json()];
  const before = await standing();
  const large = "x".repeat(600_000);
  const user = (content: string) => ({ id: "m-1", role: "user", content });
  for (const [fields, field] of [
    [{ prompt: large }, "/prompt"],
    [{ messages: [user("Hi"), { id: "a", role: "assistant", content: "Ho" }], prompt: large }, "/prompt"],
    [{ messages: [user(large)] }, "/messages"],
    [{ prompt: "Hi", clientTools: [{ name: "a", description: large }] }, "/clientTools"],
    [{ messages: [user("Hi")], clientTools: [{ name: "a", description: large }] }, "/clientTools"],
  ] as const) {
    for (const into of [chatId, newName()]) {
      const { status, raw } = await visitor.turn({ ...fields, chatId: into });
      expect([status, JSON.parse(raw)]).toEqual([413, { message: expect.stringContaining(field) }]);
    }
  }
  for (const fields of [{}, { prompt: "  " }, { messages: [] }, { chatId: newName(), prompt: "" }]) {
    const empty = await visitor.turn(fields);
    expect([empty.status, JSON.parse(empty.raw)]).toEqual([422, { message: expect.any(String) }]);
  }
  expect(await standing()).toEqual(before);
  modelSays(house.provider, says("Fine."));
  expect(svedaText((await visitor.turn({ prompt: "Still there?", chatId })).frames)).toBe("Fine.");
});

test("R-SVH-25 R-SVC-4 what is refused ends no running turn", async () => {
  const { visitor, chatId } = await titledChat();
  modelSays(
    house.provider,
    streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["a", "b"] }), { gateBefore: { index: 2, name: "on" } }),
  );
  const running = visitor.turn({ prompt: "Go on.", chatId });
  await house.provider.reached("on");
  for (const [fields, code] of [
    [{ prompt: "x".repeat(600_000) }, 413],
    [{ prompt: "Hi", clientTools: [{ name: "a", description: "x".repeat(600_000) }] }, 413],
    [{ prompt: "Hi", model: "nobody" }, 422],
  ] as const) {
    expect((await visitor.turn({ ...fields, chatId })).status).toBe(code);
  }
  house.provider.open("on");
  expect(svedaText((await running).frames)).toBe("ab");
  const texts = (await visitor.chat(chatId))?.messages.map(({ content }) => content);
  expect(texts?.slice(2)).toEqual(["Go on.", "ab"]);
});

test("R-SVH-25 a body whose fields have the wrong type is 422 in plain text, and names the field", async () => {
  const visitor = await house.visitor();
  for (const [body, field] of [
    [{ messages: "x" }, "/messages"],
    [{ messages: [{ role: "robot" }] }, "/messages/0/role"],
    [{ prompt: "x", context: [] }, "/context"],
    [{ prompt: "x", chatId: "c".repeat(257) }, "/chatId"],
    [{ prompt: "x", chatId: " . " }, "/chatId"],
    [{ prompt: "x", chatId: ".." }, "/chatId"],
    [{ prompt: "x", chatId: "a\ud800" }, "/chatId"],
    [{ prompt: "x", clientTools: [{ name: "a b" }] }, "/clientTools/0/name"],
    [{ prompt: "x", clientTools: [{ name: "a", parameters: { type: "array" } }] }, "/clientTools/0/parameters"],
  ] as const) {
    const { status, headers, raw } = await visitor.turn(body);
    expect(status).toBe(422);
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(raw).toContain(field);
    expect((await visitor.post("/message", body)).status).toBe(422);
  }
});

test("R-SVC-11 a client that parses its chat and sends all of it back rounds no number for good", async () => {
  const visitor = await house.visitor();
  const chatId = newName();
  const input = '{"of":9007199254740993,"limit":1e400}';
  const output = '{"id":9007199254740995,"all":[18446744073709551615]}';
  const calls = openAiChat({ toolCalls: [{ id: "c1", name: "clock", arguments: [input] }] });
  modelSays(house.provider, streamScript(OPENAI_STREAM_TYPE, calls), says("Done."), says("Two."), says("Three."));
  house.provider.on(toolPath("clock"), errorScript(200, {}, output));
  await visitor.turn({ prompt: "Look.", chatId });
  const shown = (await visitor.chat(chatId))?.messages ?? [];
  expect(JSON.stringify(shown)).not.toContain("9007199254740993");
  const messages = [...shown, { id: "u2", role: "user", content: "And now?" }];
  expect(svedaText((await visitor.turn({ messages, chatId })).frames)).toBe("Two.");
  expect(svedaText((await visitor.turn({ prompt: "So?", chatId })).frames)).toBe("Three.");
  for (const index of [2, 3]) {
    const sent = (modelCalls(house.provider)[index]?.body ?? "").replaceAll("\\", "");
    expect(sent).toContain(input);
    expect(sent).toContain(output);
  }
});
