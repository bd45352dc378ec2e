// What a client sees when targets fail, over real sockets: fallback before the first output, an honest end after it, and the
// opt-in retraction. Providers are scripted byte by byte. It tests no wire format's details.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody, type WireEvent } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { anthropicMessages, ANTHROPIC_STREAM_TYPE } from "../support/provider-bytes/anthropic-messages.ts";
import { openAiChat, openAiDelta, openAiError, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";
import {
  anthropic,
  formats,
  openAi,
  pathOf,
  scriptedConfig,
  type ScriptedFormat,
} from "../support/scripted-targets.ts";

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  server = await startBare({
    config: scriptedConfig(provider.origin, {
      clocks: { headersMs: 400, firstOutputMs: 600, idleMs: 500, progressMs: 700, totalMs: 20_000 },
    }),
  });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

interface Told {
  events: WireEvent[];
  outcome: Record<string, unknown>;
  text: string;
  body: string;
}

async function run(fields: Record<string, unknown>): Promise<Told> {
  const response = await post(`${server.origin}/v1/runs`, startBody(fields), { accept: "text/event-stream" });
  const body = await response.text();
  const events = eventsOf(body);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
  const last = events.at(-1);
  expect(last?.type).toBe("terminal");
  return { events, outcome: last?.payload ?? {}, text: shownText(events), body };
}

const targetsOf = (first: ScriptedFormat, second: ScriptedFormat) => [`${first.name}-a`, `${second.name}-b`];
const healthy = (format: ScriptedFormat, ...deltas: string[]): Script =>
  streamScript(format.contentType, format.whole(deltas));

/** Ways to fail before the first output; each is a failure class (`in band`: the format's own) and the script that shows it. */
const early: readonly [name: string, failureClass: string, script: (format: ScriptedFormat) => Script][] = [
  ["answers 429", "rate_limited", (format) => answerScript(format.refusal(429, "no"))],
  ["answers 500", "upstream_5xx", (format) => answerScript(format.refusal(500, "no"))],
  ["answers 529", "overloaded", (format) => answerScript(format.refusal(529, "no"))],
  ["resets before its headers", "connect", () => [{ step: "rst" }]],
  ["closes before its headers", "connect", () => [{ step: "fin" }]],
  ["resets after its headers", "reset", ({ contentType, part }) => streamScript(contentType, part([]), { end: "rst" })],
  ["never answers", "timeout_headers", () => [{ step: "hang" }]],
  [
    "falls silent after its headers",
    "timeout_idle",
    ({ contentType }) => streamScript(contentType, [], { end: "hang" }),
  ],
  ["ends before its content", "truncated", ({ contentType, part }) => streamScript(contentType, part([]))],
  [
    "reports an error inside its stream",
    "in band",
    ({ contentType, part, inBandError }) => streamScript(contentType, [...part([]), inBandError]),
  ],
];
const classOf = (format: ScriptedFormat, named: string): string => (named === "in band" ? format.inBandClass : named);
const nextOf = (format: ScriptedFormat): ScriptedFormat =>
  formats[(formats.indexOf(format) + 1) % formats.length] ?? format;

test.each(
  formats.flatMap((format) => early.map(([name, failureClass, script]) => ({ format, name, failureClass, script }))),
)(
  "R-FALL-2 $format.name $name: only the next target's text is seen, in the same run",
  async ({ format, failureClass, script }) => {
    const second = nextOf(format);
    provider.on(pathOf(format), script(format));
    provider.on(pathOf(second, "b"), healthy(second, "All ", "is ", "well ✓."));
    const { events, outcome, text, body } = await run({ targets: targetsOf(format, second) });

    expect(text).toBe("All is well ✓.");
    expect(outcome).toMatchObject({
      outcome: "completed",
      finalText: "All is well ✓.",
      telemetry: { providerUsed: `${second.name}-b` },
      provenance: {
        targetId: `${second.name}-b`,
        fallbackOccurred: true,
        attemptedProviderIds: targetsOf(format, second),
        attempts: [
          { attempt: 0, targetId: `${format.name}-a`, status: "failed", failureClass: classOf(format, failureClass) },
          { attempt: 1, targetId: `${second.name}-b`, status: "completed" },
        ],
      },
    });
    // Nothing visible before the second attempt began, and no announcement of the first.
    const secondStarted = events.findIndex(({ type, payload }) => type === "attempt" && payload["attempt"] === 1);
    const before = events.slice(0, secondStarted).filter(({ type }) => type !== "usage");
    expect(before.map(({ type }) => type)).toEqual(["lifecycle", "attempt", "attempt"]);
    expect(
      events.filter(({ payload }) => payload["phase"] === "started" && payload["attempt"] === undefined),
    ).toHaveLength(1);
    expect(new Set(events.map(({ runId }) => runId)).size).toBe(1);
    expect(body).not.toContain("content_snapshot");
    expect(provider.calls(pathOf(format))).toHaveLength(1);
    expect(provider.calls(pathOf(second, "b"))).toHaveLength(1);
  },
);

test("R-FALL-2 a target that nobody listens on is passed over, and each target is tried once", async () => {
  const gone = await startFaultProvider();
  await gone.stop();
  provider.on(pathOf(anthropic, "b"), answerScript(anthropic.refusal(503, "no")));
  provider.on(pathOf(openAi), healthy(openAi, "third"));
  const { outcome } = await run({ targets: ["openai-b", "anthropic-b", "openai-a"] });
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "third" });
  expect(provider.calls().map(({ path }) => path)).toEqual([
    pathOf(openAi, "b"),
    pathOf(anthropic, "b"),
    pathOf(openAi),
  ]);
});

