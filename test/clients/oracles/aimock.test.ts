// npm `@copilotkit/aimock` speaks the providers' formats by somebody else's reading of them. It is told what to say, and how to
// fail; our adapters must hear just that, and it must read our requests as they were meant.
import { LLMock, type ChatCompletionRequest } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AdapterId } from "../../../schemas/config.ts";
import type { StartRequest } from "../../../schemas/run.ts";
import { parseJson } from "../../../src/wire/json.ts";
import { ask } from "./ask.ts";

interface Served {
  readonly adapter: AdapterId;
  /** What the format's paths start with. */
  readonly base: string;
  /** What the format has no word for, or aimock's writer of it leaves out. */
  readonly lacks: ReadonlySet<
    "model" | "reasoning" | "call ids" | "stop reasons" | "usage" | "parameters" | "words before calls"
  >;
  /** aimock writes reasoning as more text. */
  readonly reasonsInText?: boolean;
  /** How the format wraps what a tool answered, where it takes no plain text. */
  readonly wrap?: (output: unknown) => unknown;
}

const served: readonly Served[] = [
  { adapter: "openai-chat", base: "/v1", lacks: new Set() },
  { adapter: "openai-responses", base: "/v1", lacks: new Set() },
  { adapter: "anthropic-messages", base: "", lacks: new Set() },
  { adapter: "gemini", base: "", lacks: new Set(["model", "parameters"]), wrap: (output) => ({ output }) },
  { adapter: "ollama", base: "", lacks: new Set(["reasoning", "call ids", "stop reasons", "usage"]) },
  { adapter: "bedrock-converse", base: "", lacks: new Set(["model"]) },
  { adapter: "cohere", base: "", lacks: new Set(["model", "reasoning", "words before calls"]), reasonsInText: true },
];

const usage = { prompt_tokens: 31, completion_tokens: 17, input_tokens: 31, output_tokens: 17 };
const weather = { id: "call_a", name: "weather", arguments: '{"city":"北京"}' };
const time = { id: "call_b", name: "time", arguments: "{}" };
const said = "Sag — 世界 🎉 — once more, and at some length, so that there are many pieces.";

/** By the class that must come of it: the status, and what the error object says. */
const refusals: readonly (readonly [string, number, string, string, string])[] = [
  ["rate_limited", 429, "rate_limit_error", "rate_limit_exceeded", "Slow down."],
  ["quota", 429, "insufficient_quota", "insufficient_quota", "No more."],
  ["auth", 401, "authentication_error", "invalid_api_key", "Who are you?"],
  ["permission", 403, "permission_error", "forbidden", "Not you."],
  ["model_not_found", 404, "not_found_error", "model_not_found", "Which model?"],
  [
    "context_length",
    400,
    "invalid_request_error",
    "context_length_exceeded",
    "prompt is too long: 9 tokens > 8 maximum",
  ],
  ["invalid_request", 400, "invalid_request_error", "invalid_value", "What?"],
  ["upstream_5xx", 500, "api_error", "internal_error", "Sorry."],
  ["overloaded", 529, "overloaded_error", "overloaded", "Later."],
];

let mock: LLMock;
/** The last request, as aimock read it. */
let heard: ChatCompletionRequest | undefined;

