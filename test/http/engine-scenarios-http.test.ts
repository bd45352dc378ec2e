// IndeRun's engine scenarios, as far as HTTP can express them, against the running Worker. As its conformance rules say, only
// content and terminal events are compared, renumbered from 0.
//
// Not expressible here, each for its reason:
// - snapshot_replaces_cumulative_text: no shipped wire format sends snapshots.
// - cancel_before_first_attempt_forecloses_every_provider: the start's answer comes after the first attempt began.
// - no_streaming_capable_provider_rejects_with_run_id, declared_streaming_without_implementation_rejected,
//   dynamic_capability_revocation_rejected_with_reason, routing_rejection_carries_failure_code_and_reason_codes: every
//   configured target streams; there is no run-only, declared-only or revoked one.
// - offline_host_with_cloud_stream_provider_reports_offline,
//   offline_host_with_local_stream_provider_reports_capability_mismatch: a server is not offline.
// - run_and_stream_resolve_different_chains: there is no run() beside stream().
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, startBody, type WireEvent } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { anthropicMessages } from "../support/provider-bytes/anthropic-messages.ts";
import { jsonLine } from "../support/provider-bytes/framing.ts";
import { ollamaLine } from "../support/provider-bytes/ollama.ts";
import { openAiChat, openAiDelta, openAiErrorEvent } from "../support/provider-bytes/openai-chat.ts";
import { answerScript, streamScript, type StreamOptions } from "../support/provider-bytes/scripts.ts";
import { follow, isDelta } from "../support/run-reader.ts";
import {
  anthropic,
  formats,
  ollama,
  openAi,
  pathOf,
  scriptedConfig,
  type ScriptedFormat,
} from "../support/scripted-targets.ts";

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  server = await startBare({ config: scriptedConfig(provider.origin) });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

const runs = () => `${server.origin}/v1/runs`;
const first = pathOf(openAi);
const second = pathOf(anthropic, "b");
const stream = (format: ScriptedFormat, events: readonly string[], options: StreamOptions = {}): Script =>
  streamScript(format.contentType, events, options);
const rateLimited = () => answerScript(openAi.refusal(429, "scripted"));
const recovered = () => stream(anthropic, anthropic.whole(["recovered"]));
/** One delta, then silence until the provider's side is closed. */
const oneThenBlocked = () => stream(openAi, openAi.part(["one"]), { end: "hang" });

/** What the scenarios compare. */
function compared(events: readonly WireEvent[]) {
  const kept = events.filter(({ type }) => type.startsWith("content_") || type === "terminal");
  return {
    types: kept.map(({ type }) => type),
    texts: kept.filter(({ type }) => type !== "terminal").map(({ payload }) => payload["text"]),
    terminal: kept.at(-1)?.payload ?? {},
    terminals: kept.filter(({ type }) => type === "terminal").length,
  };
}

async function run(fields: Record<string, unknown> = {}) {
  const response = await post(runs(), startBody(fields), { accept: "text/event-stream" });
  const events = eventsOf(await response.text());
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  return { ...compared(events), events, runId: events[0]?.runId ?? "" };
}

/** Starts, waits for the first delta, cancels, reads to the end. */
async function cancelOnFirst(reason?: string) {
  const reader = await follow(runs(), { body: startBody() });
  await reader.until(isDelta("one"));
  await post(`${runs()}/${reader.runId}/cancel`, reason === undefined ? {} : { reason });
  return { ...compared(await reader.rest()), runId: reader.runId };
}

interface TelemetryLine {
  type: string;
  runId: string;
  payload: Record<string, unknown>;
}

/** The run's telemetry lines, once a line of this type is there: the log may lag behind the answer. */
async function telemetry(runId: string, last: string): Promise<TelemetryLine[]> {
  const lines = () =>
    server
      .log()
      .split("\n")
      .filter((line) => line.startsWith("{") && line.includes(runId))
      .map((line): TelemetryLine => JSON.parse(line));
  await expect.poll(() => lines().map(({ type }) => type), { timeout: 5000 }).toContain(last);
  return lines();
}

test.each(formats)("R-LOG-1 R-LOG-2 deltas_then_completed ($name)", async (format) => {
  provider.on(pathOf(format), stream(format, format.whole(["Hello", " world"])));
  const { types, texts, terminal } = await run({ targets: [`${format.name}-a`] });
  expect(types).toEqual(["content_delta", "content_delta", "terminal"]);
  expect(texts).toEqual(["Hello", " world"]);
  expect(terminal).toMatchObject({ outcome: "completed", finalText: "Hello world" });
});

