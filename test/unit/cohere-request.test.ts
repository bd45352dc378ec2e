// What Cohere's Chat (v2) is sent: the exact URL, headers and JSON for every part of a start request.
import { describe, expect, test } from "vitest";
import { adapters } from "../../src/providers/index.ts";
import { build, conversation, type Fields } from "../support/built-request.ts";

const sent = (fields: Fields, ...rest: [Parameters<typeof build>[2]?, string?]) => build("cohere", fields, ...rest);
const plain = { model: "m-1", messages: [{ role: "user", content: "Hi" }], stream: true };
const look = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
const bare = { name: "bare", parameters: { type: "object" } };

test("R-PROV-7 a prompt alone", () => {
  expect(sent({ prompt: "Hi" })).toEqual({
    url: "https://api.example/base/v2/chat",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: plain,
    unsupported: [],
  });
});

test("R-PROV-7 messages win over it", () => {
  expect(sent({ prompt: "NOT THIS", messages: [{ role: "user", content: "Hi" }] })).toEqual(sent({ prompt: "Hi" }));
});

test("R-PROV-7 a conversation with every role: what is said before calls is their plan", () => {
  const { body, unsupported } = sent({ messages: conversation });
  expect(body).toEqual({
    model: "m-1",
    stream: true,
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
        tool_plan: "Let me look.",
        tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: '{"at":"image"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: '{"seen":["cat"]}' },
      {
        role: "assistant",
        tool_calls: [{ id: "c2", type: "function", function: { name: "name", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c2", content: "no name" },
      { role: "user", content: "Go on." },
    ],
  });
  expect(unsupported).toEqual(["messages.isError"]);
});

describe("R-PROV-7 images", () => {
  const url = "https://pictures.example/cat.png";
  const withImage = (role: "user" | "assistant" | "system"): Fields => ({
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
  test("by address", () => {
    expect(sent(withImage("user"))).toMatchObject({
      body: { messages: [{ content: [{ text: "See" }, { type: "image_url", image_url: { url } }] }, {}] },
      unsupported: [],
    });
  });
  test.each(["assistant", "system"] as const)("one of the %s is left out, and it says so", (role) => {
    expect(sent(withImage(role))).toMatchObject({
      body: { messages: [{ role, content: "See" }, {}] },
      unsupported: ["messages.content.image"],
    });
  });
});

describe("R-PROV-7 tools", () => {
  const functions = [
    { type: "function", function: look },
    { type: "function", function: bare },
  ];
  const tools = [{ ...look, execution: "client" as const }, bare];
  test.each([
    [undefined, functions, undefined],
    ["auto", functions, undefined],
    ["none", functions, "NONE"],
    ["required", functions, "REQUIRED"],
    [{ name: "bare" }, functions.slice(1), "REQUIRED"],
  ] as const)("choice %j", (toolChoice, declared, choice) => {
    const { body, unsupported } = sent({ prompt: "Hi", tools, ...(toolChoice !== undefined && { toolChoice }) });
    expect(body).toEqual({ ...plain, tools: declared, ...(choice !== undefined && { tool_choice: choice }) });
    expect(unsupported).toEqual([]);
  });
  test("an empty list sends nothing about tools", () => {
    expect(sent({ prompt: "Hi", tools: [], toolChoice: "required" })).toEqual(sent({ prompt: "Hi" }));
  });
});

describe("R-PROV-7 generation", () => {
  test("parameters in the API's words", () => {
    const generation = { maxOutputTokens: 50, temperature: 0.5, topP: 0.9, seed: 7, stop: ["END"] };
    expect(sent({ prompt: "Hi", generation })).toMatchObject({
      body: { ...plain, max_tokens: 50, temperature: 0.5, p: 0.9, seed: 7, stop_sequences: ["END"] },
      unsupported: [],
    });
  });
  test("zeros are sent, not dropped", () => {
    expect(sent({ prompt: "Hi", generation: { temperature: 0, topP: 0, seed: 0 } }).body).toMatchObject({
      temperature: 0,
      p: 0,
      seed: 0,
    });
  });
  test("what is beyond the API's limits is cut to them, and it says so", () => {
    expect(sent({ prompt: "Hi", generation: { topP: 1, stop: ["1", "2", "3", "4", "5", "6"] } })).toMatchObject({
      body: { p: 0.99, stop_sequences: ["1", "2", "3", "4", "5"] },
      unsupported: ["generation.topP", "generation.stop"],
    });
    expect(sent({ prompt: "Hi", generation: { topP: 0.99, stop: ["1", "2", "3", "4", "5"] } }).unsupported).toEqual([]);
  });
  const schema = { type: "object", properties: { a: { type: "number" } } };
  test.each([
    ["text", undefined],
    ["json", { type: "json_object" }],
    [{ schema }, { type: "json_object", json_schema: schema }],
  ] as const)("output %j", (output, format) => {
    expect(sent({ prompt: "Hi", generation: { output } })).toMatchObject({
      body: { ...plain, ...(format !== undefined && { response_format: format }) },
      unsupported: [],
    });
  });
  test("there is no form of the output beside tools, and it says so", () => {
    const { body, unsupported } = sent({ prompt: "Hi", tools: [bare], generation: { output: "json" } });
    expect(body).toEqual(sent({ prompt: "Hi", tools: [bare] }).body);
    expect(unsupported).toEqual(["generation.output"]);
  });
});

describe("R-PROV-7 the target", () => {
  test("the key is a bearer's; configured headers win; base, path and query are joined", () => {
    const target = { baseUrl: "https://api.cohere.com/", headers: { Accept: "*/*" }, query: { a: "b c" } };
    const { url, headers } = sent({ prompt: "Hi" }, target, "k-1");
    expect(url).toBe("https://api.cohere.com/v2/chat?a=b+c");
    expect(headers).toEqual({ "content-type": "application/json", accept: "*/*", authorization: "Bearer k-1" });
  });
  test("what the model must not see stays out: metadata, routing, clocks", () => {
    const hidden = { metadata: { user: "hidden" }, route: "hidden", requestId: "hidden", clocks: { totalMs: 1 } };
    expect(sent({ prompt: "Hi", ...hidden })).toEqual(sent({ prompt: "Hi" }));
  });
  test("R-PROV-10 it does not go on from a begun answer", () => {
    expect(adapters.cohere.continues({ id: "t", adapter: "cohere" })).toBe(false);
  });
});
