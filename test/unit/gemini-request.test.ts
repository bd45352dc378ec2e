// What the Gemini adapter sends: the exact URL, headers and JSON for every part of a start request.
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { gemini } from "../../src/providers/gemini.ts";

type Fields = Partial<Omit<StartRequest, "schemaVersion" | "task">>;
type Messages = NonNullable<StartRequest["messages"]>;

function build(fields: Fields, target: Partial<Target> = {}, key?: string) {
  const request: StartRequest = { schemaVersion: "1.0", task: { kind: "text_to_text" }, ...fields };
  const whole: Target = {
    id: "t",
    adapter: "gemini",
    baseUrl: "https://api.example",
    model: "gemini-2.5-x",
    ...target,
  };
  const { url, headers, body, unsupported } = gemini.request(request, whole, key);
  const parsed: unknown = JSON.parse(body);
  return { url, headers, body: parsed, unsupported };
}
const contents = (messages: Messages, target: Partial<Target> = {}): unknown =>
  Object(build({ messages }, target).body).contents;
const hi = { contents: [{ role: "user", parts: [{ text: "Hi" }] }], generationConfig: {} };

test("R-PROV-7 a prompt alone", () => {
  expect(build({ prompt: "Hi" })).toEqual({
    url: "https://api.example/v1beta/models/gemini-2.5-x:streamGenerateContent?alt=sse",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: hi,
    unsupported: [],
  });
  expect(build({ prompt: "NOT THIS", messages: [{ role: "user", content: "Hi" }] }).body).toEqual(hi);
});

describe("R-PROV-7 the address", () => {
  test("the key goes in its header, never in the URL", () => {
    const { url, headers } = build({ prompt: "Hi" }, {}, "sk-1");
    expect(headers["x-goog-api-key"]).toBe("sk-1");
    expect(url).not.toContain("sk-1");
    expect(build({ prompt: "Hi" }, { headers: { "X-Goog-Api-Key": "own", "X-A": "b" } }, "sk-1").headers).toMatchObject(
      {
        "x-goog-api-key": "own",
        "x-a": "b",
      },
    );
  });
  test.each([
    [{ alt: "json" }, "?alt=json", "application/json"],
    [{ alt: "" }, "?alt=", "application/json"],
    [{ alt: "sse" }, "?alt=sse", "text/event-stream"],
    [{ a: "b" }, "?alt=sse&a=b", "text/event-stream"],
  ] as const)("the configured query %j decides the framing", (query, search, accept) => {
    const { url, headers } = build({ prompt: "Hi" }, { query });
    expect(new URL(url).search).toBe(search);
    expect(headers["accept"]).toBe(accept);
  });
  test.each([
    ["models/m", "/v1beta/models/m:streamGenerateContent"],
    ["tunedModels/m", "/v1beta/tunedModels/m:streamGenerateContent"],
    ["m?a#b c", "/v1beta/models/m%3Fa%23b%20c:streamGenerateContent"],
  ])("model %s", (model, path) => expect(new URL(build({ prompt: "Hi" }, { model }).url).pathname).toBe(path));
  test("a base URL with a path and a slash at its end", () => {
    expect(build({ prompt: "Hi" }, { baseUrl: "https://api.example/proxy/" }).url).toBe(
      "https://api.example/proxy/v1beta/models/gemini-2.5-x:streamGenerateContent?alt=sse",
    );
  });
});

