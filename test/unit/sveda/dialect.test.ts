// Sveda's frames: whole turns against golden files, and what holds of any log.
import { readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { entryOf } from "../../../durable-objects/segment-codec.ts";
import { svedaEventSchema } from "../../../schemas/dialects/sveda.ts";
import { failureClassSchema } from "../../../schemas/failure.ts";
import type { Usage } from "../../../schemas/usage.ts";
import { dialectIn, isDialectId } from "../../../src/dialects/index.ts";
import { svedaSse } from "../../../src/dialects/sveda.ts";
import { damagedLog, replacedText } from "../../../src/run/reader-faults.ts";
import { hostile } from "../../support/hostile-text.ts";
import { EPOCH } from "../scenarios/drive.ts";
import { randomLog } from "./random-log.ts";
import { orders } from "./orders.ts";
import { completed, failed, logOf, turnRun, turns } from "./turns.ts";
import { eventsOf, framesOf, wireOf } from "./wire.ts";

const golden = (name: string): string => {
  const file = `${name.replaceAll(/[^a-z]+/g, "-").replace(/-$/, "")}.sse`;
  return readFileSync(path.join(import.meta.dirname, "golden", file), "utf8");
};

test.each(Object.entries(turns))("R-SV-1 R-SV-2 R-SV-3 a turn, byte for byte: %s", (name, log) => {
  expect(wireOf(logOf(log))).toBe(golden(name));
});

test.each(orders)("R-SV-1 R-SV-4 as the machine plays it, in Sveda's order: $name", ({ run, events, finishReason }) => {
  const wire = wireOf(run.events.map(entryOf), { runId: "run-1", startedAt: EPOCH, chatId: "c1" });
  const seen = eventsOf(wire);
  expect(seen.map(({ type }) => type)).toEqual(events);
  expect(seen.find(({ type }) => type === "message.end")).toMatchObject({ finishReason });
  expect(wire.endsWith("data: [DONE]\n\n")).toBe(true);
});

test("R-SV-1 what a run is not shown of stays unshown: attempts, steps, usage, titles, pieces of calls, snapshots", () => {
  const shown = new Set(["lifecycle", "content_delta", "reasoning_delta", "tool_call", "tool_result", "tool_progress"]);
  const encode = svedaSse.encoder(turnRun);
  for (const entry of Object.values(turns).flatMap(logOf)) {
    const isShown = [...shown, "context_usage", "max_steps", "terminal"].includes(entry.type);
    if (!isShown || entry.payload.includes("provider_selected")) expect(encode(entry)).toBe("");
    else expect(encode(entry)).not.toBe("");
  }
});

test("R-SV-2 a run that is no turn of a chat names none", () => {
  for (const event of eventsOf(wireOf(logOf(turns["text only"] ?? []), { runId: "sv_1", startedAt: 0 }))) {
    expect(event).not.toHaveProperty("chatId");
  }
});

describe("R-SV-4 the end of a turn", () => {
  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["tool_calls", "tool_calls"],
    ["max_steps", "stop"],
    ["continue", "stop"],
    ["content_filter", "error"],
    [undefined, "stop"],
  ] as const)("%s reads as %s", (stopReason, finishReason) => {
    const events = eventsOf(wireOf(logOf([completed({ stopReason })])));
    const end = events.find(({ type }) => type === "message.end");
    expect(end).toMatchObject({ finishReason });
    expect(events.some(({ type }) => type === "error")).toBe(finishReason === "error");
  });

  test("usage is that of the run, added up when no total was stated, and left out when there is none", () => {
    const endOf = (usage: Usage | undefined): unknown =>
      eventsOf(wireOf(logOf([completed({ usage })]))).find(({ type }) => type === "message.end")?.["usage"];
    expect(endOf({ inputTokens: 3, outputTokens: 4, totalTokens: 9 })).toEqual({
      promptTokens: 3,
      completionTokens: 4,
      totalTokens: 9,
    });
    expect(endOf({ inputTokens: 3, outputTokens: 4 })).toMatchObject({ totalTokens: 7 });
    expect(endOf(undefined)).toBeUndefined();
  });

  test("is one piece, in which [DONE] alone has an id", () => {
    const encode = svedaSse.encoder(turnRun);
    const [wire] = logOf([failed("reset", "Cut off.")]).map(encode);
    expect(framesOf(wire ?? "").map(({ data }) => data.slice(0, 20))).toEqual([
      '{"type":"error","cod',
      '{"type":"message.end',
      '{"type":"chat.title"',
      "[DONE]",
    ]);
    expect(wire?.match(/^id: /gm)).toHaveLength(1);
  });
});

