// Runs that call tools, over real sockets: a scripted model, scripted tools, several steps, and what each of them is sent.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { post, shownText, startBody } from "../support/api.ts";
import {
  gives,
  inOrder,
  MODEL,
  openAgentHouse,
  payloads,
  play,
  says,
  sentMessages,
  toolPath,
  type AgentHouse,
} from "../support/agent-house.ts";
import { ANTHROPIC_STREAM_TYPE, anthropicMessages } from "../support/provider-bytes/anthropic-messages.ts";
import { openAiError } from "../support/provider-bytes/openai-chat.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { follow } from "../support/run-reader.ts";
import { anthropic, openAi, pathOf } from "../support/scripted-targets.ts";

/** Small: what a run adds to its conversation by itself is not held to it. */
const MAX_PROMPT = 4000;
let house: AgentHouse;

beforeAll(async () => {
  house = await openAgentHouse({ maxSteps: 4, maxPromptBytes: MAX_PROMPT });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

/** The order of a log, without numbers. */
const kinds = (events: Parameters<typeof payloads>[0]): string[] =>
  events.map(({ type, payload }) =>
    type === "step" || type === "attempt" || type === "lifecycle" ? `${type} ${String(payload["phase"])}` : type,
  );

test("R-TOOL-2 R-STEP-1 R-STEP-2 R-STEP-3 a model calls a tool, gets its result, and answers", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(says("Let me look. ", [["c1", "clock", { of: "day" }]]), says("It is noon.")));
  provider.on(toolPath("clock"), gives({ time: "12:00" }));
  const { events, outcome } = await play(runs, {});
  expect(kinds(events)).toEqual([
    "lifecycle provider_selected",
    "step started",
    "attempt started",
    "attempt committed",
    "lifecycle started",
    "content_delta",
    ...events.filter(({ type }) => type === "tool_call_delta").map(({ type }) => type),
    "tool_call",
    "context_usage",
    "step finished",
    "tool_result",
    "step started",
    "attempt started",
    "attempt committed",
    "content_delta",
    "context_usage",
    "step finished",
    "terminal",
  ]);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  expect(payloads(events, "tool_call")).toEqual([
    { toolCallId: "c1", toolName: "clock", input: { of: "day" }, execution: "server" },
  ]);
  expect(payloads(events, "tool_result")).toEqual([{ toolCallId: "c1", toolName: "clock", output: { time: "12:00" } }]);
  expect(outcome).toMatchObject({ outcome: "completed", finishReason: "stop", finalText: "Let me look. It is noon." });
  expect(shownText(events)).toBe("Let me look. It is noon.");
  const [call] = provider.calls(toolPath("clock"));
  expect(JSON.parse(call?.body ?? "")).toEqual({ of: "day" });
  const first: unknown = JSON.parse(provider.calls(MODEL)[0]?.body ?? "");
  expect(first).toMatchObject({ tools: [{ function: { name: "clock" } }, {}, {}, {}, {}] });
  expect(sentMessages(provider, 1)).toEqual([
    { role: "user", content: "Say something." },
    {
      role: "assistant",
      content: "Let me look. ",
      tool_calls: [{ id: "c1", type: "function", function: { name: "clock", arguments: '{"of":"day"}' } }],
    },
    { role: "tool", tool_call_id: "c1", content: '{"time":"12:00"}' },
  ]);
});

test("R-TOOL-2 `serverTools` names which of the server's tools a model is offered, `maxSteps` only lowers the limit", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, () => says("", [["c", "clock"]]));
  provider.on(toolPath("clock"), gives(1));
  const mine = { name: "clock", description: "Mine.", parameters: { type: "object" } };
  const offered = async (fields: Record<string, unknown>): Promise<unknown> => {
    const before = provider.calls(MODEL).length;
    await play(runs, { maxSteps: 1, ...fields });
    const body: { tools?: { function: { name: string; description: string } }[] } = JSON.parse(
      provider.calls(MODEL)[before]?.body ?? "{}",
    );
    return body.tools?.map((tool) => tool.function.name);
  };
  expect(await offered({ serverTools: ["s*", "pay"] })).toEqual(["stock", "slow", "pay"]);
  expect(await offered({ serverTools: ["*k"] })).toEqual(["clock", "stock"]);
  expect(await offered({ serverTools: [] })).toBeUndefined();
  expect(await offered({ serverTools: ["clock"], tools: [mine] })).toEqual(["clock"]);
  expect(provider.calls(MODEL).at(-1)?.body).not.toContain("Mine.");
  provider.on(MODEL, (_, index) => says("", [[`c${index}`, "clock"]]));
  for (const [maxSteps, steps] of [
    [2, 2],
    [50, 4],
    [undefined, 4],
  ]) {
    const { outcome, events } = await play(runs, { ...(maxSteps !== undefined && { maxSteps }) });
    expect(outcome).toMatchObject({ outcome: "completed", stopReason: "max_steps" });
    expect(payloads(events, "max_steps")).toEqual([{ maxSteps: steps, canContinue: true }]);
    expect(payloads(events, "tool_result")).toHaveLength(steps ?? 0);
  }
});

