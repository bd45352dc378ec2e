// Approvals over the wire: a call that needs one runs once, when it is approved, whoever asks, however often, and whatever breaks.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { gives, says, toolPath } from "../support/agent-house.ts";
import { modelCalls, modelSays, openSvedaHouse, sentBody, type SvedaHouse } from "../support/sveda-house.ts";
import { svedaText } from "../support/sveda.ts";
import { newName, until } from "./house.ts";

let house: SvedaHouse;

beforeAll(async () => {
  house = await openSvedaHouse({ limits: { stream: "0,1", token: "0,1", activePerVisitor: 0 } });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const CONFIRM = "Tool confirmation is required before the conversation can continue.";
const approve = (toolCallId: string) => ({ toolCallId, decision: "approve" });
const deny = (toolCallId: string) => ({ toolCallId, decision: "deny" });
const calls = (name: string): number => house.provider.calls(toolPath(name)).length;

/** A chat whose model asks for these calls; what it says after. */
async function waitingChat(
  asked: readonly (readonly [id: string, name: string, input?: Record<string, unknown>])[],
  ...after: readonly string[]
) {
  const visitor = await house.visitor();
  const chatId = newName();
  modelSays(house.provider, says("I need your leave. ", asked), ...after.map((text) => says(text)));
  for (const name of ["wipe", "pay", "clock"]) house.provider.on(toolPath(name), gives({ done: name }));
  const turn = await visitor.turn({ prompt: "Do it.", chatId });
  return { visitor, chatId, turn };
}

test("R-SVH-26 an approved call runs with the stored input, and the model gets its result", async () => {
  const { visitor, chatId, turn } = await waitingChat([["t1", "wipe", { of: "disk" }]], "Wiped.");
  expect(turn.frames.find(({ type }) => type === "tool.call")?.event).toMatchObject({
    toolCallId: "t1",
    target: "backend",
    confirmation: "required",
    input: { of: "disk" },
  });
  expect(calls("wipe")).toBe(0);
  const messages = [
    { id: "u1", role: "user", content: "Do it." },
    {
      id: "a1",
      role: "assistant",
      content: "",
      parts: [
        { type: "tool-call", toolCallId: "t1", toolName: "wipe", target: "backend", input: { of: "everything" } },
      ],
    },
  ];
  const decided = await visitor.turn({
    messages,
    prompt: "",
    chatId,
    toolDecisions: [{ toolCallId: "t1", decision: " Approve " }],
  });
  expect(svedaText(decided.frames)).toBe("Wiped.");
  expect(JSON.parse(house.provider.calls(toolPath("wipe"))[0]?.body ?? "")).toEqual({ of: "disk" });
  expect(sentBody(house.provider, 1).messages.slice(-2)).toEqual([
    {
      role: "assistant",
      content: "I need your leave. ",
      tool_calls: [{ id: "t1", type: "function", function: { name: "wipe", arguments: '{"of":"disk"}' } }],
    },
    { role: "tool", tool_call_id: "t1", content: '{"done":"wipe"}' },
  ]);
  const stored = (await visitor.chat(chatId))?.messages;
  expect(stored?.find(({ id }) => id === `msg_${turn.runId}`)?.parts).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: "tool-result", toolCallId: "t1", output: { done: "wipe" } }),
    ]),
  );
});

test("R-SVH-26 a denied call never runs, and the model and the client are told", async () => {
  const { visitor, chatId } = await waitingChat([["t1", "wipe"]], "As you wish.");
  const decided = await visitor.turn({ prompt: "", chatId, toolDecisions: [deny("t1")] });
  const output = { success: false, denied: true, error: "The user denied this action and it was not executed." };
  expect(decided.frames[0]).toMatchObject({
    type: "tool.result",
    event: { toolCallId: "t1", toolName: "wipe", output },
  });
  expect(svedaText(decided.frames)).toBe("As you wish.");
  expect(sentBody(house.provider, 1).messages.at(-1)).toMatchObject({
    tool_call_id: "t1",
    content: JSON.stringify(output),
  });
  expect(calls("wipe")).toBe(0);
});

test("R-SVH-26 two tabs that approve at the same moment, and a third later, are one run and one call", async () => {
  const { visitor, chatId } = await waitingChat([["t1", "pay"]], "Paid.");
  const body = { prompt: "", chatId, toolDecisions: [approve("t1")] };
  const turns = await Promise.all([visitor.turn(body), visitor.turn(body), visitor.turn(body)]);
  turns.push(await visitor.turn(body));
  turns.push(await visitor.turn({ ...body, toolDecisions: [deny("t1")] }));
  for (const { runId, status, frames } of turns) {
    expect([status, runId]).toEqual([200, turns[0]?.runId]);
    expect(svedaText(frames)).toBe("Paid.");
  }
  expect(calls("pay")).toBe(1);
  expect(modelCalls(house.provider)).toHaveLength(2);
});

