// The conversation of a chat: what a model reads of it, what a client can and cannot put into it, and how turns add to it.
import { expect, test } from "vitest";
import { opening, wholeEnd, withAnswer } from "../../src/chat/conversation.ts";
import { adopted, NO_RESULT, openApprovals } from "../../src/chat/history.ts";
import { modelMessages } from "../../src/chat/model-messages.ts";
import {
  answeredBy,
  approval,
  asking,
  assistant,
  call,
  clientCall,
  ending,
  step,
  system,
  tool,
  user,
} from "./chats/entries.ts";

const none = new Set<string>();
const fresh = { settles: false, from: undefined };
const settles = { settles: true, from: undefined };

test("R-SVC-8 each result stands directly after its call, in the order of the calls, and nothing else does", () => {
  const entries = [
    system("Be kind."),
    tool("nobody", "lost"),
    user("Hi"),
    assistant("I look.", call("a"), call("b"), call("a")),
    user("And?"),
    tool("b", "2"),
    tool("a", '{"degrees":1}'),
    tool("a", "again"),
    assistant(""),
    assistant("Done."),
  ];
  expect(modelMessages(entries, undefined, none)).toEqual([
    { role: "system", content: "Be kind." },
    { role: "user", content: "Hi" },
    {
      role: "assistant",
      content: "I look.",
      toolCalls: [
        { toolCallId: "a", toolName: "weather", input: { city: "Bern" } },
        { toolCallId: "b", toolName: "weather", input: { city: "Bern" } },
      ],
    },
    { role: "tool", toolCallId: "a", output: '{"degrees":1}' },
    { role: "tool", toolCallId: "b", output: "2" },
    { role: "user", content: "And?" },
    { role: "assistant", content: "Done." },
  ]);
});

test("R-SVC-8 an open call is answered honestly, but for one that is about to be carried out", () => {
  const entries = [user("Hi"), assistant("", clientCall("a"), approval("b"))];
  expect(modelMessages(entries, undefined, new Set(["b"])).slice(2)).toEqual([
    { role: "tool", toolCallId: "a", output: NO_RESULT },
  ]);
  expect(JSON.parse(NO_RESULT)).toEqual({ success: false, error: "No result was given." });
});

test("R-SVC-8 ids that come again in later turns are other calls", () => {
  const entries = [assistant("", call("a")), tool("a", "1"), assistant("", call("a")), tool("a", "2")];
  const outputs = modelMessages(entries, undefined, none).flatMap((message) =>
    message.role === "tool" ? [message.output] : [],
  );
  expect(outputs).toEqual(["1", "2"]);
});