beforeAll(async () => {
  mock = new LLMock({ port: 0 });
  mock
    .on(
      {
        predicate(request) {
          heard = request;
          return request.messages.length > 1;
        },
      },
      { content: "I understand." },
    )
    .onMessage(/^text$/, { content: said, usage }, { chunkSize: 3 })
    .onMessage(/^reasoning$/, { content: "Yes.", reasoning: "Hm, 世界" }, { chunkSize: 2 })
    .onMessage(/^length$/, { content: "cut", finishReason: "length" })
    .onMessage(/^calls$/, { toolCalls: [weather, time] }, { chunkSize: 2 })
    .onMessage(/^text, then a call$/, { content: "Let me look.", toolCalls: [weather] }, { chunkSize: 2 })
    .onMessage(/^a call, then text$/, {
      blocks: [
        { type: "toolCall", ...weather },
        { type: "text", text: "I looked." },
      ],
    })
    .onMessage(/^truncated$/, { content: said }, { chunkSize: 3, latency: 5, truncateAfterChunks: 9 })
    .onMessage(/^disconnected$/, { content: said }, { chunkSize: 3, latency: 10, disconnectAfterMs: 60 })
    .onMessage(/^dropped$/, { content: said }, { chaos: { dropRate: 1 } })
    .onMessage(/^malformed$/, { content: said }, { chaos: { malformedRate: 1 } })
    .onMessage(/^limited$/, { content: said }, { chaos: { rateLimitRate: 1 } })
    .onMessage(/^cut off$/, { content: said }, { chaos: { disconnectRate: 1 } });
  for (const [failureClass, status, type, code, message] of refusals) {
    mock.onMessage(new RegExp(`^refused: ${failureClass}$`), {
      status,
      error: { message, type, code },
      ...(status === 429 && { retryAfter: 7 }),
    });
  }
  await mock.start();
});
afterAll(() => mock.stop());