test("R-OUT-4 completed_carries_finish_reason_and_usage", async () => {
  const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 };
  provider.on(first, stream(openAi, openAiChat({ deltas: ["trunc"], finishReason: "length", usage })));
  const { terminal, terminals } = await run();
  expect(terminals).toBe(1);
  expect(terminal).toMatchObject({
    outcome: "completed",
    finalText: "trunc",
    finishReason: "length",
    usage: { inputTokens: 2, outputTokens: 1, totalTokens: 3 },
  });
});

test("R-OUT-4 completed_omits_finish_reason_when_absent", async () => {
  const end = jsonLine({ model: "test-model", message: { role: "assistant", content: "" }, done: true });
  provider.on(pathOf(ollama), stream(ollama, [ollamaLine({ content: "a" }), end]));
  const { terminal } = await run({ targets: ["ollama-a"] });
  expect(terminal).toMatchObject({ outcome: "completed", finalText: "a" });
  expect(terminal).not.toHaveProperty("finishReason");
  expect(terminal).not.toHaveProperty("usage");
});

test("R-START-1 handle_started_at_is_unix_epoch_millis", async () => {
  provider.on(first, stream(openAi, openAi.whole(["a"])));
  const before = Date.now();
  const handle: Record<string, unknown> = await (await post(runs(), startBody())).json();
  const after = Date.now();
  expect(handle["startedAt"]).toBeGreaterThanOrEqual(before);
  expect(handle["startedAt"]).toBeLessThanOrEqual(after);
});

test("R-FALL-5 terminal_error_carries_error_class", async () => {
  const events = [...openAi.part(["partial "]), openAiErrorEvent("rate_limit_error", "rate_limit_exceeded")];
  provider.on(first, stream(openAi, events));
  const { types, terminal } = await run({ targets: ["openai-a"] });
  expect(types).toEqual(["content_delta", "terminal"]);
  expect(terminal).toMatchObject({ outcome: "error", partialText: "partial ", error: { errorClass: "RateLimited" } });
});

test("R-FALL-4 all_providers_fail_pre_commit_yields_single_error", async () => {
  provider.on(first, rateLimited());
  provider.on(second, answerScript(anthropic.refusal(500, "scripted")));
  const { types, terminal } = await run();
  expect(types).toEqual(["terminal"]);
  expect(terminal).toMatchObject({ outcome: "error", partialText: "", error: { errorClass: "Unavailable" } });
  expect([provider.calls(first).length, provider.calls(second).length]).toEqual([1, 1]);
});

test("R-CANCEL-1 cancelled_carries_partial_text_and_reason", async () => {
  provider.on(first, oneThenBlocked());
  const { types, terminal } = await cancelOnFirst("user stopped");
  expect(types).toEqual(["content_delta", "terminal"]);
  expect(terminal).toMatchObject({ outcome: "cancelled", partialText: "one", reason: "user stopped" });
});

test.each<[string, ScriptedFormat, readonly string[]]>([
  ["openai", openAi, [...openAi.whole(["a"]), openAiDelta({ content: "b" })]],
  ["anthropic", anthropic, [...anthropic.whole(["a"]), ...anthropic.part(["b"])]],
  ["ollama", ollama, [...ollama.whole(["a"]), ollamaLine({ content: "b" })]],
])("R-LOG-2 R-FALL-7 no_events_are_delivered_after_the_terminal (%s)", async (_name, format, events) => {
  provider.on(pathOf(format), stream(format, events));
  const { types, terminal, runId } = await run({ targets: [`${format.name}-a`] });
  expect(types).toEqual(["content_delta", "terminal"]);
  expect(terminal).toMatchObject({ outcome: "completed", finalText: "a" });
  expect(await (await follow(`${runs()}/${runId}/events?from=now`)).rest()).toHaveLength(1);
});

test("R-CANCEL-1 R-FALL-7 cancel_during_emit_stops_further_deltas", async () => {
  const events = openAi.whole(["one", " two"]);
  provider.on(first, stream(openAi, events, { gateBefore: { index: 2, name: "more" } }));
  const { types, terminal } = await cancelOnFirst();
  provider.open("more");
  expect(types).toEqual(["content_delta", "terminal"]);
  expect(terminal).toMatchObject({ outcome: "cancelled", partialText: "one" });
});

