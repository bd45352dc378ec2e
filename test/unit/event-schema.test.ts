// Every event and outcome that the machine can write, against our own schemas and the contract's rules. The reference schemas: contract-fixtures.test.ts.
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { logEventSchema, payloadSchemas, streamEventSchema } from "../../schemas/event.ts";
import { outcomeSchema } from "../../schemas/outcome.ts";
import { indeRunErrorSchema } from "../../schemas/problem.ts";
import { runHandleSchema } from "../../schemas/run.ts";
import { streamEventJson } from "../../src/dialects/inderun.ts";
import { findSecretKeys } from "../../src/run/secret-keys.ts";
import { sampleRuns } from "./scenarios/samples.ts";

const wire = sampleRuns.flatMap(({ name, run }) =>
  run.events.map((event): [string, unknown] => {
    const { sequence, at, type, payload } = event;
    const text = streamEventJson("run-1")({ sequence, at, type, payload: JSON.stringify(payload) });
    return [`${name} ${sequence} ${type}`, JSON.parse(text)];
  }),
);

test("R-LOG-6 the samples hold every event type and every outcome", () => {
  const types = new Set(sampleRuns.flatMap(({ run }) => run.events.map(({ type }) => type)));
  expect([...types].toSorted()).toEqual(Object.keys(payloadSchemas).toSorted());
  const ends = new Set(sampleRuns.map(({ run }) => run.outcome?.outcome));
  expect([...ends].map(String).toSorted()).toEqual(["cancelled", "completed", "error"]);
});

test.each(wire)("R-LOG-6 %s is a valid StreamEvent without secret-looking keys", (_name, event) => {
  expect(v.safeParse(streamEventSchema, event).issues).toBeUndefined();
  expect(findSecretKeys(event)).toEqual([]);
});

test.each(sampleRuns.map(({ name, run }): [string, unknown] => [name, run.outcome]))(
  "R-LOG-6 the outcome of %s is valid, and valid by the oldest rules: a text run always states its text",
  (_name, outcome) => {
    const parsed = v.parse(outcomeSchema, JSON.parse(JSON.stringify(outcome)));
    expect(typeof (parsed.outcome === "completed" ? parsed.finalText : parsed.partialText)).toBe("string");
    expect(findSecretKeys(parsed)).toEqual([]);
    expect(JSON.stringify(outcome)).not.toContain("null");
  },
);

describe("what is no event", () => {
  const envelope = { schemaVersion: "1.0", runId: "r", sequence: 0, timestamp: 1 };
  const event = (type: string, payload: unknown, fields: object = {}) => ({ ...envelope, type, payload, ...fields });
  test.each([
    ["no payload", { ...envelope, type: "content_delta" }],
    ["no text", event("content_delta", {})],
    ["a text that is none", event("content_snapshot", { text: 5 })],
    ["a fraction of a sequence", event("content_delta", { text: "" }, { sequence: 0.5 })],
    ["a negative sequence", event("content_delta", { text: "" }, { sequence: -1 })],
    ["no run", event("content_delta", { text: "" }, { runId: "" })],
    ["another version", event("content_delta", { text: "" }, { schemaVersion: "2.0" })],
    ["an unknown phase", event("lifecycle", { phase: "finished" })],
    ["an attempt without a number", event("attempt", { targetId: "a", phase: "started" })],
    ["a class nobody knows", event("attempt", { attempt: 0, targetId: "a", phase: "failed", failureClass: "odd" })],
    ["a tool call without a name", event("tool_call", { toolCallId: "c", input: {}, execution: "client" })],
    ["usage below zero", event("usage", { attempt: 0, inputTokens: -1 })],
    [
      "an unknown outcome",
      event("terminal", { schemaVersion: "1.0", runId: "r", outcome: "partial_success", finalText: "" }),
    ],
    ["completed without a text", event("terminal", { schemaVersion: "1.0", runId: "r", outcome: "completed" })],
    [
      "an error without an error",
      event("terminal", { schemaVersion: "1.0", runId: "r", outcome: "error", partialText: "" }),
    ],
    ["cancelled without a text", event("terminal", { schemaVersion: "1.0", runId: "r", outcome: "cancelled" })],
  ])("R-LOG-6 %s", (_what, candidate) => {
    expect(v.is(streamEventSchema, candidate)).toBe(false);
  });

  test("R-LOG-6 fields nobody knows pass", () => {
    const extended = event("content_delta", { text: "x", future: 1 }, { future: 2 });
    expect(v.parse(streamEventSchema, extended)).toEqual(extended);
  });

  test("R-LOG-6 a stored entry of a type that this version does not know is not taken for one it knows", () => {
    expect(v.is(logEventSchema, { sequence: 3, at: 1, type: "some_future_event", payload: {} })).toBe(false);
  });
});

test("R-LOG-6 an error and a handle of another shape are refused", () => {
  const error = { schemaVersion: "1.0", errorClass: "Internal", message: "x" };
  expect(v.is(indeRunErrorSchema, error)).toBe(true);
  for (const wrong of [
    { errorClass: "ProviderExploded" },
    { message: "" },
    { retryAfterMs: -1 },
    { retryable: "no" },
  ]) {
    expect(v.is(indeRunErrorSchema, { ...error, ...wrong })).toBe(false);
  }
  expect(v.is(runHandleSchema, { schemaVersion: "1.0", runId: "r", startedAt: -1 })).toBe(false);
});
