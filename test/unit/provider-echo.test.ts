// What a provider wants back with its calls: an answer's stream in, the next step's request out, for every format that wants something.
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import { heldText, stampEchoes } from "../../src/providers/echo.ts";
import { adapters } from "../../src/providers/index.ts";
import type { StreamFormat } from "../support/corpus/corpus-stream.ts";
import { corpus } from "../support/corpus/index.ts";
import { readPackets } from "../support/corpus/reading.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

type Call = NonNullable<Extract<Message, { role: "assistant" }>["toolCalls"]>[number];

const tool = (name: string) => ({ name, parameters: { type: "object" } });
const asked = (messages: Message[], fields: Partial<StartRequest> = {}): StartRequest => ({
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  messages,
  tools: [tool("weather"), tool("time"), tool("a"), tool("f")],
  ...fields,
});
const question: Message = { role: "user", content: "How is it?" };
const target = (adapter: StreamFormat, fields: Partial<Target> = {}): Target => ({
  id: "main",
  adapter,
  baseUrl: "https://api.example",
  model: "m-1",
  ...fields,
});

const bodyOf = (request: StartRequest, at: Target): unknown =>
  JSON.parse(adapters[at.adapter].request(request, at, undefined).body);

/** What a stream's calls are, as an attempt at the target hands them on. */
function answered(name: string, at: Target, request = asked([question])): { text: string; calls: Call[] } {
  const stream = corpus.find((candidate) => candidate.format === at.adapter && candidate.name === name);
  if (stream === undefined) throw new Error(`The corpus has no stream ${name}`);
  const adapter = adapters[at.adapter];
  const { prefix } = adapter.request(request, at, undefined);
  const events = stampEchoes(readPackets(stream.format, [toBytes(stream.wire)]), adapter, at, prefix);
  const calls = events.flatMap((event): Call[] => {
    if (event.type !== "tool_call") return [];
    const { toolCallId, toolName, input, echo } = event;
    return [{ toolCallId, toolName, input, ...(echo !== undefined && { echo }) }];
  });
  const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  return { text, calls };
}

/** The conversation after a step: as the run makes it. */
const after = ({ text, calls }: { text: string; calls: Call[] }): Message[] => [
  question,
  { role: "assistant", ...(text !== "" && { content: text }), toolCalls: calls },
  ...calls.map(({ toolCallId }): Message => ({ role: "tool", toolCallId, output: "ok" })),
];

const unechoed = (messages: Message[]): Message[] =>
  messages.map((message) =>
    message.role === "assistant" && message.toolCalls !== undefined
      ? { ...message, toolCalls: message.toolCalls.map(({ echo: _echo, ...call }) => call) }
      : message,
  );

const field = (body: unknown, name: string): unknown => Reflect.get(Object(body), name);

describe("R-PROV-27 gemini: a call goes back with the signature of its thoughts", () => {
  const at = target("gemini", { model: "gemini-3-pro" });
  const [first, second] = [
    { functionCall: { id: "call_0", name: "a", args: { n: 1 } } },
    { functionCall: { id: "call_1", name: "a", args: {} } },
  ];
  const sent = (messages: Message[], to = at): unknown => field(bodyOf(asked(messages), to), "contents");
  const results = {
    role: "user",
    parts: ["call_0", "call_1"].map((id) => ({ functionResponse: { id, name: "a", response: { output: "ok" } } })),
  };
  const user = { role: "user", parts: [{ text: "How is it?" }] };
  const step = answered("one call per chunk, signed", at);

  test("of parallel calls the one that was signed, and no other", () => {
    expect(step.calls[0]?.echo).toEqual({
      adapter: "gemini",
      target: "main",
      model: "gemini-3-pro",
      thoughtSignature: "c2ln",
    });
    expect(sent(after(step))).toEqual([
      user,
      { role: "model", parts: [{ ...first, thoughtSignature: "c2ln" }, second] },
      results,
    ]);
  });
  test("streamed arguments too", () => {
    const streamed = answered("streamed arguments, signed at their end", at);
    expect(sent(after(streamed))).toMatchObject([{}, { parts: [{ thoughtSignature: "c2lnbmVk" }] }, {}]);
  });
  test.each([
    ["no echo", unechoed(after(step)), at],
    ["another model's", after(step), { ...at, model: "gemini-3.8-flash" }],
    ["another target's", after(step), { ...at, id: "other" }],
  ])("%s: the documented stand-in", (_name, messages, to) => {
    const thoughtSignature = "skip_thought_signature_validator";
    expect(sent(messages, to)).toMatchObject([{}, { parts: [{ thoughtSignature }, { thoughtSignature }] }, {}]);
  });
});