test("R-CANCEL-1 cancel_after_terminal_is_a_no_op", async () => {
  provider.on(first, stream(openAi, openAi.whole(["done"])));
  const { types, terminal, runId, events } = await run();
  await post(`${runs()}/${runId}/cancel`, { reason: "too late" });
  expect(types).toEqual(["content_delta", "terminal"]);
  expect(terminal).toMatchObject({ outcome: "completed", finalText: "done" });
  expect(await (await follow(`${runs()}/${runId}/events`)).rest()).toEqual(events);
});

test("R-CANCEL-1 concurrent_cancels_yield_one_outcome_first_reason_wins", async () => {
  provider.on(first, oneThenBlocked());
  const reader = await follow(runs(), { body: startBody() });
  await reader.until(isDelta("one"));
  const url = `${runs()}/${reader.runId}/cancel`;
  const answers = await Promise.all(
    ["first", "second"].map(async (reason) => {
      const outcome: Record<string, unknown> = await (await post(url, { reason })).json();
      return outcome;
    }),
  );
  const { terminal, terminals } = compared(await reader.rest());
  expect(terminals).toBe(1);
  expect(answers).toEqual([terminal, terminal]);
  // Which of two concurrent requests arrives first is the network's choice; that one's reason stands.
  expect(["first", "second"]).toContain(terminal["reason"]);
});

test("R-CANCEL-3 cancel_during_pre_commit_attempt_forecloses_next_route", async () => {
  provider.on(first, [{ step: "gate", name: "throw" }, ...rateLimited()]);
  provider.on(second, recovered());
  const reader = await follow(runs(), { body: startBody() });
  await provider.waitForCall(first);
  await post(`${runs()}/${reader.runId}/cancel`, {});
  provider.open("throw");
  expect(compared(await reader.rest())).toMatchObject({ terminals: 1, terminal: { outcome: "cancelled" } });
  expect([provider.calls(first).length, provider.calls(second).length]).toEqual([1, 0]);
});

test("R-CANCEL-2 cancel_unblocks_a_provider_waiting_for_output", async () => {
  provider.on(first, oneThenBlocked());
  const { types, terminal } = await cancelOnFirst();
  expect(types).toEqual(["content_delta", "terminal"]);
  expect(terminal).toMatchObject({ outcome: "cancelled", partialText: "one" });
  expect((await provider.calls(first)[0]?.closed)?.how).not.toBe("local");
});

test("R-START-8 privacy_constraint_enforced_on_stream_routes", async () => {
  const answer = await post(runs(), startBody({ targets: ["openai-a"], constraints: { privacy: "local_required" } }));
  expect(answer.status).toBe(422);
  expect(await answer.json()).toMatchObject({
    errorClass: "CapabilityMismatch",
    details: {
      failureCode: "capability_mismatch",
      rejectedProviders: [{ providerId: "openai-a", reasons: [{ code: "privacy_constraint" }] }],
    },
  });
  expect(provider.calls()).toHaveLength(0);
});

test("R-FALL-2 pre_commit_failure_falls_back", async () => {
  provider.on(first, [{ step: "rst" }]);
  provider.on(second, recovered());
  const { terminal, terminals } = await run();
  expect(terminals).toBe(1);
  expect(terminal).toMatchObject({ outcome: "completed", finalText: "recovered" });
  expect([provider.calls(first).length, provider.calls(second).length]).toEqual([1, 1]);
});

test("R-FALL-5 post_commit_failure_never_falls_back", async () => {
  provider.on(first, stream(openAi, openAi.part(["partial "]), { end: "rst" }));
  provider.on(second, recovered());
  const { types, terminal } = await run();
  expect(types).toEqual(["content_delta", "terminal"]);
  expect(terminal).toMatchObject({ outcome: "error", partialText: "partial " });
  expect(provider.calls(second)).toHaveLength(0);
});

test.each(formats)("R-PROV-1 stream_ending_without_terminal_is_a_provider_fault ($name)", async (format) => {
  provider.on(pathOf(format), stream(format, format.part(["a"])));
  const { types, terminal } = await run({ targets: [`${format.name}-a`] });
  expect(types).toEqual(["content_delta", "terminal"]);
  expect(terminal).toMatchObject({
    outcome: "error",
    partialText: "a",
    error: { errorClass: "Internal", message: `Provider '${format.name}-a' stream ended without a terminal event.` },
  });
});

