// Conversations that do not fit: what is cut, what goes, and what always stays.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Message } from "../../schemas/run.ts";
import { fitMessages } from "../../src/run/fit-messages.ts";
import { SHORT_OUTPUT } from "../../src/run/short-call.ts";

const user = (content: string): Message => ({ role: "user", content });
const system = (content: string): Message => ({ role: "system", content });
const says = (content: string): Message => ({ role: "assistant", content });
const calls = (...ids: string[]): Message => ({
  role: "assistant",
  toolCalls: ids.map((toolCallId) => ({ toolCallId, toolName: "t", input: {} })),
});
const tool = (toolCallId: string, output: unknown): Message => ({ role: "tool", toolCallId, output });
const bytes = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + new TextEncoder().encode(JSON.stringify(message)).length, 0);

test("R-SVC-16 what fits is left as it is", () => {
  const messages = [user("One"), calls("a"), tool("a", "x".repeat(5000))];
  expect(fitMessages(messages, 10_000)).toBe(messages);
});

test("R-SVC-16 long outputs are cut first, the oldest of them first, with a mark", () => {
  const list = { items: Array.from({ length: 2000 }, (_, index) => index) };
  const messages = [
    user("One"),
    calls("a", "b", "c"),
    tool("a", list),
    tool("b", "short"),
    tool("c", "y".repeat(5000)),
  ];
  const fitting = fitMessages(messages, 10_000);
  expect(fitting[2]).toMatchObject({
    output: expect.stringMatching(/^\{"items":\[0,1,.*\n\[cut: longer than 2048 bytes\]$/),
  });
  expect(bytes(fitting.slice(2, 3))).toBeLessThan(SHORT_OUTPUT + 1000);
  expect(fitting.slice(3)).toEqual(messages.slice(3));
});

test("R-SVC-16 then the oldest messages go, so that a user's message is the first where one fits", () => {
  const long = "x".repeat(3000);
  const messages = [system("Rules."), user(long), says(long), says(long), user("Two"), says("Three"), user("Four")];
  expect(fitMessages(messages, 7000)).toEqual([messages[0], ...messages.slice(4)]);
});

const writes = (id: string, content: string, more: Record<string, unknown> = {}): Message => ({
  role: "assistant",
  toolCalls: [{ toolCallId: id, toolName: "write", input: { path: "a.txt", content }, ...more }],
});

test("R-SVC-16 then long inputs of calls that have a result are cut, the oldest first, with a mark", () => {
  const long = "x".repeat(9000);
  const messages = [user("One"), writes("a", long), tool("a", 1), writes("b", long), tool("b", 2), user("Two")];
  const fitting = fitMessages(messages, 12_000);
  expect(fitting[1]).toMatchObject({
    toolCalls: [
      { input: { path: "a.txt", content: expect.stringMatching(/^x{900,1024}\n\[cut: longer than 1024 bytes\]$/) } },
    ],
  });
  expect(fitting.toSpliced(1, 1)).toEqual(messages.toSpliced(1, 1));
  const list = { items: Array.from({ length: 4000 }, (_, index) => index) };
  const exact = `{"n":9007199254740993,"items":${JSON.stringify(list.items)}}`;
  const listed = {
    role: "assistant" as const,
    toolCalls: [{ toolCallId: "a", toolName: "t", input: list, inputJson: exact }],
  };
  expect(fitMessages([user("One"), listed, tool("a", 1), user("Two")], 9000)[1]).toEqual({
    role: "assistant",
    toolCalls: [
      {
        toolCallId: "a",
        toolName: "t",
        input: {
          cut: expect.stringMatching(/^\{"n":9007199254740993,"items":\[0,1.*\n\[cut: longer than 2048 bytes\]$/),
        },
      },
    ],
  });
  expect(bytes(fitMessages(fitting, 12_000))).toBe(bytes(fitting));
});

test("R-SVC-16 the input of a call that has no result is cut only where nothing else makes room", () => {
  const long = "x".repeat(9000);
  const messages = [user("One"), says("y".repeat(3000)), user("Two"), writes("a", long)];
  expect(fitMessages(messages, 10_000)).toEqual(messages.slice(2));
  const fitting = fitMessages(messages, 5000);
  expect(bytes(fitting)).toBeLessThan(5000);
  expect(fitting.map(({ role }) => role)).toEqual(["user", "assistant"]);
});

test("R-SVC-16 the user's message that is answered stays, and what was said since goes first", () => {
  const long = "x".repeat(3000);
  const before = [user("One"), says("Yes.")];
  const messages = [...before, user("Two"), calls("a"), tool("a", 1), says(long), calls("b"), tool("b", 2)];
  expect(fitMessages(messages, 2000)).toEqual([user("Two"), calls("b"), tool("b", 2)]);
  expect(fitMessages([user(long), calls("a"), tool("a", 1), says("Two")], 2000)).toEqual([user(long), says("Two")]);
});

test("R-SVC-16 the newest message stays with what belongs to it, whatever its size", () => {
  const open = [calls("a", "b"), tool("a", "1"), tool("b", "2")];
  expect(fitMessages([user("One"), says("Two"), ...open], 10)).toEqual([user("One"), ...open]);
  expect(fitMessages([says("One"), ...open], 10)).toEqual(open);
  expect(fitMessages([system("Rules."), user("One"), user("x".repeat(100))], 10)).toEqual([
    system("Rules."),
    user("x".repeat(100)),
  ]);
});

test("R-SVC-16 a conversation that is made to fit fits, and no result stands without its call", () => {
  const text = fc.string({ maxLength: 3000 });
  const block = fc.oneof(
    text.map((content) => [user(content)]),
    text.map((content) => [says(content)]),
    fc.tuple(fc.array(text, { minLength: 1, maxLength: 3 }), fc.nat(20_000)).map(([outputs, length]) => [
      {
        role: "assistant" as const,
        toolCalls: outputs.map((_, index) => ({
          toolCallId: `c${index}`,
          toolName: "t",
          input: { text: "x".repeat(length) },
        })),
      },
      ...outputs.map((output, index) => tool(`c${index}`, output)),
    ]),
  );
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 12 }), fc.nat(20_000), (blocks, maxBytes) => {
      const messages = blocks.flat();
      const fitting = fitMessages(messages, maxBytes);
      const asked = messages.findLastIndex(({ role }) => role === "user");
      if (fitting.length < messages.length) expect(fitting[0]?.role).toBe(asked < 0 ? "assistant" : "user");
      // The newest in one piece, before them at most the user's message that they answer.
      const newest = blocks.at(-1)?.length ?? 0;
      const whole = messages.slice(-fitting.length).map(({ role }) => role);
      const apart = ["user", ...messages.slice(1 - fitting.length).map(({ role }) => role)];
      expect([whole, apart]).toContainEqual(fitting.map(({ role }) => role));
      if (asked >= 0) expect(fitting).toContainEqual(messages[asked]);
      const always = newest + (asked >= 0 && asked < messages.length - newest ? 1 : 0);
      expect(fitting.length).toBeGreaterThanOrEqual(always);
      if (fitting.length > always) expect(bytes(fitting)).toBeLessThanOrEqual(maxBytes);
    }),
  );
});
