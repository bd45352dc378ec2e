// What the OpenAI Responses adapter sends: the exact URL, headers and JSON for every part of a start request.
import { describe, expect, test } from "vitest";
import type { StartRequest } from "../../schemas/run.ts";
import { openAiResponsesRequest } from "../../src/providers/openai-responses-request.ts";

type Fields = Partial<Omit<StartRequest, "schemaVersion" | "task">>;

function build(fields: Fields) {
  const { url, headers, body, unsupported } = openAiResponsesRequest(
    { schemaVersion: "1.0", task: { kind: "text_to_text" }, ...fields },
    { id: "t", adapter: "openai-responses", baseUrl: "https://api.example/v1", model: "m-1" },
    undefined,
  );
  const parsed: unknown = JSON.parse(body);
  return { url, headers, body: parsed, unsupported };
}

const plain = { model: "m-1", input: [{ role: "user", content: "Hi" }], stream: true, store: false };

test("R-PROV-7 a prompt alone: nothing is to be stored", () => {
  expect(build({ prompt: "Hi" })).toEqual({
    url: "https://api.example/v1/responses",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: plain,
    unsupported: [],
  });
});

describe("R-PROV-7 messages become items", () => {
  test("every role, an image, calls and their outputs", () => {
    const { body, unsupported } = build({
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", data: "iVBORw0K", mediaType: "image/png" },
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
        { role: "tool", toolCallId: "c1", output: { seen: ["cat"] } },
        { role: "tool", toolCallId: "c2", output: "no name", isError: true },
        { role: "assistant", toolCalls: [{ toolCallId: "c3", toolName: "look", input: {} }] },
        { role: "tool", toolCallId: "c3", output: null },
        { role: "user", content: "Go on." },
      ],
    });
    expect(body).toEqual({
      ...plain,
      input: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is this?" },
            { type: "input_image", detail: "auto", image_url: "data:image/png;base64,iVBORw0K" },
          ],
        },
        { role: "assistant", content: [{ type: "output_text", text: "Let me look." }] },
        { type: "function_call", call_id: "c1", name: "look", arguments: '{"at":"image"}' },
        { type: "function_call", call_id: "c2", name: "name", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: '{"seen":["cat"]}' },
        { type: "function_call_output", call_id: "c2", output: "no name" },
        { type: "function_call", call_id: "c3", name: "look", arguments: "{}" },
        { type: "function_call_output", call_id: "c3", output: "null" },
        { role: "user", content: "Go on." },
      ],
    });
    expect(unsupported).toEqual(["messages.isError"]);
  });
  test("an image by address", () => {
    const url = "https://pictures.example/cat.png";
    expect(build({ messages: [{ role: "user", content: [{ type: "image", url }] }] }).body).toMatchObject({
      input: [{ role: "user", content: [{ type: "input_image", image_url: url }] }],
    });
  });
  test.each(["assistant", "system"] as const)("an image of the %s is left out, and it says so", (role) => {
    const content = [
      { type: "text" as const, text: "See" },
      { type: "image" as const, url: "https://pictures.example/cat.png" },
    ];
    const { body, unsupported } = build({
      messages: [
        { role, content },
        { role: "user", content: "Hi" },
      ],
    });
    expect(JSON.stringify(body)).not.toContain("pictures.example");
    expect(JSON.stringify(body)).toContain("See");
    expect(unsupported).toEqual(["messages.content.image"]);
  });
});

describe("R-PROV-7 tools", () => {
  const parameters = { type: "object", properties: { at: { type: "string" } } };
  test.each([
    [undefined, undefined],
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [{ name: "look" }, { type: "function", name: "look" }],
  ] as const)("choice %j", (toolChoice, sent) => {
    const { body, unsupported } = build({
      prompt: "Hi",
      tools: [
        { name: "look", description: "Looks.", parameters, execution: "client" },
        { name: "bare", parameters: { type: "object" } },
      ],
      ...(toolChoice !== undefined && { toolChoice }),
    });
    expect(body).toEqual({
      ...plain,
      tools: [
        { type: "function", name: "look", description: "Looks.", parameters, strict: false },
        { type: "function", name: "bare", parameters: { type: "object" }, strict: false },
      ],
      ...(sent !== undefined && { tool_choice: sent }),
    });
    expect(unsupported).toEqual([]);
  });
});

describe("R-PROV-7 generation parameters", () => {
  test("a limit and the sampling; there is no seed and no stop", () => {
    const generation = { maxOutputTokens: 50, temperature: 0.5, topP: 0.9, seed: 7, stop: ["END"] };
    const { body, unsupported } = build({ prompt: "Hi", generation });
    expect(body).toEqual({ ...plain, max_output_tokens: 50, temperature: 0.5, top_p: 0.9 });
    expect(unsupported).toEqual(["generation.seed", "generation.stop"]);
  });
  test("an empty list of stops asks for nothing", () => {
    expect(build({ prompt: "Hi", generation: { stop: [] } }).unsupported).toEqual([]);
  });
  test("the output's form", () => {
    const schema = { type: "object", properties: { a: { type: "number" } } };
    expect(build({ prompt: "Hi", generation: { output: "json" } }).body).toEqual({
      ...plain,
      text: { format: { type: "json_object" } },
    });
    expect(build({ prompt: "Hi", generation: { output: { schema } } }).body).toEqual({
      ...plain,
      text: { format: { type: "json_schema", name: "output", schema } },
    });
  });
});
