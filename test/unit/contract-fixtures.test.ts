// Holds scenarios, schemas and samples against IndeRun's reference fixtures, where they are at hand: in the folder that
// HOLDFAST_CONTRACTS names, else in `shared` beside the checkout. The product and its other tests never need them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { streamEventSchema } from "../../schemas/event.ts";
import { outcomeSchema } from "../../schemas/outcome.ts";
import { indeRunErrorSchema } from "../../schemas/problem.ts";
import { runHandleSchema } from "../../schemas/run.ts";
import { problemBody } from "../../src/http/problem.ts";
import { checkStartRequest } from "../../src/run/request.ts";
import { findSecretKeys } from "../../src/run/secret-keys.ts";
import { expectationSchema, observedAs } from "./scenarios/expectation.ts";
import { onTheWire } from "./scenarios/invariants.ts";
import { observe } from "./scenarios/observe.ts";
import { sampleRuns } from "./scenarios/samples.ts";
import { scenarios } from "./scenarios/table.ts";

const root = path.resolve(import.meta.dirname, "../..");
const folder = path.resolve(process.env["HOLDFAST_CONTRACTS"] ?? path.join(root, "../shared"), "fixtures/inderun");
const scenarioFile = path.join(folder, "conformance/engine-conformance.json");

const read = (...names: string[]): unknown => JSON.parse(readFileSync(path.join(folder, ...names), "utf8"));

if (existsSync(scenarioFile)) {
  describe("scenarios", againstScenarios);
  describe("schemas", againstSchemas);
  describe("samples", againstSamples);
} else {
  test("R-LOG-6 the reference fixtures are not here, so nothing is held against them", () => {
    expect(existsSync(scenarioFile)).toBe(false);
  });
}

function againstScenarios(): void {
  const file = v.parse(
    v.looseObject({ cases: v.array(v.looseObject({ id: v.string(), expect: expectationSchema })) }),
    read("conformance/engine-conformance.json"),
  );

  test("R-LOG-2 ours are theirs, all of them", () => {
    expect(scenarios.map(({ id }) => id).toSorted()).toEqual(file.cases.map(({ id }) => id).toSorted());
  });

  test.each(file.cases.map((reference) => [reference.id, reference] as const))(
    "R-LOG-2 %s shows what IndeRun expects",
    async (id, reference) => {
      const scenario = scenarios.find((one) => one.id === id);
      if (scenario === undefined) return expect.fail("we have no such scenario");
      expect(observedAs(reference.expect, await observe(scenario))).toEqual(reference.expect);
      expect(scenario.expect).toEqual(reference.expect);
    },
  );
}

const compiled = new Map<string, [string, ValidateFunction][]>();

/** Schema files by generation; each is compiled apart from the others, since they share their ids. */
function validators(name: string): [string, ValidateFunction][] {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => path.basename(file).startsWith(`${name}.`) && file.endsWith(".schema.json"))
    .map((file): [string, ValidateFunction] => {
      const schema = v.parse(v.record(v.string(), v.unknown()), read(file));
      return [file, new Ajv2020({ strict: false, allErrors: true }).compile(schema)];
    });
  compiled.set(name, found);
  return found;
}