test("R-TOOL-2 a run without `serverTools` and `maxSteps` knows none of the server's tools and logs no steps", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, says("", [["c1", "clock"]]));
  const reader = await follow(runs, { body: startBody() });
  const events = await reader.rest();
  expect(payloads(events, "step")).toEqual([]);
  expect(events.at(-1)?.payload).toMatchObject({ pending: [{ toolCallId: "c1", execution: "client" }] });
  expect(provider.calls(MODEL)[0]?.body).not.toContain("clock");
});

test("R-STEP-3 calls run at the same time, and the model gets their results in the order of its calls", async () => {
  const { provider, runs } = house;
  provider.on(
    MODEL,
    inOrder(
      says("", [
        ["a", "clock"],
        ["b", "stock"],
      ]),
      says("Both."),
    ),
  );
  // Each answers only when the other was asked, and the first one only once the run has the other's result.
  provider.on(toolPath("clock"), () => {
    provider.open("clock asked");
    return [{ step: "gate", name: "stock told" }, ...gives("clock")];
  });
  provider.on(toolPath("stock"), [{ step: "gate", name: "clock asked" }, ...gives("stock")]);
  const reader = await follow(runs, { body: startBody({ serverTools: ["*"] }) });
  await reader.until(({ type }) => type === "tool_result");
  provider.open("stock told");
  const events = await reader.rest();
  expect(events.at(-1)?.payload).toMatchObject({ finalText: "Both." });
  expect(payloads(events, "tool_result").map(({ toolCallId }) => toolCallId)).toEqual(["b", "a"]);
  expect(sentMessages(provider, 1).slice(2)).toEqual([
    { role: "tool", tool_call_id: "a", content: "clock" },
    { role: "tool", tool_call_id: "b", content: "stock" },
  ]);
});

test("R-STEP-7 R-STEP-2 a tool that is not known gets an error after the step's end, and the run goes on", async () => {
  const { provider, runs } = house;
  provider.on(
    MODEL,
    inOrder(
      says("", [
        ["c", "teleport"],
        ["d", "clock"],
      ]),
      says("I cannot."),
    ),
  );
  provider.on(toolPath("clock"), gives(1));
  const { outcome, events } = await play(runs, {});
  const order = kinds(events).filter((kind) => /^(tool_call|context_usage|step finished|tool_result)$/.test(kind));
  expect(order.slice(0, 6)).toEqual([
    "tool_call",
    "tool_call",
    "context_usage",
    "step finished",
    "tool_result",
    "tool_result",
  ]);
  expect(payloads(events, "tool_result")).toMatchObject([
    { toolCallId: "c", output: { success: false, error: "Unknown tool teleport." }, isError: true },
    { toolCallId: "d", output: 1 },
  ]);
  expect(outcome).toMatchObject({ finalText: "I cannot." });
});

test("R-TOOL-1 a tool that does not answer in time, or fails, is an error that the model reads", async () => {
  const { provider, runs } = house;
  provider.on(
    MODEL,
    inOrder(
      says("", [
        ["a", "slow"],
        ["b", "clock"],
      ]),
      says("Sorry."),
    ),
  );
  provider.on(toolPath("slow"), [{ step: "hang" }]);
  provider.on(toolPath("clock"), [{ step: "rst" }]);
  const { outcome, events } = await play(runs, {});
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "Sorry." });
  const results = payloads(events, "tool_result");
  expect(results.map(({ isError }) => isError)).toEqual([true, true]);
  const closing = await provider.calls(toolPath("slow"))[0]?.closed;
  expect(closing?.how).not.toBe("local");
  expect(provider.calls(toolPath("slow"))).toHaveLength(1);
  expect(provider.calls(toolPath("clock"))).toHaveLength(1);
});