describe.each(served)("$adapter from aimock", ({ adapter, base, lacks, reasonsInText, wrap = (output) => output }) => {
  const asked = (request: string | Omit<StartRequest, "schemaVersion" | "task">) =>
    ask(
      { id: "t", adapter, baseUrl: `${mock.url}${base}`, model: "test-model" },
      typeof request === "string" ? { prompt: request } : request,
    );
  const idOf = (call: { id: string }) => (lacks.has("call ids") ? expect.any(String) : call.id);
  const callOf = (call: { id: string; name: string; arguments: string }) => ({
    toolCallId: idOf(call),
    toolName: call.name,
    input: JSON.parse(call.arguments),
  });
  const complete = (stopReason: string) => [{ type: "verdict", verdict: "complete", stopReason }];

  test("R-PROV-5 text, usage and the model's name", async () => {
    const { text, usage: counted, models, verdicts } = await asked("text");
    expect(text).toBe(said);
    expect(verdicts).toMatchObject(complete("stop"));
    expect(models).toEqual(lacks.has("model") ? [] : ["test-model"]);
    expect(counted).toMatchObject(lacks.has("usage") ? {} : { inputTokens: 31, outputTokens: 17 });
  });

  test("R-PROV-5 reasoning", async () => {
    const { text, reasoning, verdicts } = await asked("reasoning");
    expect(text).toBe(reasonsInText === true ? "Hm, 世界Yes." : "Yes.");
    expect(reasoning).toBe(lacks.has("reasoning") ? "" : "Hm, 世界");
    expect(verdicts).toMatchObject(complete("stop"));
  });

  test("R-PROV-5 an answer at its length limit", async () => {
    const { text, verdicts } = await asked("length");
    expect(text).toBe("cut");
    expect(verdicts).toMatchObject(complete(lacks.has("stop reasons") ? "stop" : "length"));
  });

  test.each([
    ["calls", "", [weather, time]],
    ["text, then a call", "Let me look.", [weather]],
    ["a call, then text", "I looked.", [weather]],
  ])("R-PROV-5 tool calls: %s", async (prompt, expected, calls) => {
    const reading = await asked(prompt);
    expect(reading.text).toBe(expected);
    expect(reading.calls).toEqual(calls.map(callOf));
    expect(new Set(reading.calls.map(({ toolCallId }) => toolCallId)).size).toBe(calls.length);
    expect(reading.verdicts).toMatchObject(complete("tool_calls"));
  });

  test("R-PROV-7 a conversation with tools is understood as it was meant", async () => {
    const parameters = { type: "object", properties: { at: { type: "string" } } };
    const { text, verdicts } = await asked({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "What is this?" },
        {
          role: "assistant",
          content: "Let me look.",
          toolCalls: [
            { toolCallId: "c1", toolName: "look", input: { at: "北京" } },
            { toolCallId: "c2", toolName: "name", input: {} },
          ],
        },
        { role: "tool", toolCallId: "c1", output: { seen: ["cat"] } },
        { role: "tool", toolCallId: "c2", output: "no name" },
      ],
      tools: [
        { name: "look", description: "Looks.", parameters },
        { name: "name", description: "Names.", parameters },
      ],
      generation: { temperature: 0.5, maxOutputTokens: 77 },
    });
    expect(text).toBe("I understand.");
    expect(verdicts).toMatchObject(complete("stop"));
    const call = (id: string, name: string, input: unknown) => ({ call: idOf({ id }), name, input });
    const answered = (id: string, output: unknown) => ({
      result: lacks.has("call ids") ? undefined : id,
      output: wrap(output),
    });
    expect(flat(heard?.messages ?? [])).toEqual([
      { role: "system", text: "Be brief." },
      { role: "user", text: "What is this?" },
      ...(lacks.has("words before calls") ? [] : [{ role: "assistant", text: "Let me look." }]),
      call("c1", "look", { at: "北京" }),
      call("c2", "name", {}),
      answered("c1", { seen: ["cat"] }),
      answered("c2", "no name"),
    ]);
    const tool = (name: string, description: string) => ({
      type: "function",
      function: { name, description, ...(!lacks.has("parameters") && { parameters }) },
    });
    expect(heard).toMatchObject({
      model: "test-model",
      stream: true,
      temperature: 0.5,
      max_tokens: 77,
      tools: [tool("look", "Looks."), tool("name", "Names.")],
    });
  });

  test.each(refusals)("R-PROV-3 R-PROV-4 a refusal is %s (%i)", async (failureClass, status) => {
    const { text, verdicts } = await asked(`refused: ${failureClass}`);
    expect(text).toBe("");
    expect(verdicts).toMatchObject([
      {
        verdict: "failed",
        failure: { failureClass, httpStatus: status, ...(status === 429 && { retryAfterMs: 7000 }) },
      },
    ]);
  });

  test.each(["truncated", "disconnected"])("R-PROV-1 an answer that is %s is no answer", async (prompt) => {
    const { text, verdicts } = await asked(prompt);
    expect(said.startsWith(text)).toBe(true);
    expect(text.length).toBeLessThan(said.length);
    expect(verdicts).toMatchObject([
      { verdict: "failed", failure: { failureClass: expect.stringMatching(/^(reset|connect)$/) } },
    ]);
  });

  test.each([
    ["dropped", { verdict: "failed", failure: { failureClass: "upstream_5xx", httpStatus: 500 } }],
    ["limited", { verdict: "failed", failure: { failureClass: "rate_limited", retryAfterMs: 1000 } }],
    ["cut off", { verdict: "failed", failure: { failureClass: "connect" } }],
    // `{malformed json: <<<chaos>>>`, without a line end: no stream, and to a format of lines a cut one.
    ["malformed", adapter === "ollama" ? { verdict: "truncated" } : { failure: { failureClass: "protocol" } }],
  ])("R-PROV-3 aimock's own fault: %s", async (prompt, verdict) => {
    const reading = await asked(prompt);
    expect(reading.text).toBe("");
    expect(reading.verdicts).toMatchObject([verdict]);
  });
});

/** What was said, called and answered, in order, whatever messages it came in. */
function flat(messages: ChatCompletionRequest["messages"]): unknown[] {
  return messages.flatMap(({ role, content, tool_calls = [], tool_call_id: result }): unknown[] => {
    const text = typeof content === "string" ? content : "";
    if (role === "tool") return [{ result, output: parseJson(text)?.value ?? text }];
    const said = text === "" ? [] : [{ role, text }];
    const called = tool_calls.map(({ id, function: named }) => ({
      call: id,
      name: named.name,
      input: parseJson(named.arguments)?.value,
    }));
    return [...said, ...called];
  });
}
