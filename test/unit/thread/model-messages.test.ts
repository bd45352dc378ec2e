// A thread's state as the messages that a provider is sent.
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { messageSchema } from "../../../schemas/run.ts";
import type { LangMessage } from "../../../schemas/thread.ts";
import { checkpointId, checkpointNumber } from "../../../src/thread/checkpoint-id.ts";
import { callIdsOf, modelMessages } from "../../../src/thread/model-messages.ts";
import { matches } from "../../../src/thread/search.ts";
import { stateMessages, type StateBefore } from "../../../src/thread/state-messages.ts";

const human = (content: unknown): LangMessage => ({ type: "human", id: "h", content });
const ai = (content: string, ...calls: string[]): LangMessage => ({
  type: "ai",
  id: "a",
  content,
  tool_calls: calls.map((id) => ({ id, name: "weather", args: { city: "Bern" }, type: "tool_call" })),
});
const result = (id: string, fields: Partial<LangMessage> = {}): LangMessage => ({
  type: "tool",
  id: `t-${id}`,
  tool_call_id: id,
  content: `of ${id}`,
  status: "success",
  ...fields,
});
const called = (...ids: string[]) =>
  ids.map((toolCallId) => ({ toolCallId, toolName: "weather", input: { city: "Bern" } }));
const answered = (toolCallId: string) => ({ role: "tool", toolCallId, output: `of ${toolCallId}` });
const unanswered = (toolCallId: string) => ({
  role: "tool",
  toolCallId,
  output: "The call was not carried out.",
  isError: true,
});
const never = (): boolean => false;

describe("what a model reads of a state", () => {
  it("R-THR-12 has each result directly after its call, in the order of the calls", () => {
    const state = [ai("Looking.", "one", "two"), human("And?"), result("two"), result("one"), result("none")];
    expect(modelMessages(state, never)).toEqual([
      { role: "assistant", content: "Looking.", toolCalls: called("one", "two") },
      answered("one"),
      answered("two"),
      { role: "user", content: "And?" },
    ]);
    expect(callIdsOf(state)).toEqual(["one", "two"]);
  });

  it("R-THR-12 has an error for a call without a result, unless its result is to come", () => {
    const state = [ai("", "one"), result("one"), ai("", "one", "two"), result("two", { status: "error" })];
    expect(modelMessages(state, never)).toEqual([
      { role: "assistant", toolCalls: called("one") },
      answered("one"),
      { role: "assistant", toolCalls: called("one", "two") },
      unanswered("one"),
      { ...answered("two"), isError: true },
    ]);
    const [last] = state.slice(2);
    const open = modelMessages(state, (message) => message === last);
    expect(open.filter(({ role }) => role === "tool")).toHaveLength(2);
  });

  it("R-THR-12 has the numbers of a call with every digit", () => {
    const args = { id: 9007199254740992 };
    const call = { id: "one", name: "weather", args, args_json: '{"id":9007199254740993}', type: "tool_call" };
    expect(modelMessages([{ ...ai(""), tool_calls: [call] }], () => true)).toEqual([
      {
        role: "assistant",
        toolCalls: [{ toolCallId: "one", toolName: "weather", input: args, inputJson: call.args_json }],
      },
    ]);
  });

  it("R-THR-12 has images at their address or as base64, and leaves out what is neither text nor an image", () => {
    const data = "iVBORw0KGgo=";
    const picture = { type: "image", data, mediaType: "image/png" };
    const [message] = modelMessages(
      [
        human([
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } },
          { type: "image_url", image_url: "https://example.com/a.png" },
          { type: "image", source: { type: "base64", media_type: "image/png", data } },
          { type: "image", base64: data, mime_type: "image/png" },
          { type: "image", url: "https://example.com/b.png" },
          { type: "image_url", image_url: { url: "nowhere" } },
          { type: "image", data, mime_type: "text/html" },
          { type: "file", file: {} },
        ]),
      ],
      never,
    );
    expect(message).toEqual({
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        picture,
        { type: "image", url: "https://example.com/a.png" },
        picture,
        picture,
        { type: "image", url: "https://example.com/b.png" },
      ],
    });
    expect(v.is(messageSchema, message)).toBe(true);
  });

  it("R-THR-12 has nothing of a message that says nothing", () => {
    const empty = [human(""), human([]), human([{ type: "text", text: "" }]), ai(""), { type: "other", id: "o" }];
    expect(modelMessages([...empty, human([{ type: "text", text: "Hi" }])], never)).toEqual([
      { role: "user", content: "Hi" },
    ]);
  });
});

describe("records of a run", () => {
  const record = (eventType: string, content: unknown, caller?: string) => ({
    source: 0,
    eventType,
    category: "message",
    content,
    metadata: caller === undefined ? {} : { caller },
    at: 0,
  });

  const empty: StateBefore = { hasMessage: never, hasCall: never };

  it("R-THR-10 are messages of the state when the agent itself says them", () => {
    const told = [
      record("llm.human.input", human("Hi")),
      record("llm.ai.response", ai("Yes", "one"), "lead_agent"),
      record("llm.ai.response", ai("No", "two"), "subagent:helper"),
      record("llm.ai.response", "text"),
      record("llm.tool.result", result("one")),
      record("run.end", {}),
    ];
    expect(stateMessages(told, empty).map(({ id }) => id)).toEqual(["h", "a", "t-one"]);
    expect(stateMessages(told, { ...empty, hasMessage: () => true }).map(({ id }) => id)).toEqual(["a", "t-one"]);
    expect(stateMessages([record("ai_message", ai("Yes"))], empty)).toHaveLength(1);
  });

  it("R-THR-10 are results of the state when their call is in it, in the same news or before", () => {
    const told = [
      record("llm.ai.response", ai("", "two"), "subagent:helper"),
      record("llm.tool.result", result("two")),
      record("llm.tool.result", result("one")),
    ];
    expect(stateMessages(told, empty)).toEqual([]);
    expect(stateMessages(told, { ...empty, hasCall: (id) => id === "one" }).map(({ id }) => id)).toEqual(["t-one"]);
  });
});

describe("the names of checkpoints", () => {
  it("R-THR-14 are in the order of their numbers, and nothing else is one", () => {
    const names = [1, 9, 10, 123_456].map(checkpointId);
    expect(names.toSorted()).toEqual(names);
    expect(names.map(checkpointNumber)).toEqual([1, 9, 10, 123_456]);
    expect(["", "1", "cp-1", "cp-00000000000x", " cp-000000000001"].map(checkpointNumber)).toEqual(
      [1, 2, 3, 4, 5].map(() => undefined),
    );
  });
});

describe("a search", () => {
  it("R-THR-22 matches each key with exactly its value", () => {
    const metadata = { a: 1, b: "1", c: null, d: true };
    expect([{}, { a: 1 }, { b: "1", c: null }, { d: true }].map((wanted) => matches(metadata, wanted))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([{ a: "1" }, { e: null }, { d: 1 }, { toString: null }].map((one) => matches(metadata, one))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});