test("R-SVH-26 one tab approves and the other denies: one of them decides, and both see it", async () => {
  const { visitor, chatId } = await waitingChat([["t1", "pay"]], "Done.");
  const turns = await Promise.all(
    [approve("t1"), deny("t1")].map((decision) => visitor.turn({ prompt: "", chatId, toolDecisions: [decision] })),
  );
  expect(turns[0]?.runId).toBe(turns[1]?.runId);
  expect(turns[0]?.frames).toEqual(turns[1]?.frames);
  const denied = turns[0]?.raw.includes('"denied":true') === true;
  expect(calls("pay")).toBe(denied ? 0 : 1);
});

test("R-SVH-26 a connection that drops while the approved call runs loses nothing and runs nothing twice", async () => {
  const { visitor, chatId } = await waitingChat([["t1", "pay"]], "Paid.");
  house.provider.on(toolPath("pay"), [{ step: "gate", name: "paying" }, ...gives({ paid: true })]);
  const leave = new AbortController();
  const body = { prompt: "", chatId, toolDecisions: [approve("t1")] };
  const response = await visitor.post("/stream", body, {}, leave.signal);
  const runId = response.headers.get("x-run-id") ?? "";
  await house.provider.reached("paying");
  leave.abort();
  const again = visitor.turn(body);
  const resumed = visitor.get(`/runs/${runId}`).then((answer) => answer.text());
  house.provider.open("paying");
  expect((await again).runId).toBe(runId);
  expect(svedaText((await again).frames)).toBe("Paid.");
  expect(await resumed).toContain('"paid":true');
  expect(calls("pay")).toBe(1);
  expect((await visitor.chat(chatId))?.messages.at(-1)).toMatchObject({ content: "Paid." });
});

test("R-SVH-27 while an approval is pending nothing else goes on; decisions need a stored chat", async () => {
  const { visitor, chatId } = await waitingChat([["t1", "pay"]], "Paid.");
  for (const body of [
    { prompt: "Never mind.", chatId },
    { messages: [{ id: "m9", role: "user", content: "Never mind." }], chatId },
    { prompt: "", chatId, toolDecisions: [] },
    { prompt: "", chatId, toolDecisions: [{ toolCallId: "t1", decision: "maybe" }, { toolCallId: "t1" }, "t1", null] },
  ]) {
    const { status, raw } = await visitor.turn(body);
    expect([status, JSON.parse(raw)]).toEqual([409, { message: CONFIRM }]);
  }
  const nowhere = await visitor.turn({ prompt: "", chatId: newName(), toolDecisions: [approve("t1")] });
  expect([nowhere.status, JSON.parse(nowhere.raw)]).toEqual([409, { message: "Chat history is unavailable." }]);
  const stranger = await house.visitor();
  const foreign = await stranger.turn({ prompt: "", chatId, toolDecisions: [approve("t1")] });
  expect(foreign.status).toBe(409);
  expect(calls("pay")).toBe(0);
  expect(svedaText((await visitor.turn({ prompt: "", chatId, toolDecisions: [approve("t1")] })).frames)).toBe("Paid.");
});

test("R-SVH-27 unknown ids are passed over, of two decisions for a call the first counts, and what stays open stays", async () => {
  const { visitor, chatId } = await waitingChat(
    [
      ["t1", "pay"],
      ["t2", "wipe"],
      ["t3", "clock"],
    ],
    "All done.",
  );
  expect(calls("clock")).toBe(1);
  const unknown = await visitor.turn({ prompt: "", chatId, toolDecisions: [approve("nobody")] });
  expect(unknown.status).toBe(200);
  expect(unknown.types).not.toContain("tool.result");
  const first = await visitor.turn({
    prompt: "",
    chatId,
    toolDecisions: [approve("t1"), deny("t1"), approve("nobody")],
  });
  expect(first.types.filter((type) => type !== "chat.title")).toEqual(["tool.result", "message.end", "[DONE]"]);
  expect(first.frames[1]?.event).toMatchObject({ finishReason: "tool_calls", chatId });
  expect(first.frames[1]?.event).not.toHaveProperty("usage");
  expect([calls("pay"), calls("wipe"), modelCalls(house.provider).length]).toEqual([1, 0, 1]);
  const last = await visitor.turn({ prompt: "", chatId, toolDecisions: [deny("t2")] });
  expect(svedaText(last.frames)).toBe("All done.");
  expect(
    sentBody(house.provider, 1)
      .messages.slice(-3)
      .map((message) => String(message["tool_call_id"]))
      .toSorted(),
  ).toEqual(["t1", "t2", "t3"]);
  expect([calls("pay"), calls("wipe"), calls("clock")]).toEqual([1, 0, 1]);
});

