// Conversations and turns that have grown large over the wire: what comes after them, what a model is sent of them, and what is kept.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { gives, goOn, inOrder, MODEL, play, says, toolPath } from "../support/agent-house.ts";
import {
  modelCalls,
  modelSays,
  openSvedaHouse,
  sentBody,
  type StoredChat,
  type SvedaHouse,
} from "../support/sveda-house.ts";
import { svedaText } from "../support/sveda.ts";
import { faultyFields, newName, outcomeOf, problemOf, until } from "./house.ts";

let house: SvedaHouse;

beforeAll(async () => {
  const limits = { stream: "0,1", token: "0,1", activePerVisitor: 0 };
  house = await openSvedaHouse({ limits }, { maxToolOutputBytes: 4 * 1024 * 1024 });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const LARGE = "y".repeat(60_000);
/** Ten calls whose outputs together are larger than what a request may bring. */
const ten = Array.from({ length: 10 }, (_, index) => [`c${index}`, "clock"] as const);
const MAX_PROMPT = 524_288;

test("R-SVC-16 R-SVH-25 a chat that holds more than a request may bring goes on, and a model reads the newest of it", async () => {
  const visitor = await house.visitor();
  const chatId = newName();
  house.provider.on(toolPath("clock"), gives(LARGE));
  modelSays(
    house.provider,
    says("Looking. ", ten),
    says("Done."),
    says("Fine."),
    says("Good."),
    says("w".repeat(600_000)),
    says("Hm."),
  );
  await visitor.turn({ prompt: "Look.", chatId });
  expect(svedaText((await visitor.turn({ prompt: "And now?", chatId })).frames)).toBe("Fine.");
  const second = modelCalls(house.provider)[2]?.body ?? "";
  expect(second.length).toBeLessThan(MAX_PROMPT / 2);
  const sent = sentBody(house.provider, 2).messages;
  expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", ...ten.map(() => "tool"), "assistant", "user"]);
  expect(sent[2]?.["content"]).toMatch(/^y+\n\[cut: longer than \d+ bytes\]$/);
  expect(sent[11]?.["content"]).toBe(LARGE);
  const stored = (await visitor.chat(chatId))?.messages ?? [];
  const whole = [...stored, { id: "u9", role: "user", content: "So?", parts: [{ type: "text", text: "So?" }] }];
  expect(svedaText((await visitor.turn({ messages: whole, chatId })).frames)).toBe("Good.");
  await visitor.turn({ prompt: "Much.", chatId });
  expect(svedaText((await visitor.turn({ prompt: "More?", chatId })).frames)).toBe("Hm.");
  // A summary of what came before may be there by now.
  const said = sentBody(house.provider, 5).messages.filter(({ role }) => role !== "system");
  expect(said).toEqual([{ role: "user", content: "More?" }]);
});

test.each(["approve", "deny"])("R-SVH-26 what waits in a large conversation can be decided: %s", async (decision) => {
  const visitor = await house.visitor();
  const chatId = newName();
  house.provider.on(toolPath("clock"), gives(LARGE));
  house.provider.on(toolPath("wipe"), gives({ wiped: true }));
  modelSays(house.provider, says("May I? ", [...ten, ["k", "wipe", { of: "disk" }]]), says("Well."));
  await visitor.turn({ prompt: "Tidy up.", chatId });
  const decided = await visitor.turn({ prompt: "", chatId, toolDecisions: [{ toolCallId: "k", decision }] });
  expect(svedaText(decided.frames)).toBe("Well.");
  expect(house.provider.calls(toolPath("wipe"))).toHaveLength(decision === "approve" ? 1 : 0);
  expect(sentBody(house.provider, 1).messages.filter(({ role }) => role === "tool")).toHaveLength(11);
});

test("R-NEXT-1 R-START-7 a run with a large conversation goes on; what the request itself brings is limited", async () => {
  const { provider, runs } = house;
  provider.on(toolPath("clock"), gives("é".repeat(30_000)));
  provider.on(toolPath("wipe"), gives({ wiped: true }));
  const open = [...ten, ["k", "wipe", {}] as const, ["a", "ask_user", {}] as const];
  provider.on(MODEL, inOrder(says("1", open), says("2", [...ten.slice(0, 9), ["k", "wipe"]]), says("Done.")));
  const tools = [{ name: "ask_user", parameters: { type: "object" } }];
  const { runId } = await play(runs, { tools });
  const answers = (output: unknown) => ({
    toolResults: [{ toolCallId: "a", output }],
    toolDecisions: [{ toolCallId: "k", decision: "approve" }],
  });
  const refused = await problemOf(await goOn(runs, runId, answers("x".repeat(MAX_PROMPT))), 413, "too_large");
  expect(faultyFields(refused)).toEqual(["/toolResults"]);
  const next = newName();
  expect((await goOn(runs, runId, { ...answers("yes"), requestId: next })).status).toBe(202);
  let outcome = await outcomeOf(house.server.origin, next);
  const { toolCallId } = Object(outcome["pending"])[0];
  const last = newName();
  const decisions = [{ toolCallId, decision: "deny" }];
  expect((await goOn(runs, next, { toolDecisions: decisions, requestId: last })).status).toBe(202);
  outcome = await outcomeOf(house.server.origin, last);
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "Done." });
  const third = provider.calls(MODEL)[2]?.body ?? "";
  expect(third.length).toBeGreaterThan(19 * 30_000);
});

