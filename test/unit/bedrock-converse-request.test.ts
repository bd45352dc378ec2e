// What Bedrock's ConverseStream is sent: the exact URL, headers and JSON for every part of a start request.
import { describe, expect, test } from "vitest";
import { build, conversation, type Fields } from "../support/built-request.ts";
import { adapters } from "../../src/providers/index.ts";

const sent = (fields: Fields, ...rest: [Parameters<typeof build>[2]?, string?]) =>
  build("bedrock-converse", fields, ...rest);
const user = (text: string) => ({ role: "user", content: [{ text }] });
const look = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
const bare = { name: "bare", parameters: { type: "object" } };

test("R-PROV-7 a prompt alone", () => {
  expect(sent({ prompt: "Hi" })).toEqual({
    url: "https://api.example/base/model/m-1/converse-stream",
    headers: { "content-type": "application/json", accept: "application/vnd.amazon.eventstream" },
    body: { messages: [user("Hi")] },
    unsupported: [],
  });
});

test("R-PROV-7 messages win over it", () => {
  expect(sent({ prompt: "NOT THIS", messages: [{ role: "user", content: "Hi" }] })).toEqual(sent({ prompt: "Hi" }));
});

test("R-PROV-7 a conversation with every role: roles alternate, the system text stands apart, results are the user's", () => {
  const { body, unsupported } = sent({ messages: conversation });
  expect(body).toMatchObject({
    system: [{ text: "Be brief." }],
    messages: [
      {
        role: "user",
        content: [{ text: "What is this?" }, { image: { format: "png", source: { bytes: "iVBORw0K" } } }],
      },
      {
        role: "assistant",
        content: [{ text: "Let me look." }, { toolUse: { toolUseId: "c1", name: "look", input: { at: "image" } } }],
      },
      { role: "user", content: [{ toolResult: { toolUseId: "c1", content: [{ text: '{"seen":["cat"]}' }] } }] },
      { role: "assistant", content: [{ toolUse: { toolUseId: "c2", name: "name", input: {} } }] },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "c2", content: [{ text: "no name" }], status: "error" } },
          { text: "Go on." },
        ],
      },
    ],
  });
  expect(JSON.stringify(body)).not.toContain('"status":"success"');
  expect(unsupported).toEqual([]);
});

describe("R-PROV-7 images", () => {
  const withImage = (role: "user" | "assistant" | "system", image: Record<string, string>): Fields => ({
    messages: [
      {
        role,
        content: [
          { type: "text", text: "See" },
          { type: "image", ...image },
        ],
      },
      { role: "user", content: "Hi" },
    ],
  });
  test.each([
    ["image/png", "png"],
    ["image/jpeg", "jpeg"],
    ["image/jpg", "jpeg"],
    ["image/gif", "gif"],
    ["image/webp", "webp"],
  ])("%s is %s", (mediaType, format) => {
    const { body, unsupported } = sent(withImage("user", { data: "AAAA", mediaType }));
    expect(body).toMatchObject({ messages: [{ content: [{}, { image: { format, source: { bytes: "AAAA" } } }, {}] }] });
    expect(unsupported).toEqual([]);
  });
  test.each([
    ["a format it does not take", "user", { data: "AAAA", mediaType: "image/tiff" }, "messages.content.image"],
    ["a format that is none", "user", { data: "AAAA", mediaType: "image/constructor" }, "messages.content.image"],
    ["an address", "user", { url: "https://pictures.example/AAAA.png" }, "messages.content.url"],
    ["the assistant's", "assistant", { data: "AAAA", mediaType: "image/png" }, "messages.content.image"],
    ["the system's", "system", { data: "AAAA", mediaType: "image/png" }, "messages.content.image"],
  ] as const)("%s is left out, and it says so", (_name, role, image, name) => {
    const { body, unsupported } = sent(withImage(role, image));
    expect(JSON.stringify(body)).toContain("See");
    expect(JSON.stringify(body)).not.toContain("AAAA");
    expect(unsupported).toEqual([name]);
  });
});

describe("R-PROV-7 tools", () => {
  const specs = [
    { toolSpec: { name: "look", description: "Looks.", inputSchema: { json: look.parameters } } },
    { toolSpec: { name: "bare", inputSchema: { json: bare.parameters } } },
  ];
  const tools = [{ ...look, execution: "client" as const }, bare];
  test.each([
    [undefined, undefined],
    ["auto", { auto: {} }],
    ["required", { any: {} }],
    [{ name: "look" }, { tool: { name: "look" } }],
  ] as const)("choice %j", (toolChoice, choice) => {
    const { body, unsupported } = sent({ prompt: "Hi", tools, ...(toolChoice !== undefined && { toolChoice }) });
    expect(body).toEqual({
      messages: [user("Hi")],
      toolConfig: { tools: specs, ...(choice !== undefined && { toolChoice: choice }) },
    });
    expect(unsupported).toEqual([]);
  });
  test("none leaves them out, as long as the conversation has used none", () => {
    expect(sent({ prompt: "Hi", tools, toolChoice: "none" })).toEqual(sent({ prompt: "Hi" }));
  });
  test("used tools have to be declared, also those that the request has forgotten: none cannot be kept then, and it says so", () => {
    const { body, unsupported } = sent({ messages: conversation, tools: [look], toolChoice: "none" });
    expect(body).toMatchObject({
      toolConfig: { tools: [specs[0], { toolSpec: { name: "name", inputSchema: { json: { type: "object" } } } }] },
    });
    expect(body).not.toHaveProperty("toolConfig.toolChoice");
    expect(unsupported).toEqual(["toolChoice"]);
  });
  test("an empty list sends nothing about tools, an empty description none", () => {
    expect(sent({ prompt: "Hi", tools: [], toolChoice: "auto" })).toEqual(sent({ prompt: "Hi" }));
    expect(sent({ prompt: "Hi", tools: [{ ...bare, description: "" }] }).body).toMatchObject({
      toolConfig: { tools: [specs[1]] },
    });
  });
});

