// Long conversations: when a summary is asked for, where the cut is, and what a model reads with it.
import { expect, test } from "vitest";
import type { HistoryEntry } from "../../schemas/chat.ts";
import { summaryWanted, surplus, unread } from "../../src/chat/compaction.ts";
import { modelMessages } from "../../src/chat/model-messages.ts";
import { assistant, call, system, tool, user } from "./chats/entries.ts";

const long = (count: number): HistoryEntry[] =>
  Array.from({ length: count }, (_, index) => (index % 2 === 0 ? user(`u${index}`) : assistant(`a${index}`)));

test("R-SVC-16 a summary is asked for from 40 entries on, of all but the last 20, and then of what came since", () => {
  expect(summaryWanted(long(39), undefined)).toBeUndefined();
  const wanted = summaryWanted(long(40), undefined);
  expect(wanted?.through).toBe(20);
  expect(wanted?.text.split("\n")).toEqual(long(20).map(({ role, content }) => `${role}: ${content}`));
  const summary = { text: "Weather.", through: 20 };
  expect(summaryWanted(long(59), summary)).toBeUndefined();
  expect(summaryWanted(long(60), summary)).toMatchObject({ through: 40 });
  expect(summaryWanted(long(60), summary)?.text.split("\n").slice(0, 2)).toEqual([
    "Summary so far: Weather.",
    "user: u20",
  ]);
});

test("R-SVC-16 no result stands without its call", () => {
  const entries = [...long(18), assistant("", call("a"), call("b")), tool("a", "1"), tool("b", "2"), ...long(19)];
  expect(summaryWanted(entries, undefined)?.through).toBe(18);
  const oneTurn = [assistant("", call("a")), ...Array.from({ length: 45 }, () => tool("a", "1"))];
  expect(summaryWanted(oneTurn, undefined)).toBeUndefined();
});

test("R-SVC-16 a summary is asked for of few entries that are large, of all but the newest that are not", () => {
  const large = assistant("x".repeat(150_000));
  expect(summaryWanted([user("One"), large, user("Two"), assistant("Three")], undefined)).toBeUndefined();
  expect(summaryWanted([user("One"), large, user("Two"), large], undefined)).toMatchObject({ through: 3 });
  const grown = [user("One"), large, large, user("Two"), assistant("Three"), user("Four")];
  expect(summaryWanted(grown, undefined)).toMatchObject({ through: 3 });
  expect(summaryWanted(grown, { text: "One.", through: 3 })).toBeUndefined();
  // An output is cut before anything is left out.
  const outputs = [user("One"), assistant("", call("a")), tool("a", "x".repeat(300_000)), assistant("Two")];
  expect(summaryWanted(outputs, undefined)).toBeUndefined();
});

test("R-SVC-16 what a model is to sum up is bounded, and what does not fit stays as it is", () => {
  const entries = long(100).map((entry) => ({ ...entry, content: entry.content.padEnd(10_000, "x") }));
  const wanted = summaryWanted(entries, undefined);
  expect(wanted?.text.length).toBeLessThanOrEqual(121_000);
  expect(wanted?.through).toBe(wanted?.text.split("\n").length);
  expect(wanted?.through).toBeLessThan(80);
});

test("R-SVC-16 with a summary a model reads the rules, the summary, and every entry after it", () => {
  const entries = [system("Be kind."), user("One"), assistant("Two"), system("Now shout."), user("Three")];
  expect(modelMessages(entries, { text: "Counting.", through: 3 }, new Set())).toEqual([
    { role: "system", content: "Be kind." },
    { role: "system", content: "Summary of the conversation before the messages below:\nCounting." },
    { role: "system", content: "Now shout." },
    { role: "user", content: "Three" },
  ]);
});

test("R-SVC-16 of what a summary covers a model reads the user's message that the entries after it answer", () => {
  const entries = [
    user("One"),
    assistant("Two"),
    user("Three"),
    assistant("", call("a")),
    tool("a", "1"),
    assistant("Four"),
  ];
  const told = (through: number): (string | undefined)[] =>
    modelMessages(entries, { text: "Counting.", through }, new Set())
      .slice(1)
      .map((message) =>
        message.role === "user" && typeof message.content === "string" ? message.content : message.role,
      );
  expect(told(2)).toEqual(["Three", "assistant", "tool", "assistant"]);
  expect(told(3)).toEqual(["Three", "assistant", "tool", "assistant"]);
  expect(told(5)).toEqual(["Three", "assistant"]);
});

test("R-SVC-17 the newest of a chat are read, as many as fit", () => {
  expect(unread([3, 3, 3], 9)).toBe(0);
  expect(unread([3, 3, 3], 8)).toBe(1);
  expect(unread([9, 1, 1], 8)).toBe(1);
  expect(unread([1, 1, 9], 8)).toBe(2);
  expect(unread([])).toBe(0);
});

test("R-SVC-17 the oldest go when a chat outgrows its bounds, the newest never", () => {
  expect(surplus([3_000_000, 3_000_000, 2_000_000])).toBe(0);
  expect(surplus([3_000_000, 3_000_000, 3_000_000])).toBe(1);
  expect(surplus([1, 9_000_000])).toBe(0);
  expect(surplus([1, 9_000_000, 9_000_000, 9_000_000])).toBe(2);
  expect(surplus([9_000_000])).toBe(0);
  expect(surplus([])).toBe(0);
});
