// Numbers that a JavaScript number cannot hold, in the input and output of tool calls: through every provider format, into the log
// and out of it, and from tools and clients.
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import type { CallRecord } from "../../schemas/tool.ts";
import { callEntryOf, recordOf } from "../../src/chat/history.ts";
import { modelMessages } from "../../src/chat/model-messages.ts";
import { svedaSse } from "../../src/dialects/sveda.ts";
import { parseRunBody } from "../../src/http/exact-body.ts";
import { stampEchoes } from "../../src/providers/echo.ts";
import { adapters } from "../../src/providers/index.ts";
import { fitMessages } from "../../src/run/fit-messages.ts";
import { mcpResult } from "../../src/run/mcp-result.ts";
import { checkStartRequest } from "../../src/run/request.ts";
import { shapeOutput } from "../../src/run/tool-output.ts";
import { parseExact } from "../../src/wire/exact-json.ts";
import { anthropicMessages } from "../support/provider-bytes/anthropic-messages.ts";
import {
  bedrockStart,
  bedrockStop,
  bedrockToolInput,
  bedrockToolStart,
} from "../support/provider-bytes/bedrock-converse.ts";
import { cohereEnd, cohereStart, cohereToolEnd, cohereToolStart } from "../support/provider-bytes/cohere.ts";
import { sseEvent } from "../support/provider-bytes/framing.ts";
import { geminiAnswer, geminiArray, geminiChunk, geminiEvents } from "../support/provider-bytes/gemini.ts";
import { ollamaChat } from "../support/provider-bytes/ollama.ts";
import { openAiChat, openAiDelta } from "../support/provider-bytes/openai-chat.ts";
import { openAiResponses, responsesEvent } from "../support/provider-bytes/openai-responses.ts";
import { workersAiDone } from "../support/provider-bytes/workers-ai.ts";
import type { StreamFormat } from "../support/corpus/corpus-stream.ts";
import { readPackets } from "../support/corpus/reading.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

/** Stands in values, and is replaced in what is made of them. */
const MARK = 7777;
const ID = "9007199254740993";
const marked = (text: string): string => text.replaceAll(String(MARK), ID);
const INPUT = `{"order":${ID},"tries":[1e400]}`;
const given = { order: MARK, tries: [8888] };
const wired = (wire: string): string => marked(wire).replaceAll("8888", "1e400");
const text = (wire: readonly string[]): Uint8Array[] => [toBytes(wired(wire.join("")))];

const responsesCall = (input: unknown): string[] => [
  responsesEvent("response.output_item.added", {
    output_index: 0,
    item: { type: "function_call", id: "i", call_id: "c1", name: "cancel", arguments: input },
  }),
  ...openAiResponses({ items: [] }).slice(-1),
];

const streams: readonly (readonly [name: string, format: StreamFormat, wire: readonly Uint8Array[]])[] = [
  [
    "pieces",
    "openai-chat",
    text(openAiChat({ toolCalls: [{ id: "c1", name: "cancel", arguments: [INPUT.slice(0, 15), INPUT.slice(15)] }] })),
  ],
  [
    "an object",
    "openai-chat",
    text([
      openAiDelta({ tool_calls: [{ index: 0, id: "c1", function: { name: "cancel", arguments: given } }] }),
      openAiDelta({}, {}, "tool_calls"),
      sseEvent("[DONE]"),
    ]),
  ],
  [
    "pieces",
    "openai-responses",
    text(openAiResponses({ items: [{ type: "function_call", callId: "c1", name: "cancel", arguments: [INPUT] }] })),
  ],
  ["an object", "openai-responses", text(responsesCall(given))],
  [
    "pieces",
    "anthropic-messages",
    text(anthropicMessages({ blocks: [{ type: "tool_use", id: "c1", name: "cancel", partialJson: [INPUT] }] })),
  ],
  [
    "an object",
    "anthropic-messages",
    text(
      anthropicMessages({ blocks: [{ type: "tool_use", id: "c1", name: "cancel", partialJson: [], input: given }] }),
    ),
  ],
  [
    "pieces",
    "bedrock-converse",
    [bedrockStart(), bedrockToolStart(0, "c1", "cancel"), bedrockToolInput(0, INPUT), bedrockStop("tool_use")],
  ],
  [
    "a text",
    "cohere",
    text([cohereStart(), cohereToolStart(0, "c1", "cancel", INPUT), cohereToolEnd(0), cohereEnd("TOOL_CALL")]),
  ],
  ["an object", "ollama", text(ollamaChat({ toolCalls: [{ name: "cancel", arguments: given }] }))],
  [
    "an object",
    "gemini",
    text(
      geminiEvents([
        geminiChunk([{ functionCall: { id: "c1", name: "cancel", args: given } }], { finishReason: "STOP" }),
      ]),
    ),
  ],
  [
    "an object in an array",
    "gemini",
    text(
      geminiArray([
        geminiChunk([{ functionCall: { id: "c1", name: "cancel", args: given } }], { finishReason: "STOP" }),
      ]),
    ),
  ],
  [
    "values under paths",
    "gemini",
    text(
      geminiEvents([
        geminiChunk([
          {
            functionCall: {
              id: "c1",
              name: "cancel",
              partialArgs: [
                { jsonPath: "$.order", numberValue: MARK },
                { jsonPath: "$.tries[0]", numberValue: 8888 },
              ],
              willContinue: true,
            },
          },
        ]),
        geminiChunk([{ functionCall: {} }]),
        ...geminiAnswer({ deltas: [] }),
      ]),
    ),
  ],
  [
    "an object",
    "workers-ai",
    text([sseEvent({ response: "", tool_calls: [{ id: "c1", name: "cancel", arguments: given }] }), workersAiDone]),
  ],
];

