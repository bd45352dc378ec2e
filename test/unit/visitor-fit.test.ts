// What is read at once of a chat that is larger: what is cut, what is left out, and where it begins.
import { expect, test } from "vitest";
import { readableEntries, readableMessages } from "../../durable-objects/visitor-fit.ts";
import type { DisplayMessage, HistoryEntry } from "../../schemas/chat.ts";
import { approval, assistant, call, shown, tool, user } from "./chats/entries.ts";

const roles = (entries: readonly HistoryEntry[]): string[] => entries.map(({ role }) => role);

test("R-SVC-17 what is read of a conversation never begins with a result whose call is left out", () => {
  const text = "x".repeat(4_600_000);
  const entries = [user("One"), assistant(text, call("a")), tool("a", "1"), assistant("y".repeat(3_000_000))];
  expect(readableEntries(entries)).toEqual({ items: entries.slice(3), leftOut: 3 });
  const last = [user("One"), assistant(text, call("a"), call("b")), tool("a", "1"), tool("b", "2")];
  expect(readableEntries([user("y".repeat(3_000_000)), ...last])).toEqual({ items: last, leftOut: 1 });
});

test("R-SVC-17 outputs, and inputs of calls that have a result, are cut before anything is left out, the oldest first", () => {
  const input = { of: '"'.repeat(900_000) };
  const open = approval("k");
  const entries = [
    user("One"),
    assistant("", call("a", { input }), call("b", { input })),
    tool("a", "y".repeat(3_000_000)),
    tool("b", "2"),
    assistant("", call("c", { input: { of: "z".repeat(1_000_000) } }), { ...open, input }),
    tool("c", "3"),
  ];
  const { items, leftOut } = readableEntries(entries);
  expect(leftOut).toBe(0);
  expect(roles(items)).toEqual(roles(entries));
  const texts = items.flatMap(({ tool_calls: calls = [] }) => calls.map((each) => each.function.arguments));
  expect(texts.map((each) => each.length < 10_000)).toEqual([true, true, false, false]);
  for (const each of texts) expect(JSON.parse(each)).toHaveProperty("of");
  expect(items.at(4)).toEqual(entries[4]);
});

test("R-SVC-17 a message that alone is too large to be read drives no other out, and a part of it is shown", () => {
  const input = { of: "z".repeat(8_000_000) };
  const waiting: DisplayMessage = {
    id: "m",
    role: "assistant",
    content: "May I?",
    parts: [{ type: "tool-call", toolCallId: "k", toolName: "pay", target: "backend", input }],
  };
  const messages = [shown("u", "One"), waiting];
  const { items, leftOut } = readableMessages(messages);
  expect(leftOut).toBe(0);
  expect(items[0]).toBe(messages[0]);
  expect(items[1]?.parts[0]?.["input"]).toEqual({ of: expect.stringMatching(/^z+\n\[cut: longer than 1024 bytes\]$/) });
  expect(readableEntries([user("One"), assistant("x".repeat(9_000_000))])).toMatchObject({
    items: [user("One"), { content: expect.stringMatching(/^x+\n\[cut: longer than 1000000 bytes\]$/) }],
    leftOut: 0,
  });
});
