// Turns that were given up and tell afterwards what they did: where that goes in the conversation and on the page.
import { expect, test } from "vitest";
import type { DisplayMessage, HistoryEntry } from "../../schemas/chat.ts";
import { withTurn } from "../../src/chat/display.ts";
import { answerOf, UNKNOWN_EFFECT } from "../../src/chat/history.ts";
import { withLateAnswer } from "../../src/chat/late-news.ts";
import { answeredBy, approval, assistant, call, ending, shown, step, tool, user } from "./chats/entries.ts";

const made = answeredBy(call("c"), "sunny");
const end = ending("r", [step("Looking. ", made), step("Sunny.")], { outcome: "cancelled" });
const answer: HistoryEntry[] = [assistant("Looking. ", made), tool("c", "sunny"), assistant("Sunny.")];
const gone = (text: string): DisplayMessage[] => withTurn([], ending("r", [step(text)], { outcome: "cancelled" }));
const ids = (messages: readonly DisplayMessage[]): string[] => messages.map(({ id }) => id);

test("R-SVC-4 a whole turn takes the place of the text that was kept of it", () => {
  const entries = [user("One?"), assistant("Looking. Sunny."), user("Two?")];
  const messages = [shown("u1", "One?"), ...gone("Looking. Sunny."), shown("u2", "Two?")];
  const late = withLateAnswer({ entries, messages }, end, { promptAt: 0, next: 2 });
  expect(late.entries).toEqual([user("One?"), ...answer, user("Two?")]);
  expect(late).toMatchObject({ at: 1, more: 2 });
  expect(ids(late.messages)).toEqual(["u1", "msg_r", "u2"]);
  expect(late.messages[1]?.parts).toHaveLength(3);
});

test("R-SVC-4 a turn of which nothing was kept stands before the one that follows, also on the page", () => {
  const entries = [user("One?"), user("Two?"), assistant("Fine.")];
  const messages = [shown("u1", "One?"), shown("u2", "Two?"), ...withTurn([], ending("s", [step("Fine.")]))];
  const late = withLateAnswer({ entries, messages }, end, { promptAt: 0, next: 1 });
  expect(late.entries).toEqual([user("One?"), ...answer, user("Two?"), assistant("Fine.")]);
  expect(late).toMatchObject({ at: 1, more: 3 });
  expect(ids(late.messages)).toEqual(["u1", "msg_r", "u2", "msg_s"]);
  const last = withLateAnswer({ entries: [user("One?")], messages: [shown("u1", "One?")] }, end, {
    promptAt: 0,
    next: 1,
  });
  expect(last.entries).toEqual([user("One?"), ...answer]);
  expect(ids(last.messages)).toEqual(["u1", "msg_r"]);
});

test("R-SVC-4 a turn without a prompt goes on where it began, and its results replace those made up for it", () => {
  const pay = approval("p");
  const unknown = tool("p", answerOf(UNKNOWN_EFFECT).content);
  const entries = [user("Pay."), assistant("", pay), { ...unknown, is_error: true as const }, user("Two?")];
  const waits = withTurn([], ending("w", [step("", pay)]));
  const messages = withTurn(waits, ending("r", [], { carried: [{ ...pay, result: UNKNOWN_EFFECT }] }));
  const carried = [answeredBy(pay, { paid: true })];
  const late = withLateAnswer({ entries, messages }, { ...end, carried }, { promptAt: 3, next: 3 });
  expect(late.entries).toEqual([user("Pay."), assistant("", pay), tool("p", '{"paid":true}'), ...answer, user("Two?")]);
  expect(late.messages[0]?.parts).toEqual([
    waits[0]?.parts[0],
    { type: "tool-result", toolCallId: "p", toolName: "pay", output: { paid: true } },
  ]);
});

test("R-SVC-4 an answer whose place is gone, or taken by another try, stays out of the conversation", () => {
  const entries = [user("Other."), assistant("Sunny."), user("Two?"), assistant("Looking. Sunny.")];
  const messages = gone("Looking. Sunny.");
  for (const next of [2, undefined]) {
    const late = withLateAnswer({ entries, messages }, end, { promptAt: 0, next });
    expect(late).toMatchObject({ entries, more: 0 });
    expect(late.messages[0]?.parts).toHaveLength(3);
  }
  const again = [user("One?"), assistant("From another try.")];
  const late = withLateAnswer({ entries: again, messages: [] }, end, { promptAt: 0, next: undefined });
  expect(late.entries).toEqual(again);
  expect(ids(late.messages)).toEqual(["msg_r"]);
});
