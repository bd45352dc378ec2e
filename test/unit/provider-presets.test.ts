// What each preset of the OpenAI chat family makes of one request: its exact URL, headers and body.
import { describe, expect, test } from "vitest";
import type { PresetId, Target } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { openAiChat } from "../../src/providers/openai-chat.ts";

type Fields = Partial<Omit<StartRequest, "schemaVersion" | "task">>;

function build(target: Partial<Target>, fields: Fields, key?: string) {
  const request: StartRequest = { schemaVersion: "1.0", task: { kind: "text_to_text" }, ...fields };
  const whole: Target = { id: "t", adapter: "openai-chat", model: "m/1", ...target };
  const { body, ...rest } = openAiChat.request(request, whole, key);
  const parsed: unknown = JSON.parse(body);
  return { ...rest, body: parsed };
}

const look = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
const IMAGE = "https://pictures.example/cat.png";
const everything: Fields = {
  messages: [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "image", url: IMAGE },
      ],
    },
    { role: "assistant", toolCalls: [{ toolCallId: "call_1", toolName: "look", input: {} }] },
    { role: "tool", toolCallId: "call_1", output: "a cat" },
  ],
  tools: [look],
  toolChoice: "required",
  generation: { maxOutputTokens: 50, temperature: 0.5, topP: 0.9, seed: 7, stop: ["END"], output: "json" },
};

const messagesWith = (content: unknown, id: string) => [
  { role: "system", content: "Be brief." },
  { role: "user", content },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name: "look", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: id, content: "a cat" },
];
const pictured = [
  { type: "text", text: "See" },
  { type: "image_url", image_url: { url: IMAGE } },
];
const common = { model: "m/1", messages: messagesWith(pictured, "call_1"), stream: true, temperature: 0.5, top_p: 0.9 };
const counted = { stream_options: { include_usage: true } };
const seeded = { seed: 7 };
const stopped = { stop: ["END"] };
const equipped = { tools: [{ type: "function", function: look }], tool_choice: "required" };
const json = { response_format: { type: "json_object" } };
const older = { ...common, ...counted, ...seeded, ...stopped, ...equipped, ...json, max_tokens: 50 };
const newer = { ...common, ...counted, ...seeded, ...stopped, ...equipped, ...json, max_completion_tokens: 50 };
const bearer = { authorization: "Bearer k-1" };

/** With the reasoning that DeepSeek wants of every answer. */
const reasoned = (message: { role: string }): object =>
  message.role === "assistant" ? { reasoning_content: "", ...message } : message;

interface Expected {
  target?: Partial<Target>;
  url: string;
  key: Record<string, string>;
  body: object;
  unsupported?: string[];
}

const GATEWAY = "https://gateway.ai.cloudflare.com/v1/account/gateway/compat";

