// Cancel over real sockets: what the client gets, and when the provider sees its connection close. The provider runs in this
// process, so both moments are on one clock.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { post, shownText, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider, type ProviderCall } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { anthropicMessages, ANTHROPIC_STREAM_TYPE } from "../support/provider-bytes/anthropic-messages.ts";
import { openAiDelta, openAiErrorEvent, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { follow, isDelta, type RunReader } from "../support/run-reader.ts";
import {
  anthropic,
  formats,
  openAi,
  pathOf,
  scriptedConfig,
  type ScriptedFormat,
} from "../support/scripted-targets.ts";

const CLOSE_MS = 250;

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

const start = (fields: Record<string, unknown> = {}): Promise<RunReader> =>
  follow(`${server.origin}/v1/runs`, { body: startBody(fields) });

async function cancel(
  runId: string,
  body: unknown = {},
): Promise<{ answer: Response; outcome: Record<string, unknown>; at: number }> {
  const answer = await post(`${server.origin}/v1/runs/${runId}/cancel`, body);
  const at = performance.now();
  const outcome: Record<string, unknown> = await answer.json();
  return { answer, outcome, at };
}

/** Milliseconds from the cancel's answer to the close that the provider saw; negative when the close came first. */
async function closedAfter(call: ProviderCall, at: number): Promise<number> {
  const closing = await call.closed;
  expect(closing.how).not.toBe("local");
  return closing.at - at;
}

const forever = Array.from({ length: 2000 }, (_, index) => `word${index} `);

interface Phase {
  name: string;
  script(format: ScriptedFormat): Script;
  /** Waits until the run is in the phase. */
  reached(reader: RunReader): Promise<unknown>;
}
const phases: readonly Phase[] = [
  { name: "before headers", script: () => [{ step: "hang" }], reached: () => Promise.resolve() },
  {
    name: "silent after headers",
    script: ({ contentType }) => streamScript(contentType, [], { gateAtEnd: "headers", end: "hang" }),
    reached: () => provider.reached("headers"),
  },
  {
    name: "silent after content",
    script: ({ contentType, part }) => streamScript(contentType, part(["one ", "two"]), { end: "hang" }),
    reached: (reader) => reader.until(isDelta("two")),
  },
  {
    name: "streaming",
    script: ({ contentType, part }) => streamScript(contentType, part(forever), { delayMs: 2 }),
    reached: (reader) => reader.until(isDelta("word9 ")),
  },
];

test.each(formats.flatMap((format) => phases.map((phase) => ({ format, phase, name: phase.name }))))(
  "R-CANCEL-1 R-CANCEL-2 $format.name $name: cancelled with the exact text, the socket closed in time",
  async ({ format, phase }) => {
    provider.on(pathOf(format), phase.script(format));
    const reader = await start({ targets: [`${format.name}-a`, "openai-b"] });
    const call = await provider.waitForCall(pathOf(format));
    await phase.reached(reader);
    provider.open("headers");
    const { answer, outcome, at } = await cancel(reader.runId, { reason: "enough" });
    expect(answer.status).toBe(200);
    expect(await closedAfter(call, at)).toBeLessThanOrEqual(CLOSE_MS);
    const events = await reader.rest();
    expect(events.at(-1)).toMatchObject({ type: "terminal", payload: outcome });
    expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
    expect(outcome).toMatchObject({
      outcome: "cancelled",
      reason: "enough",
      partialText: shownText(events),
      provenance: { attempts: [{ targetId: `${format.name}-a`, status: "cancelled" }] },
    });
    expect(forever.join("").startsWith(shownText(events)) || shownText(events) === "one two").toBe(true);
    expect(provider.calls(pathOf(openAi, "b"))).toHaveLength(0);
  },
);

test("R-CANCEL-2 twenty cancels in a row, five in each phase: none keeps the socket open longer", async () => {
  const delays: number[] = [];
  for (let round = 0; round < 20; round++) {
    provider.reset();
    const phase = phases[round % phases.length];
    if (phase === undefined) throw new Error("no phase");
    provider.on(pathOf(openAi), phase.script(openAi));
    const reader = await start();
    const call = await provider.waitForCall(pathOf(openAi));
    await phase.reached(reader);
    provider.open("headers");
    const { at } = await cancel(reader.runId);
    delays.push(await closedAfter(call, at));
    await reader.rest();
  }
  const worst = Math.max(...delays);
  console.log(`cancel to closed provider socket, worst of ${delays.length}: ${worst.toFixed(1)} ms`);
  expect(worst).toBeLessThanOrEqual(CLOSE_MS);
});

test("R-CANCEL-1 the first reason wins, and a second cancel gets the same bytes", async () => {
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, openAi.part(["one"]), { end: "hang" }));
  const reader = await start();
  await reader.until(isDelta("one"));
  const url = `${server.origin}/v1/runs/${reader.runId}`;
  const first = await (await post(`${url}/cancel`, { reason: "first" })).text();
  const second = await (await post(`${url}/cancel`, { reason: "second" })).text();
  expect(second).toBe(first);
  expect(JSON.parse(first)).toMatchObject({ outcome: "cancelled", reason: "first", partialText: "one" });
  expect(await (await fetch(`${url}/outcome`)).text()).toBe(first);
  expect(await (await fetch(url)).json()).toMatchObject({ status: "cancelled" });
});