function againstSchemas(): void {
  const valid = (name: string, value: unknown, generations: number) => {
    const schemas = validators(name);
    expect(schemas.length).toBe(generations);
    for (const [file, validate] of schemas) {
      validate(JSON.parse(JSON.stringify(value)));
      expect(validate.errors ?? [], file).toEqual([]);
    }
  };

  test.each(sampleRuns.map(({ name, run }) => [name, run] as const))(
    "R-LOG-6 every event and the outcome of '%s' are valid in every generation",
    (_name, run) => {
      for (const event of run.events) valid("stream-event", onTheWire(event, "run-1"), 2);
      valid("stream-terminal-outcome", run.outcome, 2);
      if (run.outcome?.outcome === "error") valid("inderun-error", run.outcome.error, 1);
    },
  );

  test("R-DESC-2 every telemetry line is valid", () => {
    for (const { run } of sampleRuns) {
      for (const { type, payload } of run.telemetry) {
        valid("telemetry-event", { type, runId: "run-1", timestamp: 1, payload }, 1);
        expect(findSecretKeys(payload)).toEqual([]);
      }
    }
  });

  test("R-START-1 R-ERR-1 a handle and a refusal are valid", () => {
    valid("stream-run", { schemaVersion: "1.0", runId: "run-1", startedAt: 1, providerId: "p1" }, 1);
    const issues = [{ path: "/prompt", message: "is missing", keyword: "required" }];
    valid("inderun-error", problemBody({ code: "invalid_request", message: "The request is not valid.", issues }), 1);
    valid("inderun-error", problemBody({ code: "rate_limited", message: "Too many.", retryAfterMs: 5, runId: "r" }), 1);
  });

  test("R-START-5 the requests of the examples are TaskRequests, with our fields beside", () => {
    const request = {
      schemaVersion: "1.0",
      task: { kind: "text_to_text" },
      requestId: "run-1",
      messages: [{ role: "user", content: "Hi" }],
      generation: { maxOutputTokens: 5, temperature: 0.2, topP: 1, seed: 1, stop: ["x"], output: "json" },
      constraints: { privacy: "cloud_allowed", cloud: "allowed", timeoutMs: 1000 },
      preferences: { optimizeFor: "cost" },
      telemetry: { consent: true, level: "minimal", tags: { a: "b" } },
      authContextRef: "main",
      route: "default",
      clocks: { idleMs: 5 },
      onMidStreamFailure: "retract",
    };
    expect(checkStartRequest(request).ok).toBe(true);
    valid("task-request", request, 1);
  });

  test("R-LOG-6 the validators refuse what is wrong", () => {
    for (const [, validate] of validators("stream-event")) {
      expect(
        validate({ schemaVersion: "1.0", runId: "r", sequence: 0, timestamp: 1, type: "content_delta", payload: {} }),
      ).toBe(false);
    }
  });
}

/** How each of the reference's shapes is checked here. */
const checks: Record<string, (value: unknown) => boolean> = {
  "task-request": (value) => checkStartRequest(value).ok,
  "stream-event": (value) => v.is(streamEventSchema, value),
  "stream-terminal-outcome": (value) => v.is(outcomeSchema, value),
  "inderun-error": (value) => v.is(indeRunErrorSchema, value),
  "stream-run": (value) => v.is(runHandleSchema, value),
};

/** Shapes that this product neither takes nor gives: Mode 1 results, and telemetry, which it only writes. */
const elsewhere = new Set(["task-result", "telemetry-event"]);

/** Valid there, refused here: our own event schema is closed over the types that we write. Readers pass over unknown ones. */
const closedHere = ["some_future_event"];

function againstSamples(): void {
  const { cases } = v.parse(
    v.looseObject({
      cases: v.array(
        v.looseObject({ name: v.string(), schema: v.string(), valid: v.boolean(), data: v.looseObject({}) }),
      ),
    }),
    read("samples/validation-samples.json"),
  );

  test("R-LOG-6 every shape of the samples is known", () => {
    const names = new Set(cases.map(({ schema }) => schema));
    expect([...names].filter((name) => !elsewhere.has(name)).toSorted()).toEqual(Object.keys(checks).toSorted());
  });

  const ours = cases.filter(({ schema }) => !elsewhere.has(schema));
  test.each(ours.map((sample) => [sample.schema, sample.name, sample] as const))(
    "R-START-5 R-LOG-6 %s: %s",
    (schema, _name, { data, valid }) => {
      const closed = schema === "stream-event" && closedHere.includes(String(data["type"]));
      expect(checks[schema]?.(data)).toBe(valid && !closed);
    },
  );

  test("R-NAME-1 our rule for names is narrower than theirs", () => {
    const request = {
      schemaVersion: "1.0",
      task: { kind: "text_to_text" },
      prompt: "x",
      requestId: "a name with blanks",
    };
    for (const [, validate] of validators("task-request")) expect(validate(request)).toBe(true);
    expect(checkStartRequest(request)).toMatchObject({ ok: false, issues: [{ path: "/requestId" }] });
  });
}
