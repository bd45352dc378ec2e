// What a page shows of a chat: messages that come in, the message of a turn, titles and previews.
import { expect, test } from "vitest";
import type { DisplayMessage } from "../../schemas/chat.ts";
import { shownCallIds, withClientParts, withIncoming, withTurn } from "../../src/chat/display.ts";
import { isPlaceholder, previewOf, provisionalTitle } from "../../src/chat/titles.ts";
import { answeredBy, approval, call, clientCall, ending, shown, step } from "./chats/entries.ts";

const answer = (id: string, content: string): DisplayMessage => ({ ...shown(id, content), role: "assistant" });

test("R-SVC-10 a turn leaves one message: reasoning, text, calls, results", () => {
  const links = { links: [{ label: "A", url: "https://example.org" }] };
  const end = ending("r", [
    { text: "One. ", reasoning: "Hm.", calls: [answeredBy(call("a"), null), clientCall("b")] },
    step("Two.", answeredBy(approval("c"), "x", { renderHint: "resource_links", renderData: links })),
  ]);
  expect(withTurn([shown("u", "Hi")], end)).toEqual([
    shown("u", "Hi"),
    {
      id: "msg_r",
      role: "assistant",
      content: "One. Two.",
      reasoning: "Hm.",
      finishReason: "stop",
      parts: [
        { type: "reasoning", text: "Hm." },
        { type: "text", text: "One. Two." },
        { type: "tool-call", toolCallId: "a", toolName: "weather", target: "backend", input: { city: "Bern" } },
        { type: "tool-call", toolCallId: "b", toolName: "scroll", target: "frontend", input: { city: "Bern" } },
        {
          type: "tool-call",
          toolCallId: "c",
          toolName: "pay",
          target: "backend",
          input: { city: "Bern" },
          confirmation: "required",
        },
        { type: "tool-result", toolCallId: "a", toolName: "weather", output: null },
        {
          type: "tool-result",
          toolCallId: "c",
          toolName: "pay",
          output: "x",
          renderHint: "resource_links",
          renderData: links,
        },
      ],
    },
  ]);
});

test("R-SVC-10 a turn that showed nothing leaves nothing, and does not empty a client's copy", () => {
  const nothing = ending("r", [step("")], { outcome: "cancelled" });
  expect(withTurn([shown("u", "Hi")], nothing)).toEqual([shown("u", "Hi")]);
  expect(withTurn([answer("msg_r", "Part")], nothing)).toEqual([answer("msg_r", "Part")]);
  expect(withTurn([answer("msg_r", "Part")], ending("r", [step("Partly.")]))).toEqual([
    { ...answer("msg_r", "Partly."), finishReason: "stop" },
  ]);
});

test("R-SVC-19 the message of a turn says how it ended, and no copy of it changes that", () => {
  const finish = { finishReason: "error", error: { code: "overloaded", message: "provider overloaded" } };
  const [broken, ...others] = withTurn([], ending("r", [step("Half")], { outcome: "error", finish }));
  expect(broken).toEqual({ ...answer("msg_r", "Half"), ...finish });
  expect(others).toEqual([]);
  expect(withIncoming([broken ?? shown("", "")], [answer("msg_r", "Half")], "known")).toEqual([broken]);
  // No more than the outcome is known.
  expect(withTurn([], ending("r", [step("Half")], { outcome: "cancelled" }))).toMatchObject([
    { finishReason: "cancelled" },
  ]);
});

test("R-SVC-10 results of earlier calls join the message that holds the call, once", () => {
  const [held] = withTurn([], ending("r", [step("", approval("a"), approval("b"))]));
  const end = ending("s", [step("Paid.")], {
    carried: [answeredBy(approval("a"), "paid"), approval("b"), answeredBy(approval("gone"), "x")],
  });
  const messages = withTurn(held === undefined ? [] : [held, shown("u", "Go")], end);
  const result = { type: "tool-result", toolCallId: "a", toolName: "pay", output: "paid" };
  expect(messages[0]?.parts.slice(2)).toEqual([result]);
  expect(messages.map(({ id }) => id)).toEqual(["msg_r", "u", "msg_s"]);
  expect(messages[2]?.parts.map(({ type, toolCallId }) => [type, toolCallId])).toEqual([
    ["text", undefined],
    ["tool-call", "gone"],
    ["tool-result", "gone"],
  ]);
  expect(withTurn(messages, end)).toEqual(messages);
  expect(shownCallIds(messages)).toEqual(["a", "b", "gone"]);
});