test.each([
  ["400", "invalid_request", "Internal", openAiError(400, "invalid_request_error", null)],
  ["422", "invalid_request", "Internal", openAiError(422, "unprocessable", null)],
  ["413", "context_length", "Internal", openAiError(413, "request_too_large", null)],
  ["context words", "context_length", "Internal", openAiError(400, "invalid_request_error", "context_length_exceeded")],
  [
    "a content filter",
    "content_policy",
    "CapabilityMismatch",
    openAiError(400, "invalid_request_error", "content_filter"),
  ],
])("R-FALL-3 R-FALL-9 %s ends the run at once with its own class", async (_name, failureClass, errorClass, answer) => {
  provider.on(pathOf(openAi), answerScript(answer));
  provider.on(pathOf(anthropic, "b"), healthy(anthropic, "never"));
  const { outcome, text } = await run({});
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "",
    error: {
      errorClass,
      retryable: false,
      providerId: "openai-a",
      details: { failureClass, httpStatus: answer.status },
    },
  });
  expect(text).toBe("");
  expect(provider.calls(pathOf(anthropic, "b"))).toHaveLength(0);
});

test("R-FALL-3 a refusal without any output is the failure content_policy", async () => {
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, openAiChat({ finishReason: "content_filter" })));
  const { outcome } = await run({});
  expect(outcome).toMatchObject({
    error: { errorClass: "CapabilityMismatch", details: { failureClass: "content_policy" } },
  });
  expect(provider.calls(pathOf(anthropic, "b"))).toHaveLength(0);
});

test("R-FALL-4 when all fail the run ends as one Unavailable with every class and the smallest hint", async () => {
  provider.on(pathOf(openAi), answerScript(openAi.refusal(429, "no", { "retry-after": "7" })));
  provider.on(pathOf(anthropic, "b"), answerScript(anthropic.refusal(529, "no", { "retry-after-ms": "1500" })));
  provider.on(pathOf(formats[2] ?? openAi), answerScript(openAi.refusal(401, "no")));
  const { outcome, events } = await run({ targets: ["openai-a", "anthropic-b", "ollama-a"] });
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "",
    error: {
      errorClass: "Unavailable",
      retryable: true,
      retryAfterMs: 1500,
      details: {
        attemptedProviderIds: ["openai-a", "anthropic-b", "ollama-a"],
        attempts: [
          {
            status: "failed",
            failureClass: "rate_limited",
            errorClass: "RateLimited",
            httpStatus: 429,
            retryAfterMs: 7000,
          },
          {
            status: "failed",
            failureClass: "overloaded",
            errorClass: "Unavailable",
            httpStatus: 529,
            retryAfterMs: 1500,
          },
          { status: "failed", failureClass: "auth", errorClass: "AuthError", httpStatus: 401 },
        ],
      },
    },
  });
  expect(events.map(({ type }) => type).filter((type) => type.startsWith("content"))).toEqual([]);
});

