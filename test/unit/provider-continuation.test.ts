// A conversation that ends in an assistant's message: which targets go on from it, and how it is sent to them.
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { withPrefill } from "../../src/providers/conversation.ts";
import { adapters } from "../../src/providers/index.ts";

const target = (fields: Partial<Target>): Target => ({
  id: "t",
  adapter: "openai-chat",
  baseUrl: "https://api.example/v1",
  model: "m-1",
  ...fields,
});

type Messages = NonNullable<StartRequest["messages"]>;

function bodyOf(fields: Partial<Target>, messages: Messages): unknown {
  const whole = target(fields);
  const request: StartRequest = { schemaVersion: "1.0", task: { kind: "text_to_text" }, messages };
  const body: unknown = JSON.parse(adapters[whole.adapter].request(request, whole, undefined).body);
  return body;
}

const sent = (fields: Partial<Target>, messages: Messages): unknown => Object(bodyOf(fields, messages)).messages;

const begun = (content: string): Messages => [
  { role: "user", content: "Count to five." },
  { role: "assistant", content },
];

test.each([
  ["openai-chat", true],
  ["openai-responses", false],
  ["anthropic-messages", true],
  ["ollama", true],
  ["gemini", false],
  ["workers-ai", false],
  ["demo", false],
] as const)("R-PROV-10 %s goes on from a begun answer: %s", (adapter, continues) => {
  expect(adapters[adapter].continues(target({ adapter }))).toBe(continues);
});

const question = { role: "user" as const, content: "Count to five." };
const plain = { role: "assistant" as const, content: "One, two, " };
const marked = { ...plain, prefix: true };
const said = { continue_final_message: true, add_generation_prompt: false };
const DEEPSEEK_BETA = "https://api.deepseek.com/beta";

test.each<[Partial<Target>, boolean, object, object]>([
  [{ preset: "openai" }, false, plain, {}],
  [{ preset: "azure" }, false, plain, {}],
  [{ preset: "openrouter" }, true, plain, {}],
  [{ preset: "deepseek" }, false, plain, {}],
  [{ preset: "deepseek", baseUrl: undefined }, false, plain, {}],
  [{ preset: "deepseek", baseUrl: DEEPSEEK_BETA }, true, marked, {}],
  [{ baseUrl: `${DEEPSEEK_BETA}/` }, true, marked, {}],
  [{ preset: "mistral" }, true, marked, {}],
  [{ preset: "groq" }, true, plain, {}],
  [{ preset: "xai" }, false, plain, {}],
  [{ preset: "perplexity" }, false, plain, {}],
  [{ preset: "together" }, true, plain, {}],
  [{ preset: "vllm" }, true, plain, said],
  [{ preset: "sglang" }, true, plain, said],
  [{ preset: "llama-cpp" }, true, plain, {}],
  [{ preset: "lm-studio" }, true, plain, {}],
  [{ preset: "cloudflare-ai-gateway" }, false, plain, {}],
])("R-PROV-10 R-PROV-11 openai-chat with %j goes on: %s", (fields, continues, message, beside) => {
  expect(adapters["openai-chat"].continues(target(fields))).toBe(continues);
  const body = bodyOf(fields, begun("One, two, "));
  expect(body).toMatchObject({ messages: [question, message], ...beside });
  expect(Object(body).messages[1]).toEqual(message);
  expect("continue_final_message" in Object(body)).toBe("continue_final_message" in beside);
});

test.each<Messages>([
  [question, { role: "assistant", content: "One", toolCalls: [{ toolCallId: "c1", toolName: "t", input: {} }] }],
  [question, plain, { role: "user", content: "Go on." }],
  [question, { role: "assistant", content: "" }],
])("R-PROV-10 a conversation that does not end in a begun answer is not marked: %j", (...messages) => {
  expect(JSON.stringify(bodyOf({ preset: "mistral" }, messages))).not.toContain("prefix");
  expect(JSON.stringify(bodyOf({ preset: "vllm" }, messages))).not.toContain("continue_final_message");
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

describe.each(["anthropic-messages", "bedrock-converse"] as const)(
  "R-PROV-10 %s: white space over several texts",
  (adapter) => {
    const texts = (...parts: string[]): Messages => [
      question,
      { role: "assistant", content: parts.map((text) => ({ type: "text" as const, text })) },
    ];
    const turns = (messages: Messages): string[][] =>
      Array.from(Object(bodyOf({ adapter }, messages)).messages, ({ content }: { content: { text: string }[] }) =>
        content.map(({ text }) => text),
      );
    test.each([
      ["in one message", texts("Hello ", "  ")],
      ["in two messages", [...begun("Hello "), { role: "assistant" as const, content: " " }]],
      ["in many", [...texts("Hello \n", "", "\n"), ...Array(5).fill({ role: "assistant" as const, content: "\t" })]],
    ])("%s", (_name, messages) => {
      expect(turns(messages)).toEqual([["Count to five."], ["Hello"]]);
    });
    test("texts of white space alone are not begun", () => {
      expect(turns(texts(" ", "\n"))).toEqual([["Count to five."]]);
    });
  },
);

test("R-PROV-7 a turn of more parts than a call can have arguments is sent", () => {
  const parts = Array.from({ length: 200_000 }, () => ({ type: "text" as const, text: "a" }));
  const messages: Messages = [question, { role: "user", content: parts }];
  for (const adapter of ["anthropic-messages", "bedrock-converse"] as const) {
    expect(JSON.stringify(bodyOf({ adapter }, messages)).length).toBeGreaterThan(parts.length);
  }
});

describe("R-CONT-1 an answer begun is sent as the assistant's", () => {
  const after = (fields: Partial<StartRequest>): unknown =>
    withPrefill({ schemaVersion: "1.0", task: { kind: "text_to_text" }, ...fields }, " and on").messages;

  test("after a prompt, and after a conversation that ends in a question", () => {
    expect(after({ prompt: "Hi" })).toEqual([
      { role: "user", content: "Hi" },
      { role: "assistant", content: " and on" },
    ]);
    expect(after({ messages: [{ role: "user", content: "Hi" }] })).toHaveLength(2);
  });

  test("as more of an answer that the conversation has begun itself", () => {
    expect(after({ messages: begun("One, two") })).toEqual(begun("One, two and on"));
    const parts: Messages = [{ role: "assistant", content: [{ type: "text", text: "One" }] }];
    expect(after({ messages: parts })).toEqual([
      {
        role: "assistant",
        content: [
          { type: "text", text: "One" },
          { type: "text", text: " and on" },
        ],
      },
    ]);
  });
});
