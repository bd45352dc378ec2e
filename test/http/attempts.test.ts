// What follows a failed attempt, over real sockets and in real time: another try, a continuation, a hedge, a benched target, and a
// cancel in between. The provider runs in this process, so both ends are on one clock.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody, type WireEvent } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { OPENAI_STREAM_TYPE, openAiDelta } from "../support/provider-bytes/openai-chat.ts";
import { sseEvent } from "../support/provider-bytes/framing.ts";
import { answerScript, streamScript, type StreamOptions } from "../support/provider-bytes/scripts.ts";
import { follow } from "../support/run-reader.ts";
import { openAi } from "../support/scripted-targets.ts";

/** Pairs of targets `0a`, `0b`, `1a`, ...: what one test teaches the breaker is no business of the next. */
const PAIRS = 24;
const COOL_DOWN_MS = 1500;
const HEDGE_MS = 250;
/** More than a first output takes on any machine. */
const PATIENT_MS = 10_000;

let provider: FaultProvider;
let server: Holdfast;
let pair = -1;

beforeAll(async () => {
  provider = await startFaultProvider();
  const names = Array.from({ length: PAIRS }, (_, index) => [`${index}a`, `${index}b`]).flat();
  server = await startBare({
    config: {
      targets: names.map((id) => ({
        id,
        adapter: "openai-chat",
        baseUrl: `${provider.origin}/${id}`,
        model: "m",
        ...(id.endsWith("b") && { clocks: { idleMs: 400 } }),
      })),
      routes: {
        default: ["0a"],
        ...Object.fromEntries(
          Array.from({ length: PAIRS }, (_, index) => [
            `hedged-${index}`,
            { targets: [`${index}a`, `${index}b`], hedge: { afterMs: HEDGE_MS, budgetPercent: 100 } },
          ]),
        ),
        ...Object.fromEntries(
          Array.from({ length: PAIRS }, (_, index) => [
            `patient-${index}`,
            { targets: [`${index}a`, `${index}b`], hedge: { afterMs: PATIENT_MS, budgetPercent: 100 } },
          ]),
        ),
      },
      breaker: { failures: 3, coolDownMs: COOL_DOWN_MS },
      limits: { retryBudgetMs: 3000 },
    },
  });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

interface Pair {
  a: string;
  b: string;
  pathA: string;
  pathB: string;
  route: string;
  /** The same targets, and the second one joins late. */
  patient: string;
}

function nextPair(): Pair {
  pair++;
  expect(pair).toBeLessThan(PAIRS);
  const [a, b] = [`${pair}a`, `${pair}b`];
  const [pathA, pathB] = [`/${a}/chat/completions`, `/${b}/chat/completions`];
  return { a, b, pathA, pathB, route: `hedged-${pair}`, patient: `patient-${pair}` };
}

interface Told {
  events: WireEvent[];
  outcome: Record<string, unknown>;
  text: string;
}

async function run(fields: Record<string, unknown>): Promise<Told> {
  const response = await post(`${server.origin}/v1/runs`, startBody(fields), { accept: "text/event-stream" });
  const events = eventsOf(await response.text());
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
  return { events, outcome: events.at(-1)?.payload ?? {}, text: shownText(events) };
}

const whole = (...deltas: string[]): Script => streamScript(OPENAI_STREAM_TYPE, openAi.whole(deltas));
const part = (deltas: string[], options: StreamOptions = { end: "rst" }): Script =>
  streamScript(OPENAI_STREAM_TYPE, openAi.part(deltas), options);
const refusal = (status: number, headers: Record<string, string> = {}): Script =>
  answerScript(openAi.refusal(status, "no", headers));
/** Answers the first calls with the first scripts, and all later ones with the last. */
const inTurn = (...scripts: Script[]) => {
  let call = 0;
  return () => scripts[Math.min(call++, scripts.length - 1)] ?? [];
};

describe("retries", () => {
  test.each<[string, Script]>([
    ["503", refusal(503)],
    ["a page", answerScript({ status: 502, headers: { "content-type": "text/html" }, body: "<html>bad gateway" })],
    ["a reset before the headers", [{ step: "rst" }]],
    ["a reset after the headers", part([])],
  ])("R-RETRY-1 R-RETRY-2 after %s the only target is tried once more, after a moment", async (_what, script) => {
    const { a, pathA } = nextPair();
    provider.on(pathA, inTurn(script, whole("Well.")));
    const { outcome, text } = await run({ targets: [a] });
    expect(text).toBe("Well.");
    expect(outcome).toMatchObject({
      outcome: "completed",
      provenance: { fallbackOccurred: false, attempts: [{ status: "failed" }, { status: "completed" }] },
    });
    const [first, second] = provider.calls(pathA);
    const waited = (second?.at ?? 0) - (first?.at ?? 0);
    expect(waited).toBeGreaterThanOrEqual(250 - 5);
  });

  test("R-RETRY-2 the provider's own word is waited for", async () => {
    const { a, pathA } = nextPair();
    provider.on(pathA, inTurn(refusal(429, { "retry-after-ms": "700" }), whole("Well.")));
    expect((await run({ targets: [a] })).text).toBe("Well.");
    const [first, second] = provider.calls(pathA);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(700 - 5);
  });

  test("R-RETRY-2 a longer word than the budget ends the run at once and is passed on", async () => {
    const { a, pathA } = nextPair();
    provider.on(pathA, refusal(429, { "retry-after": "30" }));
    const { outcome } = await run({ targets: [a] });
    expect(outcome).toMatchObject({ outcome: "error", error: { retryable: true, retryAfterMs: 30_000 } });
    expect(provider.calls(pathA)).toHaveLength(1);
  });

  test("R-RETRY-1 R-FALL-3 a deterministic refusal surfaces unchanged after one call", async () => {
    const { a, pathA } = nextPair();
    provider.on(pathA, refusal(400));
    const { outcome } = await run({ targets: [a] });
    expect(outcome).toMatchObject({
      outcome: "error",
      error: {
        errorClass: "Internal",
        retryable: false,
        details: { failureClass: "invalid_request", httpStatus: 400 },
      },
    });
    expect(provider.calls(pathA)).toHaveLength(1);
  });

  test("R-RETRY-3 R-CANCEL-2 a cancel during the wait ends the run at once, and nothing is called again", async () => {
    const { a, pathA } = nextPair();
    provider.on(pathA, refusal(429, { "retry-after-ms": "2500" }));
    const reader = await follow(`${server.origin}/v1/runs`, { body: startBody({ targets: [a] }) });
    await reader.until(({ payload }) => payload["phase"] === "failed");
    const begun = performance.now();
    const answer = await post(`${server.origin}/v1/runs/${reader.runId}/cancel`, {});
    expect(await answer.json()).toMatchObject({ outcome: "cancelled", partialText: "" });
    expect(performance.now() - begun).toBeLessThan(2000);
    await reader.rest();
    expect(provider.calls(pathA)).toHaveLength(1);
  });
});

describe("continuation", () => {
  const prefillOf = (body: string): unknown => JSON.parse(body).messages.at(-1);

  test("R-CONT-1 R-CONT-2 the next target goes on from the text, and what it repeats is shown once", async () => {
    const { a, b, pathA, pathB } = nextPair();
    provider.on(pathA, part(["Once upon ", "a time"]));
    provider.on(pathB, whole("upon a", " time there was", " a king."));
    const { events, outcome, text } = await run({ targets: [a, b], onMidStreamFailure: "continue" });
    expect(text).toBe("Once upon a time there was a king.");
    expect(outcome).toMatchObject({ outcome: "completed", finalText: text });
    expect(events.filter(({ type }) => type === "content_snapshot")).toEqual([]);
    const [call] = provider.calls(pathB);
    expect(prefillOf(call?.body ?? "")).toMatchObject({ role: "assistant", content: "Once upon a time" });
  });

  test("R-CONT-1 R-CONT-2 an answer that the conversation has begun is gone on from as one text, and only what is new is shown", async () => {
    const { a, b, pathA, pathB } = nextPair();
    provider.on(pathA, part(["wor"]));
    provider.on(pathB, whole("Hello, big ", "world, all new"));
    const messages = [
      { role: "user", content: "Say it." },
      { role: "assistant", content: "Hello, big " },
    ];
    const { outcome, text } = await run({ targets: [a, b], onMidStreamFailure: "continue", messages });
    expect(text).toBe("world, all new");
    expect(outcome).toMatchObject({ outcome: "completed", finalText: text });
    const [call] = provider.calls(pathB);
    expect(prefillOf(call?.body ?? "")).toMatchObject({ role: "assistant", content: "Hello, big wor" });
  });

  test("R-CONT-4 R-CONT-5 a refused continuation is a retraction, and hides nothing of the first cause", async () => {
    const { a, b, pathA, pathB } = nextPair();
    provider.on(pathA, part(["Once"]));
    provider.on(pathB, inTurn(refusal(400), whole("Again.")));
    const told = await run({ targets: [a, b], onMidStreamFailure: "continue" });
    expect(told.text).toBe("Again.");
    const other = nextPair();
    provider.on(other.pathA, part(["Once"]));
    provider.on(other.pathB, refusal(400));
    const { outcome } = await run({ targets: [other.a, other.b], onMidStreamFailure: "continue" });
    expect(outcome).toMatchObject({
      outcome: "error",
      error: {
        errorClass: "Unavailable",
        details: {
          failureClass: "reset",
          attempts: [{ failureClass: "reset" }, {}, { failureClass: "invalid_request" }],
        },
      },
    });
  });

  test.each(["retract", "continue"])(
    "R-FALL-6 R-CONT-4 with %s a tool that counts its calls counts one, although two targets called it",
    async (onMidStreamFailure) => {
      const { a, b, pathA, pathB } = nextPair();
      const call = (id: string) => [{ index: 0, id, type: "function", function: { name: "charge", arguments: "{}" } }];
      const finished = sseEvent({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] });
      const events = (id: string) => [openAiDelta({ content: "So: " }), openAiDelta({ tool_calls: call(id) })];
      provider.on(pathA, streamScript(OPENAI_STREAM_TYPE, events("first"), { end: "rst" }));
      provider.on(pathB, streamScript(OPENAI_STREAM_TYPE, [...events("second"), finished, sseEvent("[DONE]")]));
      let charged = 0;
      const tools = [{ name: "charge", parameters: { type: "object" } }];
      const { events: told, outcome } = await run({ targets: [a, b], onMidStreamFailure, tools });
      for (const { type } of told) if (type === "tool_call") charged++;
      expect(charged).toBe(1);
      expect(outcome).toMatchObject({ stopReason: "tool_calls", pending: [{ toolCallId: "second" }] });
    },
  );
});

describe("hedging", () => {
  test("R-HEDGE-1 R-HEDGE-2 a second target joins a silent one, wins, and the silent one is closed within 50 ms", async () => {
    const { route, pathA, pathB, a, b } = nextPair();
    provider.on(pathA, streamScript(OPENAI_STREAM_TYPE, [], { end: "hang" }));
    provider.on(pathB, whole("Fast."));
    const begun = performance.now();
    const reader = await follow(`${server.origin}/v1/runs`, { body: startBody({ route }) });
    await reader.until(({ type }) => type === "content_delta");
    const shownAt = performance.now();
    expect(shownAt - begun).toBeGreaterThanOrEqual(HEDGE_MS - 5);
    const [slow] = provider.calls(pathA);
    const closing = await slow?.closed;
    expect(closing?.how).not.toBe("local");
    expect((closing?.at ?? Number.POSITIVE_INFINITY) - shownAt).toBeLessThanOrEqual(50);
    const events = await reader.rest();
    expect(shownText(events)).toBe("Fast.");
    expect(events.at(-1)?.payload).toMatchObject({
      provenance: {
        targetId: b,
        attempts: [
          { targetId: a, status: "superseded", usage: { estimated: true, outputTokens: 0 } },
          { targetId: b, status: "completed" },
        ],
      },
    });
  });

  test("R-HEDGE-1 a target that shows something in time is asked alone", async () => {
    const { patient, pathA, pathB } = nextPair();
    provider.on(pathA, whole("First."));
    expect((await run({ route: patient })).text).toBe("First.");
    expect(provider.calls(pathB)).toHaveLength(0);
  });

  test("R-CANCEL-2 R-HEDGE-2 a cancel closes both within 250 ms", async () => {
    const { route, pathA, pathB } = nextPair();
    for (const path of [pathA, pathB]) provider.on(path, streamScript(OPENAI_STREAM_TYPE, [], { end: "hang" }));
    const reader = await follow(`${server.origin}/v1/runs`, { body: startBody({ route }) });
    const calls = [await provider.waitForCall(pathA), await provider.waitForCall(pathB)];
    await post(`${server.origin}/v1/runs/${reader.runId}/cancel`, {});
    const at = performance.now();
    for (const { closed } of calls) expect((await closed).at - at).toBeLessThanOrEqual(250);
    await reader.rest();
  });
});

describe("the breaker", () => {
  test("R-BREAK-1 R-BREAK-2 a target that keeps failing is tried last, and first again when it has answered", async () => {
    const { a, b, pathA, pathB } = nextPair();
    provider.on(pathA, inTurn(refusal(503), refusal(503), refusal(503), whole("Back.")));
    provider.on(pathB, () => whole("Spare."));
    for (let count = 0; count < 3; count++) expect((await run({ targets: [a, b] })).text).toBe("Spare.");
    expect(provider.calls(pathA)).toHaveLength(3);
    const benched = await run({ targets: [a, b] });
    expect(benched.outcome).toMatchObject({ provenance: { targetId: b, fallbackOccurred: false } });
    expect(provider.calls(pathA)).toHaveLength(3);
    await expect.poll(async () => (await run({ targets: [a, b] })).text, { timeout: 10_000 }).toBe("Back.");
    expect((await run({ targets: [a, b] })).text).toBe("Back.");
  });

  test("R-BREAK-3 cancels and refused requests bench nobody", async () => {
    const { a, b, pathA, pathB } = nextPair();
    provider.on(pathB, () => whole("Spare."));
    for (let count = 0; count < 4; count++) {
      provider.on(pathA, () => refusal(400));
      await run({ targets: [a, b] });
      provider.on(pathA, () => streamScript(OPENAI_STREAM_TYPE, [], { end: "hang" }));
      const reader = await follow(`${server.origin}/v1/runs`, { body: startBody({ targets: [a, b] }) });
      await post(`${server.origin}/v1/runs/${reader.runId}/cancel`, {});
      await reader.rest();
    }
    provider.on(pathA, () => whole("First."));
    expect((await run({ targets: [a, b] })).text).toBe("First.");
  });

  test("R-BREAK-4 a run whose only target is benched tries it all the same", async () => {
    const { a, pathA } = nextPair();
    provider.on(pathA, inTurn(refusal(429, { "retry-after": "60" }), whole("Well.")));
    expect((await run({ targets: [a] })).outcome).toMatchObject({ outcome: "error" });
    expect((await run({ targets: [a] })).text).toBe("Well.");
  });
});