const thinking = { type: "thinking", thinking: "Hmém", signature: "c2ln" };
const redacted = { type: "redacted_thinking", data: "eA" };
const omitted = { type: "thinking", thinking: "", signature: "b2s=" };
const use = (id: string, name: string, input: object) => ({ type: "tool_use", id, name, input });
const [uses, both] = [
  [use("toolu_a", "weather", { city: "北京" }), use("toolu_b", "time", { zone: "UTC" })],
  [
    { type: "tool_result", tool_use_id: "toolu_a", content: "ok" },
    { type: "tool_result", tool_use_id: "toolu_b", content: "ok" },
  ],
];

describe("R-PROV-28 anthropic-messages: thinking goes back where it stood", () => {
  const at = target("anthropic-messages");
  const name = "signed and redacted thinking before, between and without a text";
  const step = answered(name, at);
  const sent = (messages: Message[], to = at, fields: Partial<StartRequest> = {}): unknown =>
    field(bodyOf(asked(messages, fields), to), "messages");
  const user = { role: "user", content: [{ type: "text", text: "How is it?" }] };
  const said = { type: "text", text: "Let me look." };
  const results = { role: "user", content: both };
  const without = [user, { role: "assistant", content: [said, ...uses] }, results];

  test("in the same conversation", () => {
    expect(sent(after(step))).toEqual([
      user,
      { role: "assistant", content: [thinking, redacted, said, uses[0], omitted, uses[1]] },
      results,
    ]);
  });
  test("in later steps and later turns as well, as long as all before it stays", () => {
    const second = answered(name, at, asked(after(step)));
    const again = second.calls.map((call) => ({ ...call, toolCallId: `${call.toolCallId}_2` }));
    const longer: Message[] = [...after(step), ...after({ text: "", calls: again }).slice(1), question];
    const body = JSON.stringify(sent(longer));
    expect(body.split('"signature":"c2ln"')).toHaveLength(3);
    expect(body.split('"signature":"b2s="')).toHaveLength(3);
  });
  test.each<[string, Message[], Target, Partial<StartRequest>]>([
    ["no echo", unechoed(after(step)), at, {}],
    ["another model", after(step), { ...at, model: "m-2" }, {}],
    ["another target", after(step), { ...at, id: "other" }, {}],
    ["other tools", after(step), at, { tools: [tool("weather")] }],
  ])("%s: it stays away, since it would be refused", (_name, messages, to, fields) => {
    expect(sent(messages, to, fields)).toEqual(without);
  });
  test.each<[string, Message[]]>([
    [
      "another beginning",
      [
        { role: "user", content: "Before." },
        { role: "assistant", content: "Yes." },
      ],
    ],
    ["another system text", [{ role: "system", content: "Be brief." }]],
  ])("%s: it stays away", (_name, before) => {
    expect(JSON.stringify(sent([...before, ...after(step)]))).not.toContain("signature");
  });
  test("a text that has become shorter loses nothing of what follows", () => {
    expect(sent(after({ ...step, text: "Let" }))).toMatchObject([
      {},
      { content: [thinking, redacted, { type: "text", text: "Let" }, uses[0], omitted, uses[1]] },
      {},
    ]);
  });
});