test("R-CANCEL-1 ten cancels at once give one outcome", async () => {
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, openAi.part(["one"]), { end: "hang" }));
  const reader = await start();
  await reader.until(isDelta("one"));
  const url = `${server.origin}/v1/runs/${reader.runId}/cancel`;
  const answers = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => (await post(url, { reason: `r${index}` })).text()),
  );
  expect(new Set(answers).size).toBe(1);
  expect((await reader.rest()).filter(({ type }) => type === "terminal")).toHaveLength(1);
});

test("R-CANCEL-1 a cancel without a reason leaves it out, and may have no body at all", async () => {
  provider.on(pathOf(openAi), [{ step: "hang" }]);
  const reader = await start();
  const answer = await fetch(`${server.origin}/v1/runs/${reader.runId}/cancel`, { method: "POST" });
  expect(answer.status).toBe(200);
  const outcome: Record<string, unknown> = await answer.json();
  expect(outcome).toMatchObject({ outcome: "cancelled", partialText: "" });
  expect(outcome).not.toHaveProperty("reason");
});

test("R-CANCEL-1 a cancel of a finished run changes nothing", async () => {
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, openAi.whole(["done"])));
  const reader = await start();
  const events = await reader.rest();
  const { answer, outcome } = await cancel(reader.runId, { reason: "late" });
  expect(answer.status).toBe(200);
  expect(outcome).toEqual(events.at(-1)?.payload);
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "done" });
  const again = await follow(`${server.origin}/v1/runs/${reader.runId}/events`);
  expect(await again.rest()).toEqual(events);
});

test("R-CANCEL-1 an unknown run cannot be cancelled", async () => {
  const { answer, outcome } = await cancel("never-started");
  expect(answer.status).toBe(404);
  expect(outcome).toMatchObject({ details: { code: "not_found" } });
});

test("R-CANCEL-3 a cancel before the first target has failed calls no other", async () => {
  provider.on(pathOf(openAi), [{ step: "gate", name: "fail" }, ...answerScript(openAi.refusal(500, "no"))]);
  const reader = await start();
  await provider.waitForCall(pathOf(openAi));
  const { outcome } = await cancel(reader.runId, { reason: "stop" });
  provider.open("fail");
  expect(outcome).toMatchObject({ outcome: "cancelled", provenance: { attemptedProviderIds: ["openai-a"] } });
  await reader.rest();
  expect(provider.calls(pathOf(anthropic, "b"))).toHaveLength(0);
});