test("R-SVC-8 arguments that are no object are none, pictures are parts, and what a provider wants back is sent", () => {
  const broken = { id: "a", function: { name: "weather", arguments: "[1" }, execution: "server" as const };
  const messages = modelMessages(
    [
      { role: "user", content: "", images: [{ url: "https://example.org/a.png" }] },
      { role: "user", content: "Look", images: [{ data: "AA==", mediaType: "image/png" }] },
      { role: "assistant", content: "", tool_calls: [broken] },
      assistant("", call("b", { echo: { signature: "s" } })),
    ],
    undefined,
    none,
  );
  expect(messages).toMatchObject([
    { role: "user", content: [{ type: "image", url: "https://example.org/a.png" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { type: "image", data: "AA==", mediaType: "image/png" },
      ],
    },
    { toolCalls: [{ toolCallId: "a", input: {} }] },
    { role: "tool" },
    { toolCalls: [{ toolCallId: "b", echo: { signature: "s" } }] },
    { role: "tool" },
  ]);
});

const stored = [user("One"), assistant("Two", clientCall("c"))];

test.each([
  ["a history of the request", asking({ history: [user("Mine")], prompt: "P" }), [user("Mine"), user("P")], 1],
  ["the stored conversation without one", asking({ prompt: "P" }), [...stored, user("P")], 2],
  ["no prompt", asking({ history: [user("Mine")], prompt: "" }), [user("Mine")], 1],
  ["results alone", asking({ history: [tool("c", "3"), tool("x", "?")], prompt: "" }), [...stored, tool("c", "3")], 3],
])("R-SVC-8 a turn begins with %s", (_name, request, entries, promptAt) => {
  expect(opening(request, stored, fresh)).toEqual({ entries, promptAt });
});

test("R-SVC-2 a turn that is tried again asks its prompt once", () => {
  const failed = [...stored, user("P"), assistant("part")];
  expect(opening(asking({ prompt: "P" }), failed, { settles: false, from: 2 })).toEqual({
    entries: [...stored, user("P")],
    promptAt: 2,
  });
});

test("R-SVC-9 calls of a client's history are closed: by the stored result, or by an honest one", () => {
  const known = [assistant("", approval("a")), tool("a", "paid"), assistant("", approval("open"))];
  const given = [assistant("", approval("a"), approval("b"), approval("open")), user("And?")];
  const entries = adopted(given, known);
  expect(entries).toEqual([given[0], tool("a", "paid"), tool("b", NO_RESULT), tool("open", NO_RESULT), given[1]]);
  expect(openApprovals(entries)).toEqual([]);
  expect(openApprovals(known).map(({ toolCallId }) => toolCallId)).toEqual(["open"]);
});

test("R-SVC-9 results that a client sends alone do not answer an approval", () => {
  const waiting = [user("Pay"), assistant("", approval("a"))];
  expect(opening(asking({ history: [tool("a", "paid")], prompt: "" }), waiting, fresh).entries).toEqual(waiting);
});

test("R-SVC-8 a client's copy of a call keeps what its provider wants back", () => {
  const known = [assistant("", call("a", { echo: { signature: "s" } })), tool("a", "1")];
  const other = call("a", { toolName: "other" });
  expect(adopted([assistant("", call("a")), tool("a", "1")], known)).toEqual(known);
  expect(adopted([assistant("", other), tool("a", "1")], known)[0]).toEqual(assistant("", other));
});

test("R-SVC-11 a copy that reads the same to a program keeps the stored digits; one that says something else is taken", () => {
  const input = '{"order":9007199254740993,"e":1e400,"f":1.0}';
  const output = '{"id":9007199254740995,"y":[18446744073709551615]}';
  const made = (inputJson: string) => assistant("", call("a", { input: {}, inputJson }));
  const known = [made(input), tool("a", output)];
  const parsed = (text: string): string => JSON.stringify(JSON.parse(text));
  expect(adopted([made(parsed(input)), tool("a", parsed(output))], known)).toEqual(known);
  expect(parsed(input)).not.toContain("9007199254740993");
  const other = [made('{"order":9007199254740000}'), tool("a", '{"id":1}')];
  expect(adopted(other, known)).toEqual(other);
  const text = [made("{}"), tool("a", "12 degrees")];
  expect(adopted(text, [made("{}"), tool("a", "13 degrees")])).toEqual(text);
});

test("R-SVC-11 R-SVC-8 a result that is a failure stays one: stored, read, brought back by a client, or unknown", () => {
  const failed = { role: "tool", content: '{"success":false}', tool_call_id: "a", is_error: true } as const;
  const end = ending("r", [step("", answeredBy(call("a"), { success: false }, { isError: true }))]);
  const { entries } = withAnswer([user("Go")], end);
  expect(entries).toEqual([user("Go"), assistant("", call("a")), failed]);
  expect(modelMessages(entries, undefined, none).at(-1)).toEqual({
    role: "tool",
    toolCallId: "a",
    output: '{"success":false}',
    isError: true,
  });
  const copy = [assistant("", call("a")), tool("a", '{"success":false}')];
  expect(adopted(copy, entries)).toEqual([assistant("", call("a")), failed]);
  expect(adopted([assistant("", call("a"))], entries)).toEqual([assistant("", call("a")), failed]);
  const other = [assistant("", call("a")), tool("a", "12 degrees")];
  expect(adopted(other, entries)).toEqual(other);
  const lost = wholeEnd(ending("r", []), [approval("b")], new Set(["b"]));
  expect(withAnswer([assistant("", approval("b"))], lost).entries.at(-1)).toMatchObject({ is_error: true });
  const own = { ...tool("c", "no such element"), is_error: true } as const;
  const asked = asking({ history: [own], prompt: "" });
  expect(opening(asked, [assistant("", clientCall("c"))], fresh).entries[1]).toEqual(own);
});

test("R-SVC-7 a turn with decisions takes the stored conversation and the results of the client's own calls", () => {
  const waiting = [user("Go"), assistant("", clientCall("c"), approval("a"))];
  const request = asking({ prompt: "x", history: [user("Other"), tool("a", "mine"), tool("c", "scrolled")] });
  expect(opening(request, waiting, settles)).toEqual({ entries: [...waiting, tool("c", "scrolled")], promptAt: 3 });
});

test("R-SVC-11 one entry per step, results after it, and results of earlier calls after theirs", () => {
  const before = [user("Go"), assistant("", approval("a"), approval("b")), tool("a", "done")];
  const end = ending(
    "r",
    [
      step("Let me see.", answeredBy(call("c"), { degrees: 1 }), clientCall("d")),
      { text: "", reasoning: "Hm.", calls: [] },
      step(""),
    ],
    { carried: [answeredBy(approval("b"), "denied")] },
  );
  expect(withAnswer(before, end)).toEqual({
    entries: [
      ...before,
      tool("b", "denied"),
      assistant("Let me see.", call("c"), clientCall("d")),
      tool("c", '{"degrees":1}'),
      { role: "assistant", content: "", reasoning: "Hm." },
    ],
    answerAt: 4,
  });
});

test("R-SVC-6 a decided call without a word from its run has a result that says so", () => {
  const open = [approval("a"), approval("b"), approval("c")];
  const end = ending("r", [], { carried: [answeredBy(approval("a"), "ok"), approval("b"), approval("c")] });
  const { carried } = wholeEnd(end, open, new Set(["a", "b"]));
  expect(carried.map(({ toolCallId, result }) => [toolCallId, result?.isError])).toEqual([
    ["a", undefined],
    ["c", undefined],
    ["b", true],
  ]);
  expect(carried[2]?.result?.output).toMatchObject({ success: false });
});