describe("R-TOOL-23 a call's input is read with every digit", () => {
  test.each(streams)("%s, %s", (_, format, wire) => {
    const calls = readPackets(format, wire).filter((event) => event.type === "tool_call");
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ toolName: "cancel", inputJson: INPUT });
    expect(calls[0]?.input).toEqual(JSON.parse(INPUT));
  });

  test("R-TOOL-23 a call without such a number has no text", () => {
    const wire = ollamaChat({ toolCalls: [{ name: "a", arguments: { b: 2 ** 53 } }] }).join("");
    const call = readPackets("ollama", [toBytes(wire)]).find(({ type }) => type === "tool_call");
    expect(call).toEqual({ type: "tool_call", toolCallId: "call_0", toolName: "a", input: { b: 2 ** 53 } });
  });

  test("R-TOOL-23 arguments that are nothing but such a number are no input", () => {
    const wire = wired(
      ollamaChat({ toolCalls: [{ name: "a", arguments: {} }] })
        .join("")
        .replace("{}", String(MARK)),
    );
    expect(wire).toContain(`:${ID}`);
    expect(readPackets("ollama", [toBytes(wire)]).at(-1)).toMatchObject({ verdict: "failed" });
  });
});

const request = (messages: Message[]): StartRequest => ({
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  messages,
});
const conversation: Message[] = [
  { role: "user", content: "Cancel it." },
  {
    role: "assistant",
    toolCalls: [{ toolCallId: "c1", toolName: "cancel", input: JSON.parse(INPUT), inputJson: INPUT }],
  },
  { role: "tool", toolCallId: "c1", output: { was: Number(ID) }, outputJson: `{"was":${ID}}` },
];

describe("R-TOOL-23 a call's input and output are sent with every digit", () => {
  const formats = [...new Set(streams.map(([, format]) => format))];
  test.each(formats)("%s", (adapter) => {
    const target: Target = { id: "t", adapter, baseUrl: "https://api.example", model: "m-1" };
    const { body } = adapters[adapter].request(request(conversation), target, undefined);
    // As a value, or as a text in a text.
    const plain = body.replaceAll("\\", "");
    expect(plain).toContain(INPUT);
    expect(plain).toContain(`{"was":${ID}}`);
  });

  test("R-PROV-26 an echo with such a number is left out", () => {
    const target: Target = {
      id: "t",
      adapter: "openai-chat",
      baseUrl: "https://api.example",
      model: "m-1",
      preset: "openrouter",
    };
    const event = (number: unknown) => ({
      type: "tool_call" as const,
      toolCallId: "c1",
      toolName: "a",
      input: {},
      echo: { reasoning_details: [number] },
    });
    const stamped = (number: unknown) => stampEchoes([event(number)], adapters["openai-chat"], target, undefined);
    expect(stamped(parseExact(ID)?.value)).toEqual([
      { type: "diagnostic", code: "echo_dropped" },
      { type: "tool_call", toolCallId: "c1", toolName: "a", input: {} },
    ]);
    expect(stamped(1)).toMatchObject([{ echo: { reasoning_details: [1] } }]);
  });
});

const shaped = (value: unknown, maxBytes = 1000) =>
  shapeOutput(value, maxBytes, { secrets: ["hidden"], addresses: [] }, parseExact);

