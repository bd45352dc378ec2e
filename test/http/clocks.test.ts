// The clocks of attempts and runs, each short and alone on its own target, so that its expiry can be nothing else. The tests
// run side by side: two of them take half a minute by nature.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventsOf, post, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import type { Script, Step } from "../support/fault-provider/script.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import {
  anthropicEvent,
  anthropicMessageStart,
  ANTHROPIC_STREAM_TYPE,
} from "../support/provider-bytes/anthropic-messages.ts";
import { sseComment } from "../support/provider-bytes/framing.ts";
import { OPENAI_STREAM_TYPE, openAiDelta } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { openAi } from "../support/scripted-targets.ts";

/** How late a clock may be noticed, on a busy machine. */
const SLACK_MS = 1500;

const clocks: Record<string, Record<string, number>> = {
  headers: { headersMs: 300 },
  first: { firstOutputMs: 400 },
  idle: { idleMs: 400 },
  progress: { progressMs: 500 },
  total: { totalMs: 700 },
  floor: { minBytesPerSecond: 1000 },
  plain: {},
};

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  const target = (id: string, fields: Record<string, unknown>) => ({
    id,
    adapter: "openai-chat",
    baseUrl: `${provider.origin}/${id}`,
    model: "configured-model",
    ...fields,
  });
  const targets = Object.entries(clocks).map(([id, own]) =>
    target(id, Object.keys(own).length === 0 ? {} : { clocks: own }),
  );
  const second = target("second", {});
  const pings = target("pings", { adapter: "anthropic-messages", clocks: clocks["progress"] });
  server = await startBare({
    config: { targets: [...targets, pings, second], routes: { default: ["plain"] }, breaker: { failures: 0 } },
  });
});
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

/** Scripts by the prompt of a run: by that, tests that share a target tell their calls apart. */
const scripts = new Map<string, Script>();
function answer(targetId: string, prompt: string, script: Script, suffix = "/chat/completions"): void {
  scripts.set(prompt, script);
  provider.on(`/${targetId}${suffix}`, ({ body }) => [...scripts].find(([word]) => body.includes(word))?.[1] ?? []);
}

const callOf = (prompt: string) => provider.calls().find(({ body }) => body.includes(prompt));

async function run(fields: Record<string, unknown>) {
  const started = performance.now();
  const response = await post(`${server.origin}/v1/runs`, startBody(fields), { accept: "text/event-stream" });
  const events = eventsOf(await response.text());
  return { events, outcome: events.at(-1)?.payload ?? {}, tookMs: performance.now() - started };
}

function expectTime(tookMs: number, clockMs: number): void {
  expect(tookMs).toBeGreaterThanOrEqual(clockMs - 20);
  expect(tookMs).toBeLessThan(clockMs + SLACK_MS);
}

const failedWith = (failureClass: string, errorClass = "Timeout") => ({
  outcome: "error",
  error: { retryable: true, details: { failureClass, attempts: [{ failureClass, errorClass }] } },
});

function* forever(head: readonly Step[], text: string, ms: number): Generator<Step> {
  yield* head;
  for (;;) {
    yield { step: "chunk", bytes: text };
    yield { step: "delay", ms };
  }
}
const head = (contentType = OPENAI_STREAM_TYPE): readonly Step[] =>
  streamScript(contentType, [], { end: "hang" }).slice(0, 1);