test("R-SVH-26 a decision that comes while another call of its answer still runs waits for that, and cuts nothing off", async () => {
  const visitor = await house.visitor();
  const chatId = newName();
  modelSays(
    house.provider,
    says("May I? ", [
      ["t1", "pay"],
      ["t2", "clock"],
    ]),
    says("Paid."),
  );
  house.provider.on(toolPath("pay"), gives({ done: "pay" }));
  house.provider.on(toolPath("clock"), [{ step: "gate", name: "ticking" }, ...gives({ time: "noon" })]);
  const turn = visitor.turn({ prompt: "Do it.", chatId });
  await house.provider.reached("ticking");
  const decided = visitor.turn({ prompt: "", chatId, toolDecisions: [approve("t1")] });
  for (let looks = 0; looks < 10; looks++) {
    expect(await visitor.chat(chatId)).toHaveProperty("activeRunId");
    expect(calls("pay")).toBe(0);
  }
  house.provider.open("ticking");
  expect((await turn).frames.find(({ type }) => type === "message.end")?.event).toMatchObject({
    finishReason: "tool_calls",
  });
  expect((await turn).raw).toContain('"time":"noon"');
  expect(svedaText((await decided).frames)).toBe("Paid.");
  expect([calls("pay"), calls("clock")]).toEqual([1, 1]);
});

test("R-SVH-26 a call whose id is no whole text can be approved: it is made, once, and the chat goes on", async () => {
  const { visitor, chatId, turn } = await waitingChat([["call_\ud800", "pay"]], "Paid.");
  expect(turn.frames.find(({ type }) => type === "tool.call")?.event["toolCallId"]).toBe("call_\ufffd");
  const body = { prompt: "", chatId, toolDecisions: [approve("call_\ufffd")] };
  const turns = await Promise.all([visitor.turn(body), visitor.turn(body)]);
  expect(turns.map(({ frames }) => svedaText(frames))).toEqual(["Paid.", "Paid."]);
  expect(turns[0]?.runId).toBe(turns[1]?.runId);
  expect(calls("pay")).toBe(1);
  modelSays(house.provider, says("Going on."));
  expect(svedaText((await visitor.turn({ prompt: "And now?", chatId })).frames)).toBe("Going on.");
});

test("R-SVH-26 a cancel while the approved call runs: the call is not made again, and the chat goes on", async () => {
  const { visitor, chatId } = await waitingChat([["t1", "pay"]], "Never said.", "Going on.");
  house.provider.on(toolPath("pay"), [{ step: "hang" }]);
  const response = await visitor.post("/stream", { prompt: "", chatId, toolDecisions: [approve("t1")] });
  const runId = response.headers.get("x-run-id") ?? "";
  await until(() => calls("pay") === 1, "the call");
  expect((await visitor.post(`/runs/${runId}/cancel`, {})).status).toBe(200);
  expect(await response.text()).toContain("whether it took effect is not known");
  modelSays(house.provider, says("Going on."));
  expect(svedaText((await visitor.turn({ prompt: "And now?", chatId })).frames)).toBe("Going on.");
  expect(calls("pay")).toBe(1);
});

test("R-SVC-4 R-STEP-12 a new turn takes the place of one with a call that waits beside a running one, and none is refused", async () => {
  const visitor = await house.visitor();
  const chatId = newName();
  modelSays(
    house.provider,
    says("May I? ", [
      ["c", "clock"],
      ["t1", "wipe"],
    ]),
    says("Stopped."),
    says("Yes?"),
  );
  house.provider.on(toolPath("clock"), [{ step: "hang" }]);
  const first = visitor.turn({ prompt: "Do it.", chatId });
  await until(() => calls("clock") === 1, "the running call");
  const second = await visitor.turn({ prompt: "Stop that.", chatId });
  expect(svedaText(second.frames)).toBe("Stopped.");
  const { frames, runId } = await first;
  const results = frames.filter(({ type }) => type === "tool.result").map(({ event }) => event);
  const error = "The run ended before anybody decided on this call; it was not made.";
  expect(results.at(-1)).toMatchObject({ toolCallId: "t1", output: { success: false, error } });
  expect(sentBody(house.provider, 1).messages.slice(-2)).toEqual([
    { role: "tool", tool_call_id: "t1", content: JSON.stringify({ success: false, error }) },
    { role: "user", content: "Stop that." },
  ]);
  const stored = (await visitor.chat(chatId))?.messages.find(({ id }) => id === `msg_${runId}`);
  expect(stored?.parts.at(-1)).toMatchObject({
    type: "tool-result",
    toolCallId: "t1",
    output: { success: false, error },
  });
  expect(svedaText((await visitor.turn({ prompt: "Hello?", chatId })).frames)).toBe("Yes?");
  expect(calls("wipe")).toBe(0);
});