test("R-PROV-3 provider_emitted_failure_behaves_like_a_throw", async () => {
  provider.on(first, stream(openAi, [openAiErrorEvent("rate_limit_error", "rate_limit_exceeded")]));
  provider.on(second, recovered());
  const { terminal, terminals } = await run();
  expect(terminals).toBe(1);
  expect(terminal).toMatchObject({ outcome: "completed", finalText: "recovered" });
  expect([provider.calls(first).length, provider.calls(second).length]).toEqual([1, 1]);
});

test.each<[string, ScriptedFormat, readonly string[]]>([
  ["openai", openAi, [...openAi.whole(["first"]), ...openAi.whole(["second"])]],
  ["anthropic", anthropic, [...anthropic.whole(["first"]), ...anthropicMessages({ deltas: ["second"], id: "msg_2" })]],
  ["ollama", ollama, [...ollama.whole(["first"]), ...ollama.whole(["second"])]],
])("R-LOG-2 duplicate_terminal_suppressed (%s)", async (_name, format, events) => {
  provider.on(pathOf(format), stream(format, events));
  const { terminal, terminals } = await run({ targets: [`${format.name}-a`] });
  expect(terminals).toBe(1);
  expect(terminal).toMatchObject({ outcome: "completed", finalText: "first" });
});

test("R-FALL-6 R-FALL-8 empty_snapshot_retracts_delivered_content", async () => {
  // Holdfast's own retraction stands for a provider's: the next target then refuses the content.
  provider.on(first, stream(openAi, openAi.part(["rejected text"])));
  provider.on(second, stream(anthropic, anthropicMessages({ stopReason: "refusal" })));
  const { types, texts, terminal } = await run({ onMidStreamFailure: "retract" });
  expect(types).toEqual(["content_delta", "content_snapshot", "terminal"]);
  expect(texts).toEqual(["rejected text", ""]);
  expect(terminal).toMatchObject({ outcome: "error", partialText: "", error: { errorClass: "CapabilityMismatch" } });
});

test("R-DESC-2 telemetry_sequence_for_a_normal_completion", async () => {
  provider.on(first, stream(openAi, openAi.whole(["Hello"])));
  const { runId } = await run();
  expect((await telemetry(runId, "stream_completed")).map(({ type }) => type)).toEqual([
    "route_decided",
    "stream_attempt_started",
    "stream_attempt_succeeded",
    "stream_completed",
  ]);
});

test("R-DESC-2 stream_cancelled_telemetry_carries_no_raw_error_detail", async () => {
  provider.on(first, oneThenBlocked());
  const { runId } = await cancelOnFirst("secret user text");
  for (const { payload } of await telemetry(runId, "stream_cancelled")) {
    for (const key of ["message", "error", "errorClass", "reason", "partialText", "finalText"]) {
      expect(payload).not.toHaveProperty(key);
    }
    expect(Object.values(payload)).not.toContain("one");
    expect(JSON.stringify(payload)).not.toContain("secret user text");
  }
});

test("R-DESC-2 R-PROV-9 stream_failed_telemetry_carries_a_stable_message", async () => {
  const events = [
    ...openAi.part(["partial "]),
    openAiErrorEvent("server_error", null, { message: "upstream said: sk-secret leaked" }),
  ];
  provider.on(first, stream(openAi, events));
  const { runId } = await run();
  const lines = await telemetry(runId, "stream_failed");
  const failed = lines.find(({ type }) => type === "stream_failed");
  expect(failed?.payload).toMatchObject({ errorClass: "Unavailable", message: "Provider is unavailable." });
  expect(JSON.stringify(lines)).not.toContain("sk-secret");
  expect(JSON.stringify(lines)).not.toContain("partial ");
});

test("R-LOG-5 events_are_single_use: one response is read once; unlike IndeRun's engine, asking again replays the same", async () => {
  provider.on(first, stream(openAi, openAi.whole(["a"])));
  const response = await post(runs(), startBody(), { accept: "text/event-stream" });
  const body = await response.text();
  await expect(response.text()).rejects.toThrow(TypeError);
  const again = await fetch(`${runs()}/${response.headers.get("x-run-id")}/events`);
  expect(await again.text()).toBe(body);
  expect(provider.calls(first)).toHaveLength(1);
});