describe("R-TOOL-23 a tool's output", () => {
  test.each([ID, `[${ID}]`, `{"a":{"b":[1e400,${ID}]},"c":"x"}`])("%s comes with its text", (json) => {
    expect(shaped(json)).toEqual({ output: JSON.parse(json), outputJson: json });
    expect(shaped(` ${json}\n`)).toEqual({ output: JSON.parse(json), outputJson: json });
  });
  test("R-TOOL-23 comes without its text where the value says it all", () => {
    expect(shaped('{"a":[9007199254740992,0.10000000000000001]}')).toEqual({ output: { a: [2 ** 53, 0.1] } });
  });
  test("R-TOOL-21 R-TOOL-23 is given without secrets", () => {
    expect(shaped(`{"hidden":"hidden","id":${ID}}`)).toEqual({
      output: { "***": "***", id: Number(ID) },
      outputJson: `{"***":"***","id":${ID}}`,
    });
  });
  test("R-TOOL-14 R-TOOL-23 is measured with all its digits", () => {
    const long = `[${"1".repeat(60)}]`;
    expect(shaped(long, 62)).toMatchObject({ outputJson: long });
    expect(shaped(long, 61)).toMatchObject({ output: expect.stringContaining("[cut: longer than 61 bytes]") });
    expect(shaped(long, 61)).not.toHaveProperty("outputJson");
  });
  test("R-TOOL-14 R-TOOL-23 of 64 levels is not made deeper by its numbers", () => {
    const nested = (levels: number): string => "[".repeat(levels) + ID + "]".repeat(levels);
    expect(shaped(nested(64))).toMatchObject({ outputJson: nested(64) });
    expect(shaped(nested(65))).toMatchObject({ isError: true });
  });
});

describe("R-TOOL-24 structured content of an MCP server", () => {
  const result = (structuredContent: unknown, said?: string) =>
    mcpResult(
      { structuredContent, content: said === undefined ? [] : [{ type: "text", text: said }] },
      1000,
      { secrets: [], addresses: [] },
      parseExact,
    );
  const rounded: unknown = JSON.parse(`{"b":[${ID}],"a":"x"}`);
  const refused = {
    output: {
      success: false,
      error: "The call was made, but its result holds a number that cannot be passed on with all its digits.",
    },
    isError: true,
  };
  test("R-TOOL-24 with a large number is taken from the text that says the same", () => {
    expect(result(rounded, `{ "a": "x", "b": [${ID}] }`)).toEqual({
      output: rounded,
      outputJson: `{"a":"x","b":[${ID}]}`,
    });
    expect(result(JSON.parse('{"a":1e400}'), '{"a":1e400}')).toEqual({
      output: { a: Infinity },
      outputJson: '{"a":1e400}',
    });
    expect(result({ a: 2 ** 60 }, `{"a":${2 ** 60}}`)).toEqual({ output: { a: 2 ** 60 } });
  });
  test.each([
    undefined,
    "Done.",
    "{}",
    `{"a":"x","b":[1]}`,
    `{"a":"y","b":[${ID}]}`,
    "[".repeat(300) + "]".repeat(300),
  ])("R-TOOL-24 with a large number is refused beside %j", (said) => {
    expect(result(rounded, said)).toEqual(refused);
  });
  test("R-TOOL-24 without one is the result", () => {
    expect(result({ a: 2 ** 53 - 1, b: 0.1 + 0.2 }, "Done.")).toEqual({
      output: { a: 2 ** 53 - 1, b: 0.1 + 0.2 },
    });
  });
  test("R-TOOL-24 of many parts is looked through", () => {
    const many = Array.from({ length: 300_000 }, () => 1);
    expect(result([...many, Number(ID)])).toEqual(refused);
  });
});

