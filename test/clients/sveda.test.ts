// Whole conversations of a Sveda client, which knows nothing of runs, with the real server.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { gives, says, toolPath } from "../support/agent-house.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import {
  GENERATED_TITLE,
  modelCalls,
  modelSays,
  openSvedaHouse,
  sentBody,
  type SvedaHouse,
  type Visitor,
} from "../support/sveda-house.ts";
import { SvedaSession, type ClientTool } from "./sveda-client.ts";

let house: SvedaHouse;

beforeAll(async () => {
  house = await openSvedaHouse({ maxSteps: 2, limits: { stream: "0,1", token: "0,1" } });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

async function session(tools: readonly ClientTool[] = []): Promise<{ chat: SvedaSession; visitor: Visitor }> {
  const visitor = await house.visitor();
  const options = { endpoint: `${house.base}/stream`, headers: visitor.headers, tools, context: { page: "home" } };
  return { chat: new SvedaSession(options), visitor };
}

const words = (deltas: readonly string[]) => streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas }));

test("R-SVH-16 R-SVH-17 a client holds a conversation: each turn brings the whole list, and the chat is stored", async () => {
  modelSays(
    house.provider,
    words(["Hé", "llo", "."]),
    says("Fine.", [], { reasoning: ["Let me think."] }),
    says("Bye."),
  );
  const { chat, visitor } = await session();
  await chat.send("Hello?");
  expect([chat.answer, chat.status, chat.title, chat.finishReason]).toEqual([
    "Héllo.",
    "idle",
    GENERATED_TITLE,
    "stop",
  ]);
  await chat.send("How are you?");
  await chat.send("Bye!");
  expect(chat.statuses).toEqual(["streaming", "idle", "streaming", "idle", "streaming", "idle"]);
  expect(sentBody(house.provider, 2).messages.map(({ role, content }) => [role, content])).toEqual([
    ["user", "Hello?"],
    ["assistant", "Héllo."],
    ["user", "How are you?"],
    ["assistant", "Fine."],
    ["user", "Bye!"],
  ]);
  const stored = await visitor.chat(chat.chatId);
  expect(stored?.messages.map(({ id, content }) => [id, content])).toEqual(
    chat.messages.map(({ id, content }) => [id, content]),
  );
});

test("R-SVH-17 a page's own tool runs in the page, and its result goes on as a turn of its own", async () => {
  modelSays(house.provider, says("One moment.", [["t1", "read_page", { of: "title" }]]), says("It is 'Home'."));
  const inputs: unknown[] = [];
  const tool = {
    name: "read_page",
    description: "Reads the page.",
    parameters: { type: "object", properties: { of: { type: "string" } } },
    handler: (input: Record<string, unknown>) => {
      inputs.push(input);
      return { title: "Home" };
    },
  };
  const { chat, visitor } = await session([tool]);
  await chat.send("Which page is this?");
  expect(inputs).toEqual([{ of: "title" }]);
  expect([chat.answer, chat.status]).toEqual(["It is 'Home'.", "idle"]);
  expect(sentBody(house.provider, 1).messages.slice(-2)).toEqual([
    {
      role: "assistant",
      content: "One moment.",
      tool_calls: [{ id: "t1", type: "function", function: { name: "read_page", arguments: '{"of":"title"}' } }],
    },
    { role: "tool", tool_call_id: "t1", content: '{"title":"Home"}' },
  ]);
  expect(modelCalls(house.provider)).toHaveLength(2);
  expect((await visitor.chat(chat.chatId))?.messages.at(-1)).toMatchObject({ content: "It is 'Home'." });
});

test("R-SVH-26 a client approves, and denies, and sees the results at the message that asked", async () => {
  modelSays(
    house.provider,
    says("May I? ", [
      ["t1", "pay"],
      ["t2", "wipe"],
    ]),
    says("Paid, not wiped."),
  );
  house.provider.on(toolPath("pay"), gives({ paid: true }));
  const { chat } = await session();
  await chat.send("Pay and wipe.");
  expect(chat.finishReason).toBe("tool_calls");
  await chat.resolveToolConfirmation("t1", "approve");
  await chat.resolveToolConfirmation("t2", "deny");
  expect([chat.answer, chat.finishReason]).toEqual(["Paid, not wiped.", "stop"]);
  const asking = chat.messages.find(({ parts }) => parts.some(({ toolCallId }) => toolCallId === "t1"));
  expect(asking?.parts.filter(({ type }) => type === "tool-result")).toMatchObject([
    { toolCallId: "t1", output: { paid: true } },
    { toolCallId: "t2", output: { denied: true } },
  ]);
  expect(house.provider.calls(toolPath("pay"))).toHaveLength(1);
  expect(house.provider.calls(toolPath("wipe"))).toHaveLength(0);
});

test("R-SVH-17 a client goes on after the limit of steps", async () => {
  modelSays(house.provider, says("", [["t1", "clock"]]), says("", [["t2", "clock"]]), says("At last: noon."));
  house.provider.on(toolPath("clock"), gives("12:00"));
  const { chat } = await session();
  await chat.send("When?");
  expect([chat.maxSteps, chat.finishReason]).toEqual([true, "stop"]);
  await chat.continueAfterMaxSteps();
  expect([chat.answer, chat.maxSteps]).toEqual(["At last: noon.", false]);
  expect(sentBody(house.provider, 2).messages.at(-1)).toEqual({ role: "user", content: "Continue" });
});

test("R-SVH-17 at an error in mid-answer the client has the text, the error and the end, and the conversation goes on", async () => {
  const cut = streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["Half"], finishReason: null, done: false }), {
    end: "fin",
  });
  modelSays(house.provider, cut, says("Whole."));
  const { chat } = await session();
  await chat.send("Hello?");
  expect([chat.answer, chat.finishReason, chat.errors]).toEqual([
    "Half",
    "error",
    [{ code: "llm_error", message: expect.any(String) }],
  ]);
  expect(chat.statuses).toEqual(["streaming", "error", "idle"]);
  await chat.send("Once more?");
  expect(chat.answer).toBe("Whole.");
});

test("R-SVH-16 Stop only closes the client's socket: the answer is finished, and stored", async () => {
  modelSays(
    house.provider,
    streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["First ", "and last."] }), {
      gateBefore: { index: 2, name: "on" },
    }),
    says("Yes."),
  );
  const { chat, visitor } = await session();
  const sending = chat.send("Hello?");
  await house.provider.reached("on");
  chat.stop();
  await sending;
  expect(chat.status).toBe("idle");
  house.provider.open("on");
  await modelCalls(house.provider)[0]?.answered;
  await expect
    .poll(async () => (await visitor.chat(chat.chatId))?.messages.at(-1)?.content, { timeout: 20_000 })
    .toBe("First and last.");
  await chat.send("All there?");
  expect(chat.answer).toBe("Yes.");
});

test("R-SVH-2 R-SVH-3 a client is told of a refusal by its status alone", async () => {
  const chat = new SvedaSession({ endpoint: `${house.base}/stream`, headers: { "x-sveda-embed-token": "nonsense" } });
  await expect(chat.send("Hello?")).rejects.toThrow("[sveda] Stream request failed: 401");
  expect(chat.status).toBe("error");
});
