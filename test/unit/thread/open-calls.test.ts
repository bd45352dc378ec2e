// Which calls of a conversation are open, and what settles the others.
import { expect, test } from "vitest";
import type { LangMessage } from "../../../schemas/thread.ts";
import { openCallsOf, settledCalls } from "../../../src/thread/open-calls.ts";

const asks = (id: string, ...calls: string[]): LangMessage => ({
  type: "ai",
  id,
  content: "",
  tool_calls: calls.map((call) => ({ id: call, name: "wipe", args: {} })),
});
const answers = (id: string, call: string): LangMessage => ({ type: "tool", id, content: id, tool_call_id: call });
const says = (id: string): LangMessage => ({ type: "human", id, content: id });

test("R-THR-16 only calls of the last message with calls are open, as long as no result comes after it", () => {
  expect(openCallsOf([])).toEqual([]);
  expect(openCallsOf([says("h"), asks("a", "1", "2")])).toEqual(["1", "2"]);
  expect(openCallsOf([asks("a", "1", "2"), says("h"), answers("t", "1")])).toEqual(["2"]);
  expect(openCallsOf([asks("a", "1"), asks("b", "2")])).toEqual(["2"]);
  expect(openCallsOf([asks("a", "1"), answers("t", "1"), asks("b", "1")])).toEqual(["1"]);
});

test("R-THR-16 what does not wait has the state's result, or an error where it has none", () => {
  const state = [asks("a", "1"), answers("s", "1"), asks("b", "1", "2", "3"), says("h"), answers("t", "1")];
  expect(settledCalls(state, ["2"])).toEqual([
    { role: "tool", toolCallId: "1", output: "t" },
    { role: "tool", toolCallId: "3", output: "The call was not carried out.", isError: true },
  ]);
  expect(settledCalls([says("h")], ["2"])).toEqual([]);
});