test("R-CANCEL-3 a cancel during the fallback's attempt is a cancel, not an error", async () => {
  provider.on(pathOf(openAi), answerScript(openAi.refusal(500, "no")));
  provider.on(pathOf(anthropic, "b"), [{ step: "hang" }]);
  const reader = await start();
  const call = await provider.waitForCall(pathOf(anthropic, "b"));
  const { outcome, at } = await cancel(reader.runId);
  expect(await closedAfter(call, at)).toBeLessThanOrEqual(CLOSE_MS);
  const events = await reader.rest();
  expect(outcome).toMatchObject({
    outcome: "cancelled",
    partialText: "",
    provenance: { attempts: [{ status: "failed", failureClass: "upstream_5xx" }, { status: "cancelled" }] },
  });
  expect(events.filter(({ payload }) => payload["phase"] === "failed")).toHaveLength(1);
});

test("R-CANCEL-3 a cancel that races the provider's failure has one end and no further call", async () => {
  for (let round = 0; round < 10; round++) {
    provider.reset();
    const gate = { index: 2, name: "cut" };
    provider.on(
      pathOf(openAi),
      streamScript(OPENAI_STREAM_TYPE, openAi.part(["one"]), { gateBefore: gate, end: "rst" }),
    );
    provider.on(pathOf(anthropic, "b"), streamScript(ANTHROPIC_STREAM_TYPE, anthropic.whole(["never"])));
    const reader = await start();
    await reader.until(isDelta("one"));
    const cancelling = cancel(reader.runId);
    provider.open("cut");
    const { outcome } = await cancelling;
    const events = await reader.rest();
    expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
    expect(events.at(-1)?.payload).toEqual(outcome);
    expect(outcome).toMatchObject({ partialText: "one" });
    expect(["cancelled", "error"]).toContain(outcome["outcome"]);
    expect(provider.calls(pathOf(anthropic, "b"))).toHaveLength(0);
  }
});

const tools = [{ name: "look", parameters: { type: "object" } }];
const piece = (input: string) =>
  openAiDelta({
    tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: input } }],
  });

test("R-CANCEL-4 a cancel in the middle of a tool call leaves no tool_call", async () => {
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, [piece('{"at":'), piece('"sea"}')], { end: "hang" }));
  const reader = await start({ tools });
  await reader.until(({ type, payload }) => type === "tool_call_delta" && payload["inputText"] === '"sea"}');
  const { outcome } = await cancel(reader.runId);
  const events = await reader.rest();
  expect(events.filter(({ type }) => type === "tool_call")).toEqual([]);
  expect(outcome).toMatchObject({ outcome: "cancelled" });
  expect(outcome).not.toHaveProperty("pending");
});

test("R-CANCEL-4 a failure in the middle of a tool call leaves no tool_call, and the call is output", async () => {
  const events = [piece('{"at":'), openAiErrorEvent("server_error", null)];
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, events));
  const reader = await start({ tools });
  const told = await reader.rest();
  expect(told.filter(({ type }) => type === "tool_call")).toEqual([]);
  expect(told.at(-1)?.payload).toMatchObject({ outcome: "error", error: { providerId: "openai-a" } });
  expect(provider.calls(pathOf(anthropic, "b"))).toHaveLength(0);
});

test("R-CANCEL-4 an Anthropic tool block that was closed counts only when the message ends", async () => {
  const whole = anthropicMessages({
    blocks: [{ type: "tool_use", id: "toolu_1", name: "look", partialJson: ['{"at":"sea"}'] }],
  });
  const closed = whole.slice(0, whole.findIndex((event) => event.includes("content_block_stop")) + 1);
  provider.on(pathOf(anthropic), streamScript(ANTHROPIC_STREAM_TYPE, closed, { gateAtEnd: "closed", end: "hang" }));
  const reader = await start({ targets: ["anthropic-a"], tools });
  await provider.reached("closed");
  await reader.until(({ type }) => type === "tool_call_delta");
  const { outcome } = await cancel(reader.runId);
  expect((await reader.rest()).filter(({ type }) => type === "tool_call")).toEqual([]);
  expect(outcome).toMatchObject({ outcome: "cancelled" });
});