test("R-FALL-4 no attempt is retryable, so the run is not", async () => {
  provider.on(pathOf(openAi), answerScript(openAi.refusal(401, "no")));
  provider.on(pathOf(anthropic, "b"), answerScript(anthropic.refusal(402, "no")));
  const { outcome } = await run({});
  expect(outcome).toMatchObject({ error: { errorClass: "Unavailable", retryable: false } });
  expect(outcome["error"]).not.toHaveProperty("retryAfterMs");
});

/** Ways to fail after content. */
const late: readonly [
  name: string,
  failureClass: string,
  errorClass: string,
  script: (format: ScriptedFormat) => Script,
][] = [
  ["ends", "truncated", "Internal", ({ contentType, part }) => streamScript(contentType, part(words))],
  ["resets", "reset", "Unavailable", ({ contentType, part }) => streamScript(contentType, part(words), { end: "rst" })],
  ["closes", "reset", "Unavailable", ({ contentType, part }) => streamScript(contentType, part(words), { end: "fin" })],
  [
    "falls silent",
    "timeout_idle",
    "Timeout",
    ({ contentType, part }) => streamScript(contentType, part(words), { end: "hang" }),
  ],
  [
    "reports an error",
    "in band",
    "Unavailable",
    ({ contentType, part, inBandError }) => streamScript(contentType, [...part(words), inBandError]),
  ],
  [
    "sends garbage",
    "malformed",
    "Unavailable",
    ({ contentType, part }) => streamScript(contentType, [...part(words), 'data: {"half\n\n{"half\n']),
  ],
];
const words = ["Half ", "of 北京", " 🙂"];

test.each(
  formats.flatMap((format) =>
    late.map(([name, failureClass, errorClass, script]) => ({ format, name, failureClass, errorClass, script })),
  ),
)(
  "R-FALL-5 $format.name $name after content: the run ends as $failureClass with the exact partialText",
  async ({ format, failureClass, errorClass, script }) => {
    const second = nextOf(format);
    provider.on(pathOf(format), script(format));
    provider.on(pathOf(second, "b"), healthy(second, "never"));
    const { outcome, text } = await run({ targets: targetsOf(format, second) });
    const named = classOf(format, failureClass);
    expect(text).toBe("Half of 北京 🙂");
    expect(outcome).toMatchObject({
      outcome: "error",
      partialText: "Half of 北京 🙂",
      error: { errorClass, providerId: `${format.name}-a`, details: { failureClass: named } },
      provenance: { fallbackOccurred: false, attempts: [{ status: "failed", failureClass: named }] },
    });
    expect(provider.calls(pathOf(second, "b"))).toHaveLength(0);
  },
);

test.each(formats)(
  "R-FALL-6 R-FALL-10 $name cut after content is withdrawn when the run asked for it",
  async (format) => {
    const second = nextOf(format);
    provider.on(pathOf(format), streamScript(format.contentType, format.part(["Wrong ", "start"])));
    provider.on(pathOf(second, "b"), healthy(second, "Right", " end"));
    const { events, outcome, text } = await run({ targets: targetsOf(format, second), onMidStreamFailure: "retract" });
    expect(text).toBe("Right end");
    expect(outcome).toMatchObject({
      outcome: "completed",
      finalText: "Right end",
      provenance: { fallbackOccurred: true },
    });
    const shown = events.filter(({ type }) => type.startsWith("content"));
    expect(shown.map(({ type, payload }) => [type, payload["text"]])).toEqual([
      ["content_delta", "Wrong "],
      ["content_delta", "start"],
      ["content_snapshot", ""],
      ["content_delta", "Right"],
      ["content_delta", " end"],
    ]);
    const at = events.findIndex(({ type }) => type === "content_snapshot");
    expect(events[at - 1]?.payload).toMatchObject({ attempt: 0, phase: "failed", failureClass: "truncated" });
    expect(events[at + 1]?.payload).toMatchObject({ attempt: 1, phase: "started" });
  },
);