describe.concurrent("clocks", () => {
  test(
    "R-CLOCK-1 minBytesPerSecond: a stream that only trickles for 30 s is given up",
    { timeout: 60_000 },
    async () => {
      answer("floor", "p-floor", forever(head(), openAiDelta({ content: "." }), 1700));
      const { outcome, tookMs } = await run({ targets: ["floor"], prompt: "p-floor" });
      expectTime(tookMs, 30_000);
      expect(outcome).toMatchObject({
        outcome: "error",
        error: { errorClass: "Timeout", details: { failureClass: "timeout_progress" } },
      });
      expect(outcome).toMatchObject({ error: { details: { floor: expect.any(Number) } } });
    },
  );

  test(
    "R-READ-11 R-CLOCK-1 silence of 25 s with nobody attached and nobody asking loses no run",
    { timeout: 60_000 },
    async () => {
      const [first, ...rest] = streamScript(OPENAI_STREAM_TYPE, openAi.whole(["worth ", "waiting for"]));
      if (first === undefined) throw new Error("a script has a head");
      answer("plain", "p-patience", [first, { step: "delay", ms: 25_000 }, ...rest]);
      const started = await post(`${server.origin}/v1/runs`, startBody({ targets: ["plain"], prompt: "p-patience" }));
      expect(started.status).toBe(202);
      const runId = started.headers.get("x-run-id") ?? "";
      await expect.poll(() => callOf("p-patience")).toBeDefined();
      const call = callOf("p-patience");
      // Whether the server is still there for the last bytes of the framing, once it has seen `[DONE]`, is open.
      expect(await call?.answered).toMatch(/^(played|cut)$/);
      expect(performance.now() - (call?.at ?? 0)).toBeGreaterThanOrEqual(25_000 - 20);
      const answered = await fetch(`${server.origin}/v1/runs/${runId}/outcome?wait=5`);
      expect(await answered.json()).toMatchObject({ outcome: "completed", finalText: "worth waiting for" });
      expect(await (await fetch(`${server.origin}/v1/runs/${runId}`)).json()).toMatchObject({
        recoveries: 0,
        attempts: [{ status: "completed" }],
      });
      expect(provider.calls("/plain/chat/completions").filter(({ body }) => body.includes("p-patience"))).toHaveLength(
        1,
      );
    },
  );

  test("R-CLOCK-1 headersMs: no response headers", async () => {
    answer("headers", "p-headers", [{ step: "hang" }]);
    const { outcome, tookMs } = await run({ targets: ["headers"], prompt: "p-headers" });
    expect(outcome).toMatchObject(failedWith("timeout_headers"));
    expectTime(tookMs, 300);
    expect((await callOf("p-headers")?.closed)?.how).not.toBe("local");
  });

  test("R-CLOCK-1 firstOutputMs counts from the request and means output, not a role or a comment", async () => {
    answer(
      "first",
      "p-first",
      forever(
        [...head(), ...openAi.part([]).map((bytes) => ({ step: "chunk" as const, bytes }))],
        sseComment("busy"),
        50,
      ),
    );
    const { outcome, tookMs } = await run({ targets: ["first"], prompt: "p-first" });
    expect(outcome).toMatchObject(failedWith("timeout_ttft"));
    expectTime(tookMs, 400);
  });

  test("R-CLOCK-1 firstOutputMs no longer counts once there was output", async () => {
    // The first output at once, the rest when the clock would long have rung.
    const [opening, role, first, ...rest] = streamScript(OPENAI_STREAM_TYPE, openAi.whole(["a", "b", "c", "d"]));
    if (opening === undefined || role === undefined || first === undefined) throw new Error("a script has these");
    answer("first", "p-slow", [opening, role, first, { step: "delay", ms: 600 }, ...rest]);
    const { outcome } = await run({ targets: ["first"], prompt: "p-slow" });
    expect(outcome).toMatchObject({ outcome: "completed", finalText: "abcd" });
  });

  test("R-CLOCK-1 idleMs: no byte any more", async () => {
    answer("idle", "p-idle", streamScript(OPENAI_STREAM_TYPE, openAi.part(["half"]), { end: "hang" }));
    const { outcome, tookMs } = await run({ targets: ["idle", "second"], prompt: "p-idle" });
    expect(outcome).toMatchObject({ ...failedWith("timeout_idle"), partialText: "half" });
    expectTime(tookMs, 400);
    expect((await callOf("p-idle")?.closed)?.how).not.toBe("local");
  });

  test("R-CLOCK-1 idleMs is patient with anything that sends bytes in time", async () => {
    // Pauses far below the clock, together far above it.
    const comments = Array.from({ length: 6 }, (_, index) => sseComment(String(index)));
    const script = streamScript(OPENAI_STREAM_TYPE, [...comments, ...openAi.whole(["a", "b"])], { delayMs: 80 });
    answer("idle", "p-drip", script);
    expect((await run({ targets: ["idle"], prompt: "p-drip" })).outcome).toMatchObject({
      outcome: "completed",
      finalText: "ab",
    });
  });

  test("R-CLOCK-1 progressMs: comments after content are no progress", async () => {
    const started = [...head(), ...openAi.part(["half"]).map((bytes) => ({ step: "chunk" as const, bytes }))];
    answer("progress", "p-comments", forever(started, sseComment("keep-alive"), 50));
    const { outcome, tookMs } = await run({ targets: ["progress"], prompt: "p-comments" });
    expect(outcome).toMatchObject({ ...failedWith("timeout_progress"), partialText: "half" });
    expectTime(tookMs, 500);
  });

  test("R-CLOCK-1 progressMs: pings are no progress, and the next target is tried", async () => {
    const started = [...head(ANTHROPIC_STREAM_TYPE), { step: "chunk" as const, bytes: anthropicMessageStart() }];
    answer("pings", "p-pings", forever(started, anthropicEvent("ping"), 50), "/v1/messages");
    provider.on("/second/chat/completions", streamScript(OPENAI_STREAM_TYPE, openAi.whole(["fine"])));
    const { events, outcome } = await run({ targets: ["pings", "second"], prompt: "p-pings" });
    expect(outcome).toMatchObject({ outcome: "completed", finalText: "fine" });
    expect(events.find(({ payload }) => payload["phase"] === "failed")?.payload).toMatchObject({
      failureClass: "timeout_progress",
    });
  });

  test("R-CLOCK-2 totalMs ends a run that streams happily", async () => {
    answer("total", "p-total", forever(head(), openAiDelta({ content: "more " }), 50));
    const { outcome, tookMs } = await run({ targets: ["total"], prompt: "p-total" });
    expect(outcome).toMatchObject({
      outcome: "error",
      partialText: expect.stringMatching(/^(more )+$/),
      error: { errorClass: "Timeout", retryable: true, details: { failureClass: "timeout_total" } },
    });
    expectTime(tookMs, 700);
  });

  test("R-CLOCK-2 totalMs ends a run that nobody reads, and closes the provider's socket", async () => {
    answer("total", "p-alone", [{ step: "hang" }]);
    const started = await post(`${server.origin}/v1/runs`, startBody({ targets: ["total"], prompt: "p-alone" }));
    await expect.poll(() => callOf("p-alone")).toBeDefined();
    const call = callOf("p-alone");
    const closing = await call?.closed;
    expect(closing?.how).not.toBe("local");
    expect((closing?.at ?? 0) - (call?.at ?? 0)).toBeLessThan(700 + SLACK_MS);
    const outcome = await fetch(`${server.origin}/v1/runs/${started.headers.get("x-run-id")}/outcome?wait=2`);
    expect(outcome.status).toBe(200);
    expect(await outcome.json()).toMatchObject({
      error: { errorClass: "Timeout", details: { failureClass: "timeout_total" } },
    });
  });

  test("R-CLOCK-2 R-CLOCK-3 the total clock runs through the whole chain, and no further target is called after it", async () => {
    answer("headers", "p-chain", [{ step: "hang" }]);
    answer("first", "p-chain", [{ step: "hang" }]);
    const { outcome, tookMs } = await run({
      targets: ["headers", "first", "idle"],
      prompt: "p-chain",
      clocks: { totalMs: 500 },
    });
    expect(outcome).toMatchObject({ error: { errorClass: "Timeout", details: { failureClass: "timeout_total" } } });
    expect(outcome).toMatchObject({
      provenance: { attempts: [{ failureClass: "timeout_headers" }, { failureClass: "timeout_total" }] },
    });
    expectTime(tookMs, 500);
  });

  test.each([
    ["clocks.totalMs", { clocks: { totalMs: 300 } }, "timeout_total"],
    ["constraints.timeoutMs", { constraints: { timeoutMs: 300 } }, "timeout_total"],
    ["clocks.headersMs", { clocks: { headersMs: 300 } }, "timeout_headers"],
  ])("R-CLOCK-3 %s of a request shortens", async (name, fields, failureClass) => {
    const prompt = `p-short-${name}`;
    answer("plain", prompt, [{ step: "hang" }]);
    const { outcome, tookMs } = await run({ targets: ["plain"], prompt, ...fields });
    expect(outcome).toMatchObject({ error: { details: { failureClass } } });
    expectTime(tookMs, 300);
  });

  test.each([
    ["firstOutputMs", "timeout_ttft", openAi.part([])],
    ["idleMs", "timeout_idle", openAi.part(["x"])],
  ])("R-CLOCK-3 clocks.%s of a request shortens", async (name, failureClass, events) => {
    const prompt = `p-short-${name}`;
    answer("plain", prompt, streamScript(OPENAI_STREAM_TYPE, events, { end: "hang" }));
    const { outcome, tookMs } = await run({ targets: ["plain"], prompt, clocks: { [name]: 300 } });
    expect(outcome).toMatchObject({ error: { details: { failureClass } } });
    expectTime(tookMs, 300);
  });

  test("R-CLOCK-3 a request cannot lengthen a clock", async () => {
    answer("headers", "p-long", [{ step: "hang" }]);
    const { outcome, tookMs } = await run({
      targets: ["headers"],
      prompt: "p-long",
      clocks: { headersMs: 20_000, totalMs: 3_600_000 },
      constraints: { timeoutMs: 3_600_000 },
    });
    expect(outcome).toMatchObject(failedWith("timeout_headers"));
    expectTime(tookMs, 300);
  });
});
