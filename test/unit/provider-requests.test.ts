// What each adapter sends: the exact URL, headers and JSON for every part of a start request.
import { describe, expect, test } from "vitest";
import { build, conversation, type Fields } from "../support/built-request.ts";
import type { StreamFormat } from "../support/corpus/corpus-stream.ts";

const formats: readonly StreamFormat[] = ["openai-chat", "openai-responses", "anthropic-messages", "ollama"];

const look = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
const bare = { name: "bare", parameters: { type: "object" } };

describe("R-PROV-7 a prompt alone", () => {
  test("openai-chat", () => {
    expect(build("openai-chat", { prompt: "Hi" })).toEqual({
      url: "https://api.example/base/chat/completions",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: {
        model: "m-1",
        messages: [{ role: "user", content: "Hi" }],
        stream: true,
        stream_options: { include_usage: true },
      },
      unsupported: [],
    });
  });
  test("anthropic-messages", () => {
    expect(build("anthropic-messages", { prompt: "Hi" })).toEqual({
      url: "https://api.example/base/v1/messages",
      headers: { "content-type": "application/json", accept: "text/event-stream", "anthropic-version": "2023-06-01" },
      body: {
        model: "m-1",
        max_tokens: 4096,
        stream: true,
        messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      },
      unsupported: [],
    });
  });
  test("ollama", () => {
    expect(build("ollama", { prompt: "Hi" })).toEqual({
      url: "https://api.example/base/api/chat",
      headers: { "content-type": "application/json", accept: "application/x-ndjson" },
      body: { model: "m-1", messages: [{ role: "user", content: "Hi" }], stream: true, options: {} },
      unsupported: [],
    });
  });
  test.each(formats)("R-PROV-7 messages win over it, %s", (format) => {
    const { body } = build(format, { prompt: "NOT THIS", messages: [{ role: "user", content: "Hi" }] });
    expect(body).toEqual(build(format, { prompt: "Hi" }).body);
  });
});

describe("R-PROV-7 a conversation with every role, an image and tool results", () => {
  test("openai-chat", () => {
    const { body, unsupported } = build("openai-chat", { messages: conversation });
    expect(body).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0K" } },
          ],
        },
        {
          role: "assistant",
          content: "Let me look.",
          tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: '{"at":"image"}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: '{"seen":["cat"]}' },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c2", type: "function", function: { name: "name", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c2", content: "no name" },
        { role: "user", content: "Go on." },
      ],
    });
    expect(unsupported).toEqual(["messages.isError"]);
  });
  test("anthropic-messages: roles alternate, the system text stands apart, results are the user's", () => {
    const { body, unsupported } = build("anthropic-messages", { messages: conversation });
    expect(body).toMatchObject({
      system: "Be brief.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0K" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Let me look." },
            { type: "tool_use", id: "c1", name: "look", input: { at: "image" } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: '{"seen":["cat"]}' }] },
        { role: "assistant", content: [{ type: "tool_use", id: "c2", name: "name", input: {} }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c2", content: "no name", is_error: true },
            { type: "text", text: "Go on." },
          ],
        },
      ],
    });
    expect(unsupported).toEqual([]);
  });
  test("ollama: images apart, results with the tool's name", () => {
    const { body, unsupported } = build("ollama", { messages: conversation });
    expect(body).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "What is this?", images: ["iVBORw0K"] },
        {
          role: "assistant",
          content: "Let me look.",
          tool_calls: [{ id: "c1", function: { name: "look", arguments: { at: "image" } } }],
        },
        { role: "tool", tool_name: "look", tool_call_id: "c1", content: '{"seen":["cat"]}' },
        { role: "assistant", content: "", tool_calls: [{ id: "c2", function: { name: "name", arguments: {} } }] },
        { role: "tool", tool_name: "name", tool_call_id: "c2", content: "no name" },
        { role: "user", content: "Go on." },
      ],
    });
    expect(unsupported).toEqual(["messages.isError"]);
  });
  test("ollama: a result names the tool of the nearest call before it, since ids may come again", () => {
    const turn = (toolName: string): typeof conversation => [
      { role: "assistant", toolCalls: [{ toolCallId: "call_0", toolName, input: {} }] },
      { role: "tool", toolCallId: "call_0", output: "x" },
    ];
    expect(build("ollama", { messages: [...turn("f"), ...turn("g")] }).body).toMatchObject({
      messages: [{}, { tool_name: "f" }, {}, { tool_name: "g" }],
    });
  });
  test("anthropic-messages: several system texts become one, and neighbours of one role one turn", () => {
    const { body } = build("anthropic-messages", {
      messages: [
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
      ],
    });
    expect(body).toMatchObject({
      system: "A\n\nBC",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "1" },
            { type: "text", text: "2" },
          ],
        },
      ],
    });
  });
});