test("R-FALL-6 reasoning is withdrawn too, and the last target's failure leaves nothing shown", async () => {
  const begun = openAiChat({ reasoning: ["Hm, "], deltas: ["so"], finishReason: null, done: false });
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, begun));
  provider.on(pathOf(anthropic, "b"), answerScript(anthropic.refusal(529, "no")));
  const { events, outcome } = await run({ onMidStreamFailure: "retract" });
  expect(events.find(({ type }) => type === "content_snapshot")?.payload).toEqual({ text: "", reasoning: "" });
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "",
    error: { errorClass: "Unavailable", retryable: true },
  });
});

test("R-FALL-6 nothing is withdrawn for a failure that does not fall back", async () => {
  const filtered = openAiError(400, "invalid_request_error", "context_length_exceeded").body;
  const events = [...openAi.part(["kept"]), `data: ${filtered}\n\n`];
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, events));
  const { outcome, text } = await run({ onMidStreamFailure: "retract" });
  expect(text).toBe("kept");
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "kept",
    error: { details: { failureClass: "context_length" } },
  });
  expect(provider.calls(pathOf(anthropic, "b"))).toHaveLength(0);
});

test("R-FALL-6 R-CANCEL-4 a tool call in pieces is void after a retraction: the next target's is the only one", async () => {
  const piece = { index: 0, id: "call_1", type: "function", function: { name: "look", arguments: '{"at":' } };
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, [openAiDelta({ tool_calls: [piece] })]));
  provider.on(
    pathOf(anthropic, "b"),
    streamScript(
      ANTHROPIC_STREAM_TYPE,
      anthropicMessages({ blocks: [{ type: "tool_use", id: "toolu_2", name: "look", partialJson: ['{"at":"sea"}'] }] }),
    ),
  );
  const { events, outcome } = await run({
    onMidStreamFailure: "retract",
    tools: [{ name: "look", parameters: { type: "object" } }],
  });
  const called = events.filter(({ type }) => type === "tool_call").map(({ payload }) => payload["toolCallId"]);
  expect(called).toEqual(["toolu_2"]);
  expect(outcome).toMatchObject({ stopReason: "tool_calls", pending: [{ toolCallId: "toolu_2", toolName: "look" }] });
});

test.each([
  [401, "auth", "AuthError", false],
  [402, "quota", "RateLimited", false],
  [403, "permission", "AuthError", false],
  [404, "model_not_found", "CapabilityMismatch", false],
  [408, "timeout_headers", "Timeout", true],
  [409, "overloaded", "Unavailable", true],
  [429, "rate_limited", "RateLimited", true],
  [498, "overloaded", "Unavailable", true],
  [502, "upstream_5xx", "Unavailable", true],
  [503, "overloaded", "Unavailable", true],
  [504, "upstream_5xx", "Unavailable", true],
])("R-FALL-9 HTTP %i is %s: %s, retryable %s", async (status, failureClass, errorClass, retryable) => {
  provider.on(pathOf(openAi), answerScript(openAi.refusal(status, "no")));
  const { events, outcome } = await run({ targets: ["openai-a"] });
  const failed = events.find(({ payload }) => payload["phase"] === "failed");
  expect(failed?.payload).toMatchObject({ failureClass, errorClass, httpStatus: status });
  expect(outcome).toMatchObject({
    error: { retryable, details: { failureClass, attempts: [{ failureClass, errorClass }] } },
  });
});

test("R-FALL-10 the usage of a failed attempt counts", async () => {
  const begun = anthropicMessages({
    deltas: ["a"],
    stopReason: null,
    stop: false,
    usage: { input_tokens: 30, output_tokens: 9 },
  });
  provider.on(pathOf(anthropic), streamScript(ANTHROPIC_STREAM_TYPE, begun));
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  provider.on(pathOf(openAi, "b"), streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["b"], usage })));
  const { events, outcome } = await run({ targets: ["anthropic-a", "openai-b"], onMidStreamFailure: "retract" });
  const reports = events.filter(({ type }) => type === "usage").map(({ payload }) => payload);
  expect(reports).toMatchObject([
    { attempt: 0, inputTokens: 30, outputTokens: 1 },
    { attempt: 1, inputTokens: 100, outputTokens: 20, totalTokens: 120 },
  ]);
  // The first attempt reported no total: a sum without it would be none.
  expect(outcome["usage"]).toEqual({ inputTokens: 130, outputTokens: 21 });
});