describe("R-TOOL-25 what a client sends", () => {
  const body = (fields: string): JsonRecord =>
    Object(parseRunBody(`{"schemaVersion":"1.0","task":{"kind":"text_to_text"},${fields}}`)?.value);
  const toolCalls = `"toolCalls":[{"toolCallId":"c1","toolName":"a","input":${INPUT}},{"toolCallId":"c2","toolName":"a","input":{}}]`;
  const messages = `"messages":[{"role":"user","content":"${ID}"},{"role":"assistant",${toolCalls}},{"role":"tool","toolCallId":"c1","output":${ID}},{"role":"tool","toolCallId":"c2","output":1}]`;
  test("R-TOOL-25 keeps its digits in a text beside it", () => {
    const checked = checkStartRequest(body(messages));
    expect(checked.ok && checked.request.messages).toEqual([
      { role: "user", content: ID },
      {
        role: "assistant",
        toolCalls: [
          { toolCallId: "c1", toolName: "a", input: JSON.parse(INPUT), inputJson: INPUT },
          { toolCallId: "c2", toolName: "a", input: {} },
        ],
      },
      { role: "tool", toolCallId: "c1", output: Number(ID), outputJson: ID },
      { role: "tool", toolCallId: "c2", output: 1 },
    ]);
    const results = checkStartRequest(body(`"previousRunId":"r","toolResults":[{"toolCallId":"c","output":[${ID}]}]`));
    expect(results.ok && results.request.toolResults).toEqual([
      { toolCallId: "c", output: [Number(ID)], outputJson: `[${ID}]` },
    ]);
  });
  test("R-TOOL-25 R-START-5 may state the text itself, of the same value", () => {
    const issues = (call: JsonRecord, result: JsonRecord) => {
      const checked = checkStartRequest({
        ...body(""),
        schemaVersion: "1.0",
        task: { kind: "text_to_text" },
        messages: [
          { role: "assistant", toolCalls: [{ toolCallId: "c1", toolName: "a", ...call }] },
          { role: "tool", toolCallId: "c1", ...result },
        ],
      });
      return checked.ok ? [] : checked.issues.map(({ path }) => path);
    };
    const exact = { input: JSON.parse(INPUT), inputJson: INPUT };
    expect(issues(exact, { output: 1, outputJson: " 1 " })).toEqual([]);
    for (const inputJson of ["", "{", "{}", "[]", `${INPUT} x`, "[".repeat(100) + "]".repeat(100)]) {
      expect(issues({ ...exact, inputJson }, { output: 1 })).toEqual(["/messages/0/toolCalls/0/inputJson"]);
    }
    expect(issues(exact, { output: 1, outputJson: "2" })).toEqual(["/messages/1/outputJson"]);
  });
  test("R-TOOL-25 leaves any other body as it is", () => {
    for (const odd of [
      "[]",
      "1",
      ID,
      `{"messages":${ID}}`,
      `{"messages":[${ID},null,{"toolCalls":{"a":${ID}}}],"toolResults":[[${ID}]]}`,
    ]) {
      expect(parseRunBody(odd)?.value).toEqual(JSON.parse(odd));
    }
    expect(parseRunBody("{")).toBeUndefined();
  });
});

describe("R-TOOL-23 a conversation that is kept", () => {
  const call: CallRecord = {
    toolCallId: "c1",
    toolName: "a",
    input: JSON.parse(INPUT),
    inputJson: INPUT,
    execution: "server",
  };
  test("R-TOOL-23 a chat's entry gives the call back as it was", () => {
    expect(recordOf(callEntryOf(call))).toEqual(call);
    const entries = [{ role: "assistant" as const, content: "", tool_calls: [callEntryOf(call)] }];
    expect(modelMessages(entries, undefined, new Set())[0]).toMatchObject({ toolCalls: [{ inputJson: INPUT }] });
  });
  test("R-TOOL-23 an output that is cut has no text left beside it", () => {
    const output = Array.from({ length: 1000 }, () => Number(ID));
    const outputJson = `[${output.map(() => ID).join(",")}]`;
    const [, , cut] = fitMessages(
      [
        ...conversation.slice(0, 2),
        { role: "tool", toolCallId: "c1", output, outputJson },
        { role: "user", content: "x" },
      ],
      5000,
    );
    expect(cut).toMatchObject({ output: expect.stringMatching(new RegExp(`^\\[${ID},[^]*\\[cut: `)) });
    expect(cut).not.toHaveProperty("outputJson");
  });
});

test("R-SV-1 R-TOOL-23 a Sveda frame has the number with every digit", () => {
  const encode = svedaSse.encoder({ runId: "r", startedAt: 0 });
  const names = { toolCallId: "c1", toolName: "a" };
  const frameOf = (type: "tool_call" | "tool_result", payload: JsonRecord): string =>
    encode({ sequence: 1, at: 0, type, payload: JSON.stringify({ ...names, ...payload }) });
  expect(frameOf("tool_call", { inputJson: INPUT, execution: "server" })).toContain(`"input":${INPUT},`);
  expect(frameOf("tool_result", { outputJson: `[${ID}]` })).toContain(`"output":[${ID}],`);
});