describe("R-PROV-7 an image by address", () => {
  const url = "https://pictures.example/cat.png";
  const messages: Fields["messages"] = [
    {
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "image", url },
      ],
    },
  ];
  test("openai-chat", () => {
    expect(build("openai-chat", { messages }).body).toMatchObject({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See" },
            { type: "image_url", image_url: { url } },
          ],
        },
      ],
    });
  });
  test("anthropic-messages", () => {
    expect(build("anthropic-messages", { messages }).body).toMatchObject({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See" },
            { type: "image", source: { type: "url", url } },
          ],
        },
      ],
    });
  });
  test("ollama takes none, and says so", () => {
    const { body, unsupported } = build("ollama", { messages });
    expect(body).toMatchObject({ messages: [{ role: "user", content: "See" }] });
    expect(JSON.stringify(body)).not.toContain("pictures.example");
    expect(unsupported).toEqual(["messages.content.url"]);
  });
  test.each(["openai-chat", "anthropic-messages"] as const)(
    "%s: an image of the assistant or the system is left out, and it says so",
    (format) => {
      for (const role of ["assistant", "system"] as const) {
        const { body, unsupported } = build(format, {
          messages: [
            {
              role,
              content: [
                { type: "text", text: "See" },
                { type: "image", url },
              ],
            },
            { role: "user", content: "Hi" },
          ],
        });
        expect(JSON.stringify(body)).not.toContain("pictures.example");
        expect(JSON.stringify(body)).toContain("See");
        expect(unsupported).toEqual(["messages.content.image"]);
      }
    },
  );
});

describe("R-PROV-7 tools", () => {
  const functions = [
    { type: "function", function: look },
    { type: "function", function: bare },
  ];
  const tools = [{ ...look, execution: "client" as const }, bare];
  test.each([
    [undefined, undefined],
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [{ name: "look" }, { type: "function", function: { name: "look" } }],
  ] as const)("openai-chat, choice %j", (toolChoice, sent) => {
    const { body, unsupported } = build("openai-chat", {
      prompt: "Hi",
      tools,
      ...(toolChoice !== undefined && { toolChoice }),
    });
    expect(body).toEqual({
      model: "m-1",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
      tools: functions,
      ...(sent !== undefined && { tool_choice: sent }),
    });
    expect(unsupported).toEqual([]);
  });
  test.each([
    [undefined, undefined],
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "any" }],
    [{ name: "look" }, { type: "tool", name: "look" }],
  ] as const)("anthropic-messages, choice %j", (toolChoice, sent) => {
    const { body, unsupported } = build("anthropic-messages", {
      prompt: "Hi",
      tools,
      ...(toolChoice !== undefined && { toolChoice }),
    });
    expect(body).toEqual({
      model: "m-1",
      max_tokens: 4096,
      stream: true,
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      tools: [
        { name: "look", description: "Looks.", input_schema: look.parameters },
        { name: "bare", input_schema: bare.parameters },
      ],
      ...(sent !== undefined && { tool_choice: sent }),
    });
    expect(unsupported).toEqual([]);
  });
  test.each([
    [undefined, true, []],
    ["auto", true, []],
    ["none", false, []],
    ["required", true, ["toolChoice"]],
    [{ name: "look" }, true, ["toolChoice"]],
  ] as const)("ollama has no choice: %j", (toolChoice, sent, missing) => {
    const { body, unsupported } = build("ollama", {
      prompt: "Hi",
      tools,
      ...(toolChoice !== undefined && { toolChoice }),
    });
    expect(body).toEqual({ ...Object(build("ollama", { prompt: "Hi" }).body), ...(sent && { tools: functions }) });
    expect(unsupported).toEqual(missing);
  });
  test.each(formats)("an empty list sends nothing about tools, %s", (format) => {
    expect(build(format, { prompt: "Hi", tools: [], toolChoice: "auto" }).body).toEqual(
      build(format, { prompt: "Hi" }).body,
    );
  });
});