describe("R-PROV-28 bedrock-converse: signed reasoning goes back where it stood", () => {
  const at = target("bedrock-converse", { model: "anthropic.claude" });
  const step = answered("signed and redacted reasoning, a text and a call", at);
  const sent = (messages: Message[], to = at): unknown => field(bodyOf(asked(messages), to), "messages");
  const call = { toolUse: { toolUseId: "tooluse_a", name: "weather", input: { city: "北京" } } };
  const result = { toolResult: { toolUseId: "tooluse_a", content: [{ text: "ok" }] } };
  const around = (content: object[]) => [
    { role: "user", content: [{ text: "How is it?" }] },
    { role: "assistant", content },
    { role: "user", content: [result] },
  ];

  test("what is not signed does not", () => {
    expect(sent(after(step))).toEqual(
      around([
        { reasoningContent: { reasoningText: { text: "Hmé", signature: "c2ln" } } },
        { reasoningContent: { redactedContent: "eA==" } },
        { text: "So." },
        call,
      ]),
    );
  });
  test("to another model nothing does", () => {
    expect(sent(after(step), { ...at, model: "amazon.nova" })).toEqual(around([{ text: "So." }, call]));
  });
});

describe("R-PROV-29 openai-chat: what a preset's server wants back", () => {
  const args = { id: "call_a", type: "function", function: { name: "weather", arguments: '{"city":"北京"}' } };
  const said = { role: "assistant", content: null };
  const sent = (name: string, preset: Partial<Target>): unknown => {
    const at = target("openai-chat", preset);
    const messages = field(bodyOf(asked(after(answered(name, at))), at), "messages");
    return Array.isArray(messages) ? messages[1] : undefined;
  };
  const deepseek = "deepseek: reasoning before a call";
  const openrouter = "openrouter: reasoning in parts before a call, signed after its text";

  test("deepseek: the reasoning, as text", () => {
    expect(sent(deepseek, { preset: "deepseek" })).toEqual({ ...said, reasoning_content: "Hmé", tool_calls: [args] });
  });
  test("openrouter: the reasoning, in its parts", () => {
    const reasoning_details = [
      { type: "reasoning.text", text: "Hmé", index: 0, format: "f", signature: "c2ln" },
      { type: "reasoning.encrypted", data: "eA==", index: 1, id: "call_a" },
    ];
    expect(sent(openrouter, { preset: "openrouter" })).toEqual({ ...said, reasoning_details, tool_calls: [args] });
  });
  test("a server without a preset: the reasoning, and what a call has of its own", () => {
    expect(sent(deepseek, {})).toEqual({ ...said, reasoning_content: "Hmé", tool_calls: [args] });
    const extra_content = { google: { thought_signature: "c2ln" } };
    expect(sent("google: a call with content of its own", {})).toEqual({
      ...said,
      tool_calls: [{ ...args, extra_content }],
    });
  });
  test.each(["openai", "groq", "mistral", "xai", "together", "lm-studio"] as const)("%s: nothing", (preset) => {
    const at = target("openai-chat", { preset });
    const [call] = answered(deepseek, at).calls;
    expect(call).toEqual({ toolCallId: "call_a", toolName: "weather", input: { city: "北京" } });
    expect(sent(openrouter, { preset })).not.toHaveProperty("reasoning_details");
  });
  test("deepseek: every answer of a conversation with tools has a reasoning, and none without tools", () => {
    const at = target("openai-chat", { preset: "deepseek" });
    const messages: Message[] = [
      question,
      { role: "assistant", content: "Fine." },
      ...unechoed(after(answered(deepseek, target("openai-chat", { preset: "openrouter" })))),
    ];
    expect(field(bodyOf(asked(messages), at), "messages")).toMatchObject([
      {},
      { content: "Fine.", reasoning_content: "" },
      {},
      { reasoning_content: "", tool_calls: [args] },
      {},
    ]);
    const plain = asked(messages.slice(0, 2), { tools: [] });
    expect(JSON.stringify(bodyOf(plain, at))).not.toContain("reasoning_content");
  });
});

