// A conversation that ends in an assistant's message: which targets go on from it, and how it is sent to them.
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { adapters } from "../../src/providers/index.ts";

const target = (fields: Partial<Target>): Target => ({
  id: "t",
  adapter: "openai-chat",
  baseUrl: "https://api.example/v1",
  model: "m-1",
  ...fields,
});

type Messages = NonNullable<StartRequest["messages"]>;

function sent(fields: Partial<Target>, messages: Messages): unknown {
  const whole = target(fields);
  const request: StartRequest = { schemaVersion: "1.0", task: { kind: "text_to_text" }, messages };
  const body: unknown = JSON.parse(adapters[whole.adapter].request(request, whole, undefined).body);
  return Object(body).messages;
}

const begun = (content: string): Messages => [
  { role: "user", content: "Count to five." },
  { role: "assistant", content },
];

test.each([
  ["openai-chat", true],
  ["anthropic-messages", true],
  ["ollama", true],
  ["demo", false],
] as const)("R-PROV-10 %s goes on from a begun answer: %s", (adapter, continues) => {
  expect(adapters[adapter].continues(target({ adapter }))).toBe(continues);
});

describe("R-PROV-10 anthropic-messages refuses white space at the end of a begun answer", () => {
  const question = { role: "user", content: [{ type: "text", text: "Count to five." }] };
  test.each([
    ["One, two,\n ", "One, two,"],
    [" One", " One"],
  ])("%j is sent as %j", (content, text) => {
    expect(sent({ adapter: "anthropic-messages" }, begun(content))).toEqual([
      question,
      { role: "assistant", content: [{ type: "text", text }] },
    ]);
  });
  test("an answer of white space alone is not begun", () => {
    expect(sent({ adapter: "anthropic-messages" }, begun(" \n"))).toEqual([question]);
  });
  test("an answer that is over keeps its white space, and a trailing tool call its text", () => {
    const messages: Messages = [
      ...begun("One "),
      { role: "user", content: "Go on." },
      { role: "assistant", content: "Two ", toolCalls: [{ toolCallId: "c1", toolName: "count", input: {} }] },
    ];
    expect(sent({ adapter: "anthropic-messages" }, messages)).toMatchObject([
      question,
      { content: [{ text: "One " }] },
      {},
      { content: [{ text: "Two " }, { type: "tool_use" }] },
    ]);
  });
});