test("R-TOOL-3 R-CANCEL-1 a cancel closes the socket of a running tool, whose call gets a result before the end", async () => {
  const { provider, runs, server } = house;
  provider.on(MODEL, inOrder(says("Wait. ", [["c", "clock"]])));
  for (const script of [
    [{ step: "hang" as const }],
    [
      {
        step: "head" as const,
        status: 200,
        headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
      },
      { step: "chunk" as const, bytes: '{"a":' },
      { step: "hang" as const },
    ],
  ]) {
    provider.on(MODEL, () => says("Wait. ", [["c", "clock"]]));
    provider.on(toolPath("clock"), script);
    const before = provider.calls(toolPath("clock")).length;
    const reader = await follow(runs, { body: startBody({ serverTools: ["clock"] }) });
    const call = await provider.waitForCall(toolPath("clock"), before + 1);
    const answer = await post(`${server.origin}/v1/runs/${reader.runId}/cancel`, { reason: "enough" });
    const at = performance.now();
    expect(await answer.json()).toMatchObject({ outcome: "cancelled", reason: "enough", partialText: "Wait. " });
    const closing = await call.closed;
    expect(closing.how).not.toBe("local");
    expect(closing.at - at).toBeLessThan(250);
    const events = await reader.rest();
    expect(events.slice(-2).map(({ type }) => type)).toEqual(["tool_result", "terminal"]);
    expect(payloads(events, "tool_result")).toMatchObject([{ toolCallId: "c", isError: true }]);
  }
});

test("R-STEP-6 R-FALL-2 R-FALL-10 a later step falls back by itself; usage is the sum of all steps", async () => {
  const { provider, runs, server } = house;
  const usage = (input: number, output: number) => ({
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  });
  provider.on(MODEL, inOrder(says("", [["c1", "clock"]], usage(10, 2)), answerScript(openAi.refusal(503, "no"))));
  const second = pathOf(anthropic, "b");
  provider.on(
    second,
    inOrder(
      streamScript(
        ANTHROPIC_STREAM_TYPE,
        anthropicMessages({
          deltas: ["Once more. "],
          blocks: [{ type: "tool_use", id: "c1", name: "stock", partialJson: ['{"of":"x"}'] }],
          usage: { input_tokens: 20, output_tokens: 4 },
        }),
      ),
      streamScript(
        ANTHROPIC_STREAM_TYPE,
        anthropicMessages({ deltas: ["Done."], usage: { input_tokens: 30, output_tokens: 8 } }),
      ),
    ),
  );
  provider.on(toolPath("clock"), gives("noon"));
  provider.on(toolPath("stock"), gives({ left: 3 }));
  const { outcome, events, runId } = await play(runs, {});
  expect(outcome).toMatchObject({
    outcome: "completed",
    finalText: "Once more. Done.",
    usage: { inputTokens: 60, outputTokens: 14 },
    provenance: {
      attempts: [
        { attempt: 0, step: 0, targetId: "openai-a", status: "completed" },
        { attempt: 1, step: 1, targetId: "openai-a", status: "failed" },
        { attempt: 2, step: 1, targetId: "anthropic-b", status: "completed" },
        { attempt: 3, step: 2, targetId: "anthropic-b", status: "completed" },
      ],
    },
  });
  const state: unknown = await (await fetch(`${server.origin}/v1/runs/${runId}`)).json();
  expect(state).toMatchObject({ steps: 3, usage: { inputTokens: 60, outputTokens: 14 } });
  // The id that the second model chose was taken.
  const ids = payloads(events, "tool_call").map(({ toolCallId }) => toolCallId);
  expect(new Set(ids).size).toBe(2);
  const sent: { messages: { role: string; content: { type: string; tool_use_id?: string }[] }[] } = JSON.parse(
    provider.calls(second)[1]?.body ?? "{}",
  );
  const given = sent.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  expect(given.filter(({ type }) => type === "tool_result").map((part) => part.tool_use_id)).toEqual(ids);
});