describe("R-PROV-7 generation", () => {
  test("parameters stand apart; there is no seed", () => {
    const generation = { maxOutputTokens: 50, temperature: 0.5, topP: 0.9, seed: 7, stop: ["END"] };
    expect(sent({ prompt: "Hi", generation })).toMatchObject({
      body: { inferenceConfig: { maxTokens: 50, temperature: 0.5, topP: 0.9, stopSequences: ["END"] } },
      unsupported: ["generation.seed"],
    });
  });
  test("zeros are sent, not dropped", () => {
    expect(sent({ prompt: "Hi", generation: { temperature: 0, topP: 0 } }).body).toMatchObject({
      inferenceConfig: { temperature: 0, topP: 0 },
    });
  });
  test("a temperature above 1 is lowered, and it says so", () => {
    expect(sent({ prompt: "Hi", generation: { temperature: 1.5 } })).toMatchObject({
      body: { inferenceConfig: { temperature: 1 } },
      unsupported: ["generation.temperature"],
    });
  });
  test.each(["json", { schema: { type: "object" } }] as const)("there is no form of the output: %j", (output) => {
    const { body, unsupported } = sent({ prompt: "Hi", generation: { output } });
    expect(body).toEqual(sent({ prompt: "Hi" }).body);
    expect(unsupported).toEqual(["generation.output"]);
  });
  test("text is what is sent anyway", () => {
    expect(sent({ prompt: "Hi", generation: { output: "text" } })).toEqual(sent({ prompt: "Hi" }));
  });
});

describe("R-PROV-7 the target", () => {
  test.each([
    ["anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-3-haiku-20240307-v1%3A0"],
    ["arn:aws:bedrock:us-east-1:1:prompt/A(1)", "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aprompt%2FA%281%29"],
  ])("model %s is one segment of the path", (model, segment) => {
    const { url, body } = sent({ prompt: "Hi" }, { model, baseUrl: "https://api.example/" });
    expect(url).toBe(`https://api.example/model/${segment}/converse-stream`);
    expect(body).not.toHaveProperty("model");
  });
  test("configured headers win, and the query is sent", () => {
    const { url, headers } = sent({ prompt: "Hi" }, { headers: { Accept: "*/*" }, query: { a: "b c" } });
    expect(headers["accept"]).toBe("*/*");
    expect(url).toBe("https://api.example/base/model/m-1/converse-stream?a=b+c");
  });
  test("an API key is a bearer's, credentials are kept for the signature", () => {
    expect(sent({ prompt: "Hi" }, {}, "ABSK1").headers["authorization"]).toBe("Bearer ABSK1");
    for (const key of ['{"accessKeyId":"a"}', " {"]) {
      expect(sent({ prompt: "Hi" }, {}, key)).toEqual(sent({ prompt: "Hi" }));
    }
  });
  test("R-PROV-7 what the model must not see stays out: metadata, routing, clocks", () => {
    const hidden = { metadata: { user: "hidden" }, route: "hidden", requestId: "hidden", clocks: { totalMs: 1 } };
    expect(sent({ prompt: "Hi", ...hidden })).toEqual(sent({ prompt: "Hi" }));
  });
  test.each([
    ["anthropic.claude-3-haiku-20240307-v1:0", true],
    ["eu.anthropic.claude-sonnet-4-v1:0", true],
    ["arn:aws:bedrock:us-east-1:1:inference-profile/us.amazon.nova-lite-v1:0", true],
    ["amazon.nova-lite-v1:0", true],
    ["meta.llama3-70b-instruct-v1:0", false],
    ["mistral.mistral-large-2407-v1:0", false],
  ])("R-PROV-10 %s goes on from a begun answer: %s", (model, continues) => {
    expect(adapters["bedrock-converse"].continues({ id: "t", adapter: "bedrock-converse", model })).toBe(continues);
  });
  test("R-PROV-10 a begun answer ends without white space", () => {
    const messages: Fields["messages"] = [
      { role: "user", content: "Count." },
      { role: "assistant", content: "One, \n" },
    ];
    expect(sent({ messages }).body).toEqual({
      messages: [user("Count."), { role: "assistant", content: [{ text: "One," }] }],
    });
  });
});