describe("R-PROV-7 a conversation", () => {
  const conversation: Messages = [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image", data: "iVBORw0K", mediaType: "image/png" },
        { type: "image", url: "https://pictures.example/cat.png" },
        { type: "image", url: "https://pictures.example/dog", mediaType: "image/jpeg" },
      ],
    },
    {
      role: "assistant",
      content: "Let me look.",
      toolCalls: [
        { toolCallId: "c1", toolName: "look", input: { at: "image" } },
        { toolCallId: "c2", toolName: "name", input: {} },
      ],
    },
    { role: "tool", toolCallId: "c1", output: { seen: ["cat"], error: "none" } },
    { role: "tool", toolCallId: "c2", output: "no name", isError: true },
    { role: "user", content: "Go on." },
  ];

  test("with every role: system text apart, parallel results in one turn, the user's words in another", () => {
    const { body, unsupported } = build({ messages: conversation });
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        {
          role: "user",
          parts: [
            { text: "What is this?" },
            { inlineData: { mimeType: "image/png", data: "iVBORw0K" } },
            { fileData: { fileUri: "https://pictures.example/cat.png" } },
            { fileData: { fileUri: "https://pictures.example/dog", mimeType: "image/jpeg" } },
          ],
        },
        {
          role: "model",
          parts: [
            { text: "Let me look." },
            { functionCall: { id: "c1", name: "look", args: { at: "image" } } },
            { functionCall: { id: "c2", name: "name", args: {} } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { id: "c1", name: "look", response: { output: { seen: ["cat"], error: "none" } } } },
            { functionResponse: { id: "c2", name: "name", response: { error: "no name" } } },
          ],
        },
        { role: "user", parts: [{ text: "Go on." }] },
      ],
      generationConfig: {},
    });
    expect(unsupported).toEqual([]);
  });
  test("several system texts become parts of one instruction, and neighbours of one role one turn", () => {
    const messages: Messages = [
      { role: "system", content: "A" },
      { role: "user", content: "1" },
      {
        role: "system",
        content: [
          { type: "text", text: "B" },
          { type: "text", text: "C" },
        ],
      },
      { role: "user", content: "2" },
      { role: "assistant", content: "3" },
      { role: "assistant", toolCalls: [{ toolCallId: "c", toolName: "f", input: {} }] },
    ];
    expect(build({ messages }).body).toMatchObject({
      systemInstruction: { parts: [{ text: "A" }, { text: "BC" }] },
      contents: [
        { role: "user", parts: [{ text: "1" }, { text: "2" }] },
        { role: "model", parts: [{ text: "3" }, { functionCall: { name: "f" } }] },
      ],
    });
  });
  test("a result names the tool of the nearest call before it, since ids may come again", () => {
    const turn = (toolName: string): Messages => [
      { role: "assistant", toolCalls: [{ toolCallId: "call_0", toolName, input: {} }] },
      { role: "tool", toolCallId: "call_0", output: null },
    ];
    const result = (name: string) => ({
      role: "user",
      parts: [{ functionResponse: { id: "call_0", name, response: { output: null } } }],
    });
    expect(contents([...turn("f"), ...turn("g")])).toMatchObject([{}, result("f"), {}, result("g")]);
    expect(contents([{ role: "tool", toolCallId: "call_0", output: null }])).toEqual([result("call_0")]);
  });
  test("an image of the system is left out, and it says so", () => {
    const image = { type: "image" as const, url: "https://pictures.example/cat.png" };
    const { body, unsupported } = build({
      messages: [
        { role: "system", content: [{ type: "text", text: "See" }, image] },
        { role: "user", content: "Hi" },
      ],
    });
    expect(body).toEqual({ systemInstruction: { parts: [{ text: "See" }] }, ...hi });
    expect(unsupported).toEqual(["messages.content.image"]);
  });
  test("an assistant's message with nothing in it is no turn", () => {
    expect(contents([{ role: "user", content: "1" }, { role: "assistant" }, { role: "user", content: "2" }])).toEqual([
      { role: "user", parts: [{ text: "1" }, { text: "2" }] },
    ]);
  });
  test.each([
    ["gemini-3-pro", true],
    ["models/gemini-3.8-flash", true],
    ["gemini-10-x", true],
    ["gemini-flash-latest", true],
    ["gemini-2.5-pro", false],
    ["models/gemini-1.5-pro", false],
    ["gemma-3-27b-it", false],
  ])("a call of %s carries a signature: %s", (model, signed) => {
    const messages: Messages = [
      { role: "assistant", content: "a", toolCalls: [{ toolCallId: "c", toolName: "f", input: {} }] },
    ];
    const part = { functionCall: { id: "c", name: "f", args: {} } };
    const thoughtSignature = "skip_thought_signature_validator";
    expect(contents(messages, { model })).toEqual([
      { role: "model", parts: [{ text: "a" }, signed ? { ...part, thoughtSignature } : part] },
    ]);
  });
});

describe("R-PROV-7 tools", () => {
  const look = { name: "look", description: "Looks.", parameters: { type: "object", additionalProperties: false } };
  const bare = { name: "bare", parameters: { type: "object" } };
  const functionDeclarations = [
    { name: "look", description: "Looks.", parametersJsonSchema: look.parameters },
    { name: "bare", parametersJsonSchema: bare.parameters },
  ];
  test.each([
    [undefined, undefined],
    ["auto", { mode: "AUTO" }],
    ["none", { mode: "NONE" }],
    ["required", { mode: "ANY" }],
    [{ name: "look" }, { mode: "ANY", allowedFunctionNames: ["look"] }],
  ] as const)("choice %j", (toolChoice, functionCallingConfig) => {
    const tools = [{ ...look, execution: "client" as const }, bare];
    expect(build({ prompt: "Hi", tools, ...(toolChoice !== undefined && { toolChoice }) })).toMatchObject({
      body: {
        ...hi,
        tools: [{ functionDeclarations }],
        ...(functionCallingConfig && { toolConfig: { functionCallingConfig } }),
      },
      unsupported: [],
    });
  });
  test("an empty list sends nothing about tools", () => {
    expect(build({ prompt: "Hi", tools: [], toolChoice: "auto" }).body).toEqual(hi);
  });
});

describe("R-PROV-7 generation parameters", () => {
  const config = (generation: NonNullable<StartRequest["generation"]>): unknown => {
    const { body, unsupported } = build({ prompt: "Hi", generation });
    expect(unsupported).toEqual([]);
    return Object(body).generationConfig;
  };
  test("each under its own name, zeros too", () => {
    expect(config({ maxOutputTokens: 50, temperature: 1.5, topP: 0.9, seed: 7, stop: ["END"] })).toEqual({
      maxOutputTokens: 50,
      temperature: 1.5,
      topP: 0.9,
      seed: 7,
      stopSequences: ["END"],
    });
    expect(config({ temperature: 0, topP: 0, seed: 0 })).toEqual({ temperature: 0, topP: 0, seed: 0 });
  });
  test("the output's form", () => {
    const schema = { type: "object", properties: { a: { type: "number" } } };
    expect(config({ output: "text" })).toEqual({});
    expect(config({ output: "json" })).toEqual({ responseMimeType: "application/json" });
    expect(config({ output: { schema } })).toEqual({
      responseMimeType: "application/json",
      responseJsonSchema: schema,
    });
  });
});