const table: Record<PresetId, Expected> = {
  openai: { url: "https://api.openai.com/v1/chat/completions", key: bearer, body: newer },
  azure: {
    target: { baseUrl: "https://res.openai.azure.com" },
    url: "https://res.openai.azure.com/openai/deployments/m%2F1/chat/completions?api-version=2024-10-21",
    key: { "api-key": "k-1" },
    body: newer,
  },
  openrouter: { url: "https://openrouter.ai/api/v1/chat/completions", key: bearer, body: older },
  deepseek: {
    url: "https://api.deepseek.com/chat/completions",
    key: bearer,
    body: {
      ...common,
      messages: messagesWith("See", "call_1").map(reasoned),
      ...counted,
      ...stopped,
      ...equipped,
      ...json,
      max_tokens: 50,
    },
    unsupported: ["generation.seed", "messages.content.image"],
  },
  mistral: {
    url: "https://api.mistral.ai/v1/chat/completions",
    key: bearer,
    body: {
      ...common,
      messages: messagesWith(pictured, "000000001"),
      max_tokens: 50,
      random_seed: 7,
      ...stopped,
      ...equipped,
      tool_choice: "any",
      ...json,
    },
  },
  groq: { url: "https://api.groq.com/openai/v1/chat/completions", key: bearer, body: newer },
  xai: {
    url: "https://api.x.ai/v1/chat/completions",
    key: bearer,
    body: { ...common, ...counted, ...seeded, ...equipped, ...json, max_completion_tokens: 50 },
    unsupported: ["generation.stop"],
  },
  perplexity: {
    url: "https://api.perplexity.ai/chat/completions",
    key: bearer,
    // Neither calls nor their results, which it would refuse.
    body: { ...common, messages: common.messages.slice(0, 2), ...stopped, max_tokens: 50 },
    unsupported: ["generation.seed", "generation.output", "tools", "messages.toolCalls"],
  },
  together: { url: "https://api.together.xyz/v1/chat/completions", key: bearer, body: older },
  vllm: {
    target: { baseUrl: "http://127.0.0.1:8000/v1" },
    url: "http://127.0.0.1:8000/v1/chat/completions",
    key: bearer,
    body: older,
  },
  sglang: {
    target: { baseUrl: "http://127.0.0.1:30000/v1" },
    url: "http://127.0.0.1:30000/v1/chat/completions",
    key: bearer,
    body: older,
  },
  "llama-cpp": {
    target: { baseUrl: "http://127.0.0.1:8080/v1" },
    url: "http://127.0.0.1:8080/v1/chat/completions",
    key: bearer,
    body: older,
  },
  "lm-studio": {
    target: { baseUrl: "http://127.0.0.1:1234/v1" },
    url: "http://127.0.0.1:1234/v1/chat/completions",
    key: bearer,
    body: { ...common, ...counted, ...seeded, ...stopped, ...equipped, max_tokens: 50 },
    unsupported: ["generation.output"],
  },
  "cloudflare-ai-gateway": {
    target: { baseUrl: GATEWAY },
    url: `${GATEWAY}/chat/completions`,
    key: { "cf-aig-authorization": "Bearer k-1" },
    body: older,
  },
};

describe.each(Object.entries(table))("R-PROV-7 R-PROV-11 %s", (name, { target, url, key, body, unsupported = [] }) => {
  const preset = Object.keys(table).find((id): id is PresetId => id === name);
  const whole: Partial<Target> = { ...target, ...(preset !== undefined && { preset }) };

  test("R-PROV-7 R-PROV-11 a request with everything", () => {
    expect(build(whole, everything, "k-1")).toEqual({
      url,
      headers: { "content-type": "application/json", accept: "text/event-stream", ...key },
      body,
      unsupported,
    });
  });
  test("R-PROV-11 what is not asked for is not sent, nor called unsupported", () => {
    const { headers, body: bare, unsupported: missing } = build(whole, { prompt: "Hi" });
    expect(headers).toEqual({ "content-type": "application/json", accept: "text/event-stream" });
    expect(bare).toEqual({
      model: "m/1",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      ...("stream_options" in body && counted),
    });
    expect(missing).toEqual([]);
  });
});

const schema = { type: "object", properties: { a: { type: "number" } } };

test.each([
  ["openai", true],
  ["mistral", true],
  ["perplexity", true],
  ["lm-studio", true],
  ["deepseek", false],
] as const)("R-PROV-11 %s takes a JSON schema: %s", (preset, takes) => {
  const { body, unsupported } = build(
    { preset, baseUrl: "https://api.example/v1" },
    { prompt: "Hi", generation: { output: { schema } } },
  );
  const format = { type: "json_schema", json_schema: { name: "output", schema } };
  expect(Object(body).response_format).toEqual(takes ? format : undefined);
  expect(unsupported).toEqual(takes ? [] : ["generation.output"]);
});

test.each([
  ["mistral", { type: "function", function: { name: "look" } }, []],
  ["lm-studio", undefined, ["toolChoice"]],
] as const)("R-PROV-11 %s and a tool that is demanded by its name", (preset, choice, missing) => {
  const { body, unsupported } = build(
    { preset, baseUrl: "https://api.example/v1" },
    { prompt: "Hi", tools: [look], toolChoice: { name: "look" } },
  );
  expect(Object(body).tools).toHaveLength(1);
  expect(Object(body).tool_choice).toEqual(choice);
  expect(unsupported).toEqual(missing);
});

