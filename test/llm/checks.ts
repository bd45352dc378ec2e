// The checks of `npm run test:llm`: a real model's answers through the whole product, one line per check. Says at the end how
// many passed; it changes nothing and leaves no process behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { post, shownText, startBody, type WireEvent } from "../support/api.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { startHoldfast } from "../support/holdfast-server.ts";
import { follow } from "../support/run-reader.ts";
import { counted, tinyModel } from "./tiny-model.ts";

/** A prompt that is answered by counting to the end, and one that is answered for ever. */
const COUNT = "Count.";
const FOR_EVER = "Go on!";

interface Generation {
  readonly tokens: number;
  readonly end: "running" | "stop" | "length" | "abandoned" | "failed";
}

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-llm-"));
const file = path.join(folder, "tiny.gguf");
writeFileSync(file, tinyModel());
const model = spawn(process.execPath, [path.join(import.meta.dirname, "model-server.mjs"), file], {
  stdio: ["pipe", "pipe", "inherit"],
});
try {
  process.exitCode = await check(await firstLine());
} finally {
  model.kill();
  rmSync(folder, { recursive: true, force: true });
}

async function firstLine(): Promise<string> {
  const lines = createInterface({ input: model.stdout });
  const [line]: unknown[] = await Promise.race([once(lines, "line"), once(lines, "close")]);
  if (typeof line !== "string") throw new Error("The model server ended before it listened.");
  return line;
}

/** Runs all checks; the exit code. */
async function check(modelOrigin: string): Promise<number> {
  const target = (id: string, name: string) => ({
    id,
    adapter: "openai-chat",
    baseUrl: `${modelOrigin}/v1`,
    model: name,
  });
  // Nothing listens on the discard port.
  const dead = { id: "dead", adapter: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", model: "none" };
  const holdfast = await startHoldfast({
    config: {
      targets: [target("model", "tiny"), target("slow", "tiny-slow"), dead],
      routes: { default: ["model"], slow: ["slow"], fallback: ["dead", "model"] },
    },
  });
  const proxy = await startCuttingProxy(holdfast.port);
  const runs = `${holdfast.origin}/v1/runs`;

  const generations = async (): Promise<readonly Generation[]> => (await fetch(`${modelOrigin}/generations`)).json();
  const stream = (fields: Record<string, unknown>) => follow(runs, { body: startBody(fields) });
  const outcomeOf = async (runId: string): Promise<Record<string, unknown>> =>
    (await fetch(`${runs}/${runId}/outcome?wait=30`)).json();

  const checks: Readonly<Record<string, () => Promise<string>>> = {
    async start() {
      const events = await (await stream({ prompt: COUNT })).rest();
      expectWhole(events, "model");
      const { usage, stopReason } = payloadOf(events.at(-1));
      strictEqual(stopReason, "stop");
      const [generation] = await generations();
      deepStrictEqual(generation, { tokens: counted.tokens, end: "stop" });
      ok(typeof usage === "object" && usage !== null && "outputTokens" in usage);
      strictEqual(usage.outputTokens, counted.tokens);
      return `${counted.tokens} tokens in ${events.length} events, text exact`;
    },

    async length() {
      const events = await (await stream({ prompt: FOR_EVER, generation: { maxOutputTokens: 25 } })).rest();
      strictEqual(payloadOf(events.at(-1))["finishReason"], "length");
      strictEqual((await generations()).at(-1)?.end, "length");
      strictEqual(shownText(events).trim().split(" ").length, 25);
      return "the limit of 25 tokens is kept and named";
    },

    async resume() {
      const before = (await generations()).length;
      const started = await post(runs, startBody({ prompt: COUNT, route: "slow" }));
      const runId = started.headers.get("x-run-id") ?? "";
      const received: WireEvent[] = [];
      let connections = 0;
      while (received.at(-1)?.type !== "terminal") {
        ok(connections < 10, "too many connections");
        const last = received.at(-1)?.sequence;
        const reader = await follow(`${proxy.origin}/v1/runs/${runId}/events`, {
          ...(last !== undefined && { headers: { "last-event-id": String(last) } }),
        });
        connections += 1;
        const enough = (last ?? 0) + 90;
        try {
          await reader.until(({ sequence, type }) => sequence >= enough || type === "terminal");
        } finally {
          proxy.cut();
          received.push(...reader.events);
        }
      }
      ok(connections > 2, "the stream was never cut");
      expectWhole(received, "slow");
      deepStrictEqual(received, await (await follow(`${runs}/${runId}/events`)).rest());
      strictEqual((await generations()).length, before + 1);
      return `${connections} connections, ${received.length} events without a gap, one generation`;
    },

    async cancel() {
      const reader = await stream({ prompt: FOR_EVER, route: "slow" });
      await reader.until(({ type, payload }) => type === "content_delta" && payload["text"] !== "");
      strictEqual((await generations()).at(-1)?.end, "running");
      const cancelled = await post(`${runs}/${reader.runId}/cancel`, { reason: "enough" });
      const answered = performance.now();
      strictEqual(cancelled.status, 200);
      let last = (await generations()).at(-1);
      while (last?.end === "running" && performance.now() < answered + 2000) last = (await generations()).at(-1);
      const stoppedAfter = Math.round(performance.now() - answered);
      strictEqual(last?.end, "abandoned");
      const events = await reader.rest();
      const outcome = await outcomeOf(reader.runId);
      strictEqual(outcome["outcome"], "cancelled");
      strictEqual(outcome["partialText"], shownText(events));
      deepStrictEqual((await generations()).at(-1), last);
      return `the model stopped within ${stoppedAfter} ms, after ${last.tokens} tokens`;
    },

    async disconnect() {
      const reader = await stream({ prompt: COUNT, route: "slow" });
      await reader.until(({ type }) => type === "content_delta");
      reader.leave();
      const outcome = await outcomeOf(reader.runId);
      strictEqual(outcome["finalText"], counted.text);
      return "the reader left, the answer went on to its end";
    },

    async fallback() {
      const events = await (await stream({ prompt: COUNT, route: "fallback" })).rest();
      expectWhole(events, "model");
      const attempts = events.filter(({ type }) => type === "attempt").map(({ payload }) => payload);
      deepStrictEqual(
        attempts.map(({ targetId, phase }) => `${String(targetId)} ${String(phase)}`),
        ["dead started", "dead failed", "model started", "model committed"],
      );
      return "the first target is dead, the model answered in the same run";
    },
  };

  let failed = 0;
  try {
    for (const [name, run] of Object.entries(checks)) {
      const begun = performance.now();
      try {
        const said = await run();
        console.log(`passed  ${name}: ${said} (${Math.round(performance.now() - begun)} ms)`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED  ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      }
    }
  } finally {
    await proxy.stop();
    await holdfast.stop();
  }
  console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** The whole of a completed count by this target, without a gap. */
function expectWhole(events: readonly WireEvent[], targetId: string): void {
  deepStrictEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, index) => index),
  );
  const { outcome, finalText, provenance } = payloadOf(events.at(-1));
  strictEqual(outcome, "completed");
  strictEqual(finalText, counted.text);
  strictEqual(shownText(events), counted.text);
  ok(typeof provenance === "object" && provenance !== null && "targetId" in provenance);
  strictEqual(provenance.targetId, targetId);
}

function payloadOf(event: WireEvent | undefined): Record<string, unknown> {
  strictEqual(event?.type, "terminal");
  return event.payload;
}