describe("R-PROV-30 openai-responses: sealed reasoning goes back where it stood", () => {
  const at = target("openai-responses", { model: "gpt-5" });
  const sent = (messages: Message[], to = at): unknown => field(bodyOf(asked(messages), to), "input");
  const sealed = (summary: object[], encrypted_content: string) => ({ type: "reasoning", summary, encrypted_content });
  const call = (call_id: string, name: string, input: object) => ({
    type: "function_call",
    call_id,
    name,
    arguments: JSON.stringify(input),
  });
  const output = (call_id: string) => ({ type: "function_call_output", call_id, output: "ok" });
  const said = { role: "assistant", content: [{ type: "output_text", text: "Sé." }] };
  const [weather, time] = [call("call_a", "weather", { city: "北京" }), call("call_b", "time", { zone: "UTC" })];
  const user = { role: "user", content: "How is it?" };
  const step = answered("sealed reasoning before a text and between calls", at);

  test("without the ids of items that nobody has stored", () => {
    expect(sent(after(step))).toEqual([
      user,
      sealed([{ type: "summary_text", text: "Hm" }], "eA=="),
      said,
      weather,
      sealed([], "eQ=="),
      time,
      output("call_a"),
      output("call_b"),
    ]);
  });
  test("to another model nothing does", () => {
    const all = [user, said, weather, time, output("call_a"), output("call_b")];
    expect(sent(after(step), { ...at, model: "gpt-5-mini" })).toEqual(all);
  });
  test.each([
    ["gpt-5", true],
    ["gpt-5.4-mini", true],
    ["o4-mini", true],
    ["gpt-5-chat-latest", false],
    ["gpt-4.1", false],
    ["some-model", false],
  ])("%s is asked to seal it: %s", (model, asks) => {
    const include = asks ? ["reasoning.encrypted_content"] : undefined;
    expect(field(bodyOf(asked([question]), { ...at, model }), "include")).toEqual(include);
    expect(field(bodyOf(asked([question], { tools: [] }), { ...at, model }), "include")).toBeUndefined();
  });
});

describe("R-PROV-26 an echo", () => {
  const at = target("gemini");
  const called = (echo: Record<string, unknown>): ProviderEvent => ({
    type: "tool_call",
    toolCallId: "c",
    toolName: "t",
    input: {},
    echo,
  });
  const { echo: _echo, ...bare } = { echo: undefined, type: "tool_call", toolCallId: "c", toolName: "t", input: {} };
  const stamped = (echo: Record<string, unknown>) => stampEchoes([called(echo)], adapters.gemini, at, undefined);

  test("of more than 64 KiB is left out, and it says so", () => {
    const room = 65_536 - JSON.stringify({ adapter: "gemini", target: "main", model: "m-1", s: "" }).length;
    expect(stamped({ s: "x".repeat(room) })).toMatchObject([{ type: "tool_call", echo: { s: "x".repeat(room) } }]);
    expect(stamped({ s: "x".repeat(room + 1) })).toEqual([{ type: "diagnostic", code: "echo_dropped" }, bare]);
    expect(stamped({ s: "é".repeat(room / 2 + 1) })).toEqual([{ type: "diagnostic", code: "echo_dropped" }, bare]);
  });
  test("that cannot be written is left out", () => {
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`);
    expect(stamped({ deep })).toEqual([{ type: "diagnostic", code: "echo_dropped" }, bare]);
  });
  test("that grows without end is not held, and is left out", () => {
    let held = "";
    for (let piece = 0; piece < 1000; piece++) held = heldText(held, "x".repeat(1000));
    expect(held.length).toBeLessThan(140_000);
    expect(stamped({ held })).toMatchObject([{ code: "echo_dropped" }, {}]);
  });
  test.each(["ollama", "cohere", "workers-ai"] as const)("of %s there is none", (adapter) => {
    expect(stampEchoes([called({ a: 1 })], adapters[adapter], target(adapter), undefined)).toEqual([bare]);
  });
  test.each<StreamFormat>([
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "bedrock-converse",
    "gemini",
    "cohere",
    "ollama",
    "workers-ai",
  ])("that is another adapter's, or nobody's, changes no request of %s", (adapter) => {
    const at = target(adapter, { model: "m-1" });
    const foreign = {
      adapter: "other",
      target: "main",
      model: "m-1",
      thoughtSignature: "x",
      thoughts: [{ block: {} }],
    };
    const odd = [
      foreign,
      {},
      { adapter, target: "main", model: "m-1" },
      { adapter, target: 1, thoughts: "x", prefix: 2 },
    ];
    const messages = (echo: Record<string, unknown> | undefined): Message[] =>
      after({
        text: "So.",
        calls: [{ toolCallId: "c", toolName: "a", input: {}, ...(echo !== undefined && { echo }) }],
      });
    const plain = bodyOf(asked(messages(undefined)), at);
    for (const echo of odd) expect(bodyOf(asked(messages(echo)), at)).toEqual(plain);
  });
});
