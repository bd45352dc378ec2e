// Conversations that do not fit: what is cut, what goes, and what always stays.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Message } from "../../schemas/run.ts";
import { fitMessages, SHORT_OUTPUT } from "../../src/run/fit-messages.ts";

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
  expect(fitMessages([user(long), calls("a"), tool("a", 1), says("Two")], 2000)).toEqual([
    calls("a"),
    tool("a", 1),
    says("Two"),
  ]);
});

test("R-SVC-16 the newest message stays with what belongs to it, whatever its size", () => {
  const open = [calls("a", "b"), tool("a", "1"), tool("b", "2")];
  expect(fitMessages([user("One"), ...open], 10)).toEqual(open);
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
    fc
      .array(text, { minLength: 1, maxLength: 3 })
      .map((outputs) => [
        calls(...outputs.map((_, index) => `c${index}`)),
        ...outputs.map((output, index) => tool(`c${index}`, output)),
      ]),
  );
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 12 }), fc.nat(20_000), (blocks, maxBytes) => {
      const messages = blocks.flat();
      const fitting = fitMessages(messages, maxBytes);
      expect(fitting[0]?.role).not.toBe("tool");
      expect(fitting.map(({ role }) => role)).toEqual(messages.slice(-fitting.length).map(({ role }) => role));
      const newest = blocks.at(-1)?.length ?? 0;
      expect(fitting.length).toBeGreaterThanOrEqual(newest);
      if (fitting.length > newest) expect(bytes(fitting)).toBeLessThanOrEqual(maxBytes);
    }),
  );
});