describe("R-PROV-11 azure", () => {
  test.each([
    ["https://res.openai.azure.com/", {}, "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"],
    ["https://res.openai.azure.com//", {}, "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"],
    [
      "https://res.openai.azure.com",
      { "api-version": "2025-04-01-preview" },
      "/openai/deployments/gpt/chat/completions?api-version=2025-04-01-preview",
    ],
    ["https://res.openai.azure.com/openai/v1", {}, "/openai/v1/chat/completions"],
    [
      "https://res.openai.azure.com/openai/v1/",
      { "api-version": "preview" },
      "/openai/v1/chat/completions?api-version=preview",
    ],
    [
      "https://res.openai.azure.com/openai/deployments/other",
      { "api-version": "2024-10-21" },
      "/openai/deployments/other/chat/completions?api-version=2024-10-21",
    ],
  ] as const)("R-PROV-11 %s with %j", (baseUrl, query, path) => {
    const { url } = build({ preset: "azure", model: "gpt", baseUrl, query }, { prompt: "Hi" });
    expect(url).toBe(`https://res.openai.azure.com${path}`);
  });
});

describe("R-PROV-11 mistral takes ids of nine letters and digits only", () => {
  const call = (toolCallId: string) => ({ toolCallId, toolName: "look", input: {} });
  const idsOf = (messages: NonNullable<StartRequest["messages"]>): string[] => {
    const { body } = build({ preset: "mistral" }, { messages });
    return [...JSON.stringify(body).matchAll(/"(?:tool_call_)?id":"([^"]*)"/g)].map(([, id = ""]) => id);
  };
  const first: NonNullable<StartRequest["messages"]> = [
    { role: "user", content: "Look." },
    { role: "assistant", toolCalls: [call("toolu_01"), call("D681PevKs"), call("000000002"), call("call_b")] },
    { role: "tool", toolCallId: "call_b", output: "b" },
    { role: "tool", toolCallId: "toolu_01", output: "a" },
    { role: "tool", toolCallId: "D681PevKs", output: "c" },
  ];
  test("R-PROV-11 its own are kept, others are renamed alike in call and result, and none twice", () => {
    expect(idsOf(first)).toEqual([
      "000000001",
      "D681PevKs",
      "000000002",
      "000000003",
      "000000003",
      "000000001",
      "D681PevKs",
    ]);
  });
  test("R-PROV-11 a longer conversation keeps the names of the shorter one", () => {
    const longer: NonNullable<StartRequest["messages"]> = [
      ...first,
      { role: "assistant", toolCalls: [call("call_c"), call("toolu_01")] },
    ];
    expect(idsOf(longer)).toEqual([...idsOf(first), "000000004", "000000001"]);
  });
});

describe("R-PROV-11 without a preset the host names it", () => {
  test.each([
    ["https://api.mistral.ai/v1", "mistral"],
    ["https://api.mistral.ai/v1/", "mistral"],
    ["https://api.openai.com/v1", "openai"],
    ["https://api.x.ai/v1", "xai"],
  ] as const)("R-PROV-11 %s is %s", (baseUrl, preset) => {
    expect(build({ baseUrl }, everything, "k-1")).toEqual(build({ preset }, everything, "k-1"));
  });
  test.each(["https://mistral.ai.example/v1", "https://api.example/api.mistral.ai", "https://eu.api.openai.com/v1"])(
    "R-PROV-11 %s is no server we know",
    (baseUrl) => expect(build({ baseUrl }, everything).body).toEqual(older),
  );
  test("R-PROV-11 a named preset wins over the host, and the target's base URL over the preset's", () => {
    const { url, body } = build({ preset: "groq", baseUrl: "https://api.mistral.ai/v1" }, everything);
    expect(url).toBe("https://api.mistral.ai/v1/chat/completions");
    expect(body).toEqual(newer);
  });
});