describe("R-PROV-7 generation parameters", () => {
  const generation = { maxOutputTokens: 50, temperature: 0.5, topP: 0.9, seed: 7, stop: ["END"] };
  test("openai-chat", () => {
    const { body, unsupported } = build("openai-chat", { prompt: "Hi", generation });
    expect(body).toEqual({
      model: "m-1",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      stop: ["END"],
    });
    expect(unsupported).toEqual([]);
  });
  test("anthropic-messages has no seed", () => {
    const { body, unsupported } = build("anthropic-messages", { prompt: "Hi", generation });
    expect(body).toEqual({
      model: "m-1",
      max_tokens: 50,
      stream: true,
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      temperature: 0.5,
      top_p: 0.9,
      stop_sequences: ["END"],
    });
    expect(unsupported).toEqual(["generation.seed"]);
  });
  test("anthropic-messages takes temperatures up to 1: a higher one is lowered, and it says so", () => {
    const { body, unsupported } = build("anthropic-messages", { prompt: "Hi", generation: { temperature: 1.5 } });
    expect(body).toMatchObject({ temperature: 1 });
    expect(unsupported).toEqual(["generation.temperature"]);
    expect(build("anthropic-messages", { prompt: "Hi", generation: { temperature: 1 } }).unsupported).toEqual([]);
  });
  test("ollama", () => {
    const { body, unsupported } = build("ollama", { prompt: "Hi", generation });
    expect(body).toMatchObject({ options: { num_predict: 50, temperature: 0.5, top_p: 0.9, seed: 7, stop: ["END"] } });
    expect(unsupported).toEqual([]);
  });
  test.each(formats)("zeros are sent, not dropped, %s", (format) => {
    const { body } = build(format, { prompt: "Hi", generation: { temperature: 0, topP: 0 } });
    expect(format === "ollama" ? Object(body).options : body).toMatchObject({ temperature: 0, top_p: 0 });
  });
});

describe("R-PROV-7 the output's form", () => {
  const schema = { type: "object", properties: { a: { type: "number" } } };
  test.each(formats)("text is what is sent anyway, %s", (format) => {
    expect(build(format, { prompt: "Hi", generation: { output: "text" } })).toEqual(build(format, { prompt: "Hi" }));
  });
  test("openai-chat", () => {
    expect(build("openai-chat", { prompt: "Hi", generation: { output: "json" } }).body).toMatchObject({
      response_format: { type: "json_object" },
    });
    expect(build("openai-chat", { prompt: "Hi", generation: { output: { schema } } }).body).toMatchObject({
      response_format: { type: "json_schema", json_schema: { name: "output", schema } },
    });
  });
  test("ollama", () => {
    expect(build("ollama", { prompt: "Hi", generation: { output: "json" } }).body).toMatchObject({ format: "json" });
    expect(build("ollama", { prompt: "Hi", generation: { output: { schema } } }).body).toMatchObject({
      format: schema,
    });
  });
  test.each(["json", { schema }] as const)("anthropic-messages has none, and says so: %j", (output) => {
    const { body, unsupported } = build("anthropic-messages", { prompt: "Hi", generation: { output } });
    expect(body).toEqual(build("anthropic-messages", { prompt: "Hi" }).body);
    expect(unsupported).toEqual(["generation.output"]);
  });
});