test.each(failureClassSchema.options)("R-SV-5 a failure of the class %s has one of the four codes", (failureClass) => {
  const [event] = eventsOf(wireOf(logOf([failed(failureClass, "Our own words.")])));
  const known: Record<string, [code: string, message: string]> = {
    rate_limited: ["rate_limited", "rate limited"],
    quota: ["insufficient_credits", "insufficient credits"],
    overloaded: ["overloaded", "provider overloaded"],
  };
  const [code, message] = known[failureClass] ?? ["llm_error", "Our own words."];
  expect(event).toMatchObject({ type: "error", code, message });
});

test("R-SV-5 a message is cut to 500 characters", () => {
  const [event] = eventsOf(wireOf(logOf([failed(undefined, "x".repeat(2000))])));
  expect(event).toMatchObject({ code: "llm_error", message: "x".repeat(500) });
});

test("R-SV-6 a fault of the server is an error, an end and [DONE], none of which moves a cursor", () => {
  for (const fault of [damagedLog("r"), replacedText("r")]) {
    const frames = framesOf(svedaSse.failure(fault));
    expect(frames.every(({ id }) => id === undefined)).toBe(true);
    expect(frames.map(({ data }) => data)).toEqual([
      JSON.stringify({ type: "error", code: "llm_error", message: fault.message }),
      '{"type":"message.end","finishReason":"error"}',
      "[DONE]",
    ]);
  }
});

test("R-SV-7 SSE only; heartbeats and the preamble read as nothing, and what comes last is [DONE]", () => {
  expect(isDialectId("sveda")).toBe(true);
  expect(dialectIn("sveda", "sse")).toBe(svedaSse);
  expect(dialectIn("sveda", "ndjson")).toBeUndefined();
  const { contentType, preamble, heartbeat, ending, replaces } = svedaSse;
  expect({ contentType, preamble, heartbeat, ending, replaces }).toEqual({
    contentType: "text/event-stream",
    preamble: "retry: 1000\n",
    heartbeat: ": hb\n",
    ending: "data: [DONE]\n\n",
    replaces: false,
  });
  const wire = preamble + heartbeat + wireOf(logOf([completed()])).replaceAll("\n\n", `\n\n${heartbeat}`);
  expect(framesOf(wire)).toEqual(framesOf(wireOf(logOf([completed()]))));
});

describe("whatever a log holds", () => {
  test("R-SV-3 every frame is one line of valid Sveda, and only what moves the cursor has an id", () => {
    fc.assert(
      fc.property(randomLog, hostile, (log, chatId) => {
        const encode = svedaSse.encoder({ ...turnRun, chatId });
        for (const entry of log) {
          const wire = encode(entry);
          const lines = wire.split(/\r\n|\r|\n/);
          expect(lines.every((line) => line === "" || /^(id: \d+|data: [^\r\n]+)$/.test(line))).toBe(true);
          for (const event of eventsOf(wire)) {
            expect(v.safeParse(svedaEventSchema, event).issues).toBeUndefined();
          }
          const frames = framesOf(wire);
          expect(frames.slice(0, -1).every(({ id }) => id === undefined)).toBe(true);
          if (frames.length > 0) expect(frames.at(-1)?.id).toBe(String(entry.sequence));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("R-SV-3 texts, inputs and outputs arrive as they were", () => {
    fc.assert(
      fc.property(hostile, fc.jsonValue(), fc.dictionary(hostile, fc.jsonValue()), (text, output, input) => {
        const plain = JSON.parse(JSON.stringify({ text, output, input }));
        const names = { toolCallId: text, toolName: "tool" };
        const events = eventsOf(
          wireOf(
            logOf([
              { type: "content_delta", payload: { text } },
              { type: "reasoning_delta", payload: { text } },
              { type: "tool_call", payload: { ...names, input, execution: "server" } },
              {
                type: "tool_call",
                payload: { ...names, inputJson: JSON.stringify(input, null, 2), execution: "client" },
              },
              { type: "tool_result", payload: { ...names, output } },
              { type: "tool_result", payload: { ...names, outputJson: JSON.stringify(output, null, "\t") } },
            ]),
          ),
        );
        expect(events).toMatchObject([
          { delta: text },
          { delta: text },
          { input: plain.input, target: "backend" },
          { input: plain.input, target: "frontend" },
          { output: plain.output },
          { output: plain.output },
        ]);
      }),
      { numRuns: 500 },
    );
  });

  test("R-SV-3 the frames of a log's rest are the rest of the log's frames", () => {
    fc.assert(
      fc.property(randomLog, fc.nat({ max: 12 }), (log, after) => {
        const one = svedaSse.encoder(turnRun);
        const frames = log.map(one);
        const other = svedaSse.encoder(turnRun);
        expect(log.slice(after).map(other)).toEqual(frames.slice(after));
      }),
      { numRuns: 200 },
    );
  });
});