test("R-START-7 R-FALL-3 results of tools may outgrow maxPromptBytes; where the model refuses, the run ends with what it has", async () => {
  const { provider, runs } = house;
  const result = "x".repeat(2 * MAX_PROMPT);
  provider.on(toolPath("clock"), gives(result));
  const asks = says("Let me look. ", [["c1", "clock"]]);
  provider.on(MODEL, inOrder(asks, says("It is noon.")));
  const whole = await play(runs, {});
  expect(whole.outcome).toMatchObject({ outcome: "completed", finalText: "Let me look. It is noon." });
  expect(sentMessages(provider, 1).at(-1)).toEqual({ role: "tool", tool_call_id: "c1", content: result });

  provider.reset();
  provider.on(toolPath("clock"), gives(result));
  const tooLong = openAiError(400, "invalid_request_error", "context_length_exceeded");
  provider.on(MODEL, inOrder(asks, answerScript(tooLong)));
  provider.on(pathOf(anthropic, "b"), says("Never asked."));
  const { outcome, events } = await play(runs, {});
  expect(outcome).toMatchObject({
    outcome: "error",
    error: { details: { failureClass: "context_length" } },
    partialText: "Let me look. ",
  });
  expect(kinds(events).slice(-5)).toEqual([
    "tool_result",
    "step started",
    "attempt started",
    "attempt failed",
    "terminal",
  ]);
  expect(provider.calls(pathOf(anthropic, "b"))).toEqual([]);
});

test("R-START-7 a continuation is held to maxPromptBytes with what it brings, and leaves what it goes on from waiting", async () => {
  const { provider, runs } = house;
  const tools = [{ name: "ask_user", parameters: { type: "object" } }];
  const goOn = (previousRunId: string, output: string) =>
    post(runs, {
      schemaVersion: "1.0",
      task: { kind: "text_to_text" },
      previousRunId,
      toolResults: [{ toolCallId: "a", output }],
    });
  provider.on(MODEL, inOrder(says("", [["a", "ask_user"]]), says("Thanks.")));
  const { runId } = await play(runs, { tools });
  const refused = await goOn(runId, "x".repeat(MAX_PROMPT));
  expect(refused.status).toBe(413);
  expect(await refused.json()).toMatchObject({
    details: { code: "too_large", validationIssues: [{ path: "/toolResults", keyword: "maxBytes" }] },
  });
  expect((await goOn(runId, "yes")).status).toBe(202);
  // The model has been called for it when the next test begins.
  await provider.waitForCall(MODEL, 2);
});

test("R-STEP-9 what fills the context is what the model has read, also from a cache whose tokens are reported apart", async () => {
  const { provider, runs } = house;
  const cached = { cache_read_input_tokens: 1000, cache_creation_input_tokens: 200 };
  provider.on(
    pathOf(anthropic, "b"),
    streamScript(
      ANTHROPIC_STREAM_TYPE,
      anthropicMessages({ deltas: ["Yes."], usage: { input_tokens: 30, output_tokens: 8, ...cached } }),
    ),
  );
  const apart = await play(runs, { targets: ["anthropic-b"] });
  expect(payloads(apart.events, "context_usage")).toEqual([{ usedTokens: 1238, maxTokens: 128_000, percent: 1 }]);
  // What is reported stays as it was reported.
  const reported = { inputTokens: 30, outputTokens: 8, cachedInputTokens: 1000, cacheCreationInputTokens: 200 };
  expect(apart.outcome["usage"]).toEqual(reported);
  const part = { prompt_tokens_details: { cached_tokens: 1000 } };
  provider.on(
    MODEL,
    says("Yes.", [], {
      usage: { prompt_tokens: 1230, completion_tokens: 8, total_tokens: 1238, ...part },
    }),
  );
  const within = await play(runs, {});
  expect(payloads(within.events, "context_usage")).toMatchObject([{ usedTokens: 1238 }]);
});

test("R-STEP-4 client calls end the run once the server's own calls beside them have their results", async () => {
  const { provider, runs } = house;
  provider.on(
    MODEL,
    inOrder(
      says("", [
        ["a", "ask_user", { q: 1 }],
        ["b", "clock"],
      ]),
    ),
  );
  provider.on(toolPath("clock"), gives("noon"));
  const tools = [{ name: "ask_user", parameters: { type: "object" } }];
  const { outcome, events } = await play(runs, { tools });
  expect(payloads(events, "tool_result")).toMatchObject([{ toolCallId: "b", output: "noon" }]);
  expect(outcome).toMatchObject({
    outcome: "completed",
    finishReason: "stop",
    stopReason: "tool_calls",
    pending: [{ toolCallId: "a", toolName: "ask_user", execution: "client" }],
  });
  expect(provider.calls(MODEL)).toHaveLength(1);
});

test("R-STEP-1 a run with `maxSteps` alone calls no tool of the server's", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(says("Plain.")));
  const { outcome, events } = await play(runs, { serverTools: undefined, maxSteps: 3 });
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "Plain." });
  expect(payloads(events, "step")).toHaveLength(2);
});