describe("R-PROV-7 the target", () => {
  test.each([
    ["openai-chat", "authorization", "Bearer k-1"],
    ["anthropic-messages", "x-api-key", "k-1"],
    ["openai-responses", "authorization", "Bearer k-1"],
    ["ollama", "authorization", "Bearer k-1"],
  ] as const)("%s sends its key as %s, and none without one", (format, header, value) => {
    const without = build(format, { prompt: "Hi" });
    const { headers, url, body } = build(format, { prompt: "Hi" }, {}, "k-1");
    expect(headers).toEqual({ ...without.headers, [header]: value });
    expect(url + JSON.stringify(body)).not.toContain("k-1");
    expect(without.headers).not.toHaveProperty(header);
  });
  test.each(formats)("configured headers are added, and win whatever their case, %s", (format) => {
    const { headers } = build(
      format,
      { prompt: "Hi" },
      { headers: { "X-Title": "T", Accept: "*/*", "Content-Type": "application/json; charset=utf-8" } },
    );
    expect(headers).toMatchObject({ "x-title": "T", accept: "*/*", "content-type": "application/json; charset=utf-8" });
    expect([...new Headers(headers).entries()]).toContainEqual(["accept", "*/*"]);
  });
  test("a configured version replaces the adapter's", () => {
    const { headers } = build(
      "anthropic-messages",
      { prompt: "Hi" },
      { headers: { "Anthropic-Version": "2024-01-01" } },
    );
    expect(new Headers(headers).get("anthropic-version")).toBe("2024-01-01");
  });
  test.each([
    ["openai-chat", "/chat/completions"],
    ["openai-responses", "/responses"],
    ["anthropic-messages", "/v1/messages"],
    ["ollama", "/api/chat"],
  ] as const)("%s: base and path are joined by one slash, and the query is encoded", (format, path) => {
    for (const baseUrl of ["https://api.example/base", "https://api.example/base/", "https://api.example/base//"]) {
      expect(build(format, { prompt: "Hi" }, { baseUrl }).url).toBe(`https://api.example/base${path}`);
    }
    expect(build(format, { prompt: "Hi" }, { baseUrl: "http://127.0.0.1:8080" }).url).toBe(
      `http://127.0.0.1:8080${path}`,
    );
    const query = { "api-version": "2024-10-21", "a b": "c&d" };
    expect(build(format, { prompt: "Hi" }, { query }).url).toBe(
      `https://api.example/base${path}?api-version=2024-10-21&a+b=c%26d`,
    );
  });
  test("Mistral, which refuses fields that it does not know, is sent none of them", () => {
    const { body } = build("openai-chat", { prompt: "Hi" }, { baseUrl: "https://api.mistral.ai/v1" });
    expect(body).toEqual({ model: "m-1", messages: [{ role: "user", content: "Hi" }], stream: true });
  });
  test.each(formats)("what the model must not see stays out: metadata, routing, clocks, %s", (format) => {
    const { body } = build(format, {
      prompt: "Hi",
      metadata: { user: "hidden" },
      route: "hidden",
      requestId: "hidden",
      authContextRef: "hidden",
      clocks: { totalMs: 1 },
      onDisconnect: "cancel",
    });
    expect(body).toEqual(build(format, { prompt: "Hi" }).body);
  });
});

describe("R-PROV-7 what holds nothing is not sent", () => {
  const all: readonly StreamFormat[] = [
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
    "ollama",
    "cohere",
    "bedrock-converse",
    "workers-ai",
  ];
  test.each(all)("R-PROV-7 %s: an empty list of stop sequences is none, and nothing is lost by it", (format) => {
    expect(build(format, { prompt: "Hi", generation: { stop: [] } })).toEqual(
      build(format, { prompt: "Hi", generation: {} }),
    );
  });
  test.each(["openai-chat", "anthropic-messages", "bedrock-converse"] as const)(
    "R-PROV-7 %s: a message of which nothing can be sent is left out, and named",
    (format) => {
      const image = { type: "image" as const, url: "https://pictures.example/cat.png" };
      const asked = build(format, {
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", content: [image] },
        ],
      });
      expect(asked.body).toEqual(build(format, { prompt: "Hi" }).body);
      expect(asked.unsupported).toContain("messages.content.image");
    },
  );
  test.each(["anthropic-messages", "bedrock-converse", "gemini"] as const)(
    "R-PROV-7 %s: a turn of very many parts is built",
    (format) => {
      const content = Array.from({ length: 150_000 }, () => ({ type: "text" as const, text: "a" }));
      const message = { role: "user" as const, content };
      expect(JSON.stringify(build(format, { messages: [message, message] }).body).split('"text":"a"').length).toBe(
        300_001,
      );
    },
  );
});