test("R-SVC-10 a client's list keeps what is stored, in its place, and adds what is new", () => {
  const stored = [shown("u1", "One"), answer("msg_r", "Whole answer"), shown("u2", "Two")];
  const incoming = [shown("u1", "One, edited"), answer("msg_r", "Whole"), shown("u3", "Three")];
  expect(withIncoming(stored, incoming, "known")).toEqual([
    shown("u1", "One, edited"),
    answer("msg_r", "Whole answer"),
    shown("u2", "Two"),
    shown("u3", "Three"),
  ]);
});

test("R-SVC-10 a client's copy brings results of its own tools, and no other change", () => {
  const [held] = withTurn([], ending("r", [step("", clientCall("a"))]));
  const result = { type: "tool-result", toolCallId: "a", toolName: "scroll", output: 1 };
  const foreign = { ...result, toolCallId: "z" };
  const stored = held === undefined ? [] : [held];
  const copy = { ...answer("msg_r", "else"), parts: [foreign, result] };
  const [merged] = withIncoming(stored, [copy], "known");
  expect(merged).toEqual({ ...held, parts: [...(held?.parts ?? []), result] });
  expect(withIncoming([merged ?? copy], [copy], "known")).toEqual([merged]);
});

test("R-SVC-10 with a decision only results of the client's own open calls come in, in an answer's copy or as a message", () => {
  const [held] = withTurn([], ending("r", [step("", clientCall("a"), clientCall("b"), approval("c"))]));
  const stored = held === undefined ? [] : [shown("u", "Hi"), held];
  const result = (toolCallId: string) => ({ type: "tool-result", toolCallId, toolName: "scroll", output: 1 });
  const copy = { ...answer("own", "else"), parts: [result("a"), result("c"), result("z")] };
  const message = (id: string) => ({ ...shown("", ""), id: `of ${id}`, role: "tool" as const, parts: [result(id)] });
  const incoming = [shown("u", "edited"), copy, message("a"), message("b"), message("c"), shown("new", "x")];
  const messages = withClientParts(stored, incoming, ["a", "b"]);
  const joined = { ...held, parts: [...(held?.parts ?? []), result("a")] };
  expect(messages).toEqual([shown("u", "Hi"), joined, message("b")]);
  expect(withClientParts(messages, incoming, [])).toEqual(messages);
});

test("R-SVC-10 an answer that comes back without our id is the same, an empty place for one is nothing", () => {
  const stored = [shown("u1", "One"), answer("msg_r", "Sure")];
  const filler = { ...answer("x", ""), parts: [{ type: "reasoning", text: "." }] };
  expect(withIncoming(stored, [shown("u1", "One"), answer("local", "Sure"), filler], "known")).toEqual(stored);
});

test("R-SVC-10 a new message under a known id is another message", () => {
  const stored = [shown("1", "yes"), answer("msg_r", "Sure"), shown("1.2", "no")];
  const messages = withIncoming(stored, [shown("1", "yes")], "last");
  expect(messages.map(({ id, content }) => [id, content])).toEqual([
    ["1", "yes"],
    ["msg_r", "Sure"],
    ["1.2", "no"],
    ["1.3", "yes"],
  ]);
  // Sent again, because nothing came of it.
  expect(withIncoming(messages, [shown("1.3", "yes")], "last")).toEqual(messages);
  expect(withIncoming(stored, [answer("1", "Sure")], "known")[3]?.id).toBe("1.3");
});

test.each([
  ["", true],
  [" New Chat ", true],
  ["New Chat 12", true],
  ["__NEW_CHAT__", true],
  ["Новый чат 3", true],
  ["New Chats", false],
  ["New Chat about rain", false],
  ["Rain", false],
])("R-SVC-12 %j is a placeholder: %j", (title, placeholder) => {
  expect(isPlaceholder(title)).toBe(placeholder);
});

test("R-SVC-12 R-SVC-13 titles are on one line, titles and previews are cut between characters", () => {
  expect(provisionalTitle("  What\n is\tthe  weather? ")).toBe("What is the weather?");
  expect(provisionalTitle("🧵".repeat(90))).toBe("🧵".repeat(80));
  expect(previewOf([answer("a", "No"), shown("b", "  "), shown("c", `${"é".repeat(170)}`)])).toBe("é".repeat(160));
  const parts = [
    { type: "text", text: " One " },
    { type: "file", name: "a.txt" },
    { type: "text", text: "Two" },
  ];
  expect(previewOf([{ id: "u", role: "user", content: "", parts }])).toBe("One\nTwo");
});