test("R-CHAT-1 R-SVC-17 the end of a turn whose outputs are larger than what objects can tell one another reaches its chat", async () => {
  const visitor = await house.visitor();
  const chatId = newName();
  // Text with such a character takes two bytes a letter from one object to another.
  house.provider.on(toolPath("clock"), gives(`🧵${"y".repeat(2_000_000)}`));
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
  // The turn ends with what waits, and no model is sent all of it.
  const calls = [...ten.slice(0, 9), ["k", "wipe", {}] as const];
  modelSays(house.provider, says("Looking. ", calls, { usage }), says("Fine."));
  expect(svedaText((await visitor.turn({ prompt: "Look.", chatId })).frames)).toBe("Looking. ");
  await until(async () => (await visitor.chat(chatId))?.["activeRunId"] === undefined, "the turn's end in its chat");
  const chat = await visitor.chat(chatId);
  expect(chat?.["leftOut"]).toBeUndefined();
  expect(chat?.messages.map(({ content }) => content)).toEqual(["Look.", "Looking. "]);
  expect(chat?.["tokensUsed"]).toBe(7);
  const outputs = chat?.messages[1]?.parts.flatMap(({ type, output }) => (type === "tool-result" ? [output] : []));
  const isWhole = outputs?.map((output) => String(output).length > 1_000_000);
  expect(isWhole).toEqual([...Array(6).fill(false), true, true, true]);
  expect(outputs?.[0]).toMatch(/^🧵y+\n\[cut: longer than 2048 bytes\]$/);
  const toolDecisions = [{ toolCallId: "k", decision: "deny" }];
  expect(svedaText((await visitor.turn({ prompt: "", chatId, toolDecisions })).frames)).toBe("Fine.");
});

/** What the page shows of a call. */
const shownInput = (chat: StoredChat | undefined, toolCallId: string): Record<string, unknown> =>
  Object(
    chat?.messages
      .flatMap(({ parts }) => parts)
      .find((part) => part["type"] === "tool-call" && part["toolCallId"] === toolCallId)?.["input"],
  );

test("R-SVC-17 a turn whose inputs are larger than a chat drives nothing out, and what waits can be decided", async () => {
  const visitor = await house.visitor();
  const chatId = newName();
  house.provider.on(toolPath("clock"), gives({ ok: true }));
  house.provider.on(toolPath("wipe"), gives({ wiped: true }));
  // In the conversation each quotation mark takes four characters.
  const large = '"'.repeat(415_000);
  const nine = Array.from({ length: 9 }, (_, index) => [`c${index}`, "clock", { of: large }] as const);
  const of = "d".repeat(300_000);
  modelSays(house.provider, says("Hello Ann."), says("Looking. ", [...nine, ["k", "wipe", { of }]]), says("Done."));
  await visitor.turn({ prompt: "I am Ann.", chatId });
  await visitor.turn({ prompt: "Look.", chatId });
  const waiting = await visitor.chat(chatId);
  expect(waiting?.["leftOut"]).toBeUndefined();
  expect(waiting?.messages.map(({ content }) => content)).toEqual(["I am Ann.", "Hello Ann.", "Look.", "Looking. "]);
  expect(waiting?.conversationHistory.slice(0, 4).map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
  expect(shownInput(waiting, "c0")["of"]).toMatch(/^"+\n\[cut: longer than 1024 bytes\]$/);
  expect(shownInput(waiting, "k")["of"]).toBe(of);
  const toolDecisions = [{ toolCallId: "k", decision: "approve" }];
  expect(svedaText((await visitor.turn({ prompt: "", chatId, toolDecisions })).frames)).toBe("Done.");
  expect(JSON.parse(house.provider.calls(toolPath("wipe"))[0]?.body ?? "")).toEqual({ of });
  const sent = sentBody(house.provider, 2);
  expect(JSON.stringify(sent).length).toBeLessThan(MAX_PROMPT);
  expect(sent.messages.find(({ role }) => role !== "system")).toMatchObject({ role: "user" });
  expect(sent.messages.filter(({ role }) => role === "user").at(-1)).toEqual({ role: "user", content: "Look." });
});

test.each([
  ["a call that is approved", [], ["k", "wipe"]],
  ["calls before it", [["c0", "clock"]], ["k", "wipe"]],
] as const)(
  "R-SVC-16 a model that is asked after a large input reads the user's question: %s",
  async (_, before, approved) => {
    const visitor = await house.visitor();
    const chatId = newName();
    house.provider.on(toolPath("clock"), gives({ ok: true }));
    house.provider.on(toolPath("wipe"), gives({ wiped: true }));
    const of = "d".repeat(300_000);
    const calls = [...before, approved].map(([id, name]) => [id, name, { of }] as const);
    modelSays(house.provider, says("May I? ", calls), says("Done."));
    await visitor.turn({ prompt: "Tidy up.", chatId });
    const toolDecisions = [{ toolCallId: "k", decision: "approve" }];
    expect(svedaText((await visitor.turn({ prompt: "", chatId, toolDecisions })).frames)).toBe("Done.");
    // A summary of what is long may have come by then.
    const messages = sentBody(house.provider, 1).messages.filter(({ role }) => role !== "system");
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", ...calls.map(() => "tool")]);
    expect(messages[0]).toEqual({ role: "user", content: "Tidy up." });
    expect(JSON.stringify(messages).length).toBeLessThan(MAX_PROMPT / 2 + 1000);
    expect(JSON.parse(house.provider.calls(toolPath("wipe"))[0]?.body ?? "")).toEqual({ of });
  },
);
