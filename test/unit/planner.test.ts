// The route planner: constraints, order, reasons. Configured targets and hypothetical ones (run-only, revoked, offline).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planBody } from "./planned.ts";
import { decidedFor, planRoute, type Candidate, type PlannerInput } from "../../src/run/planner.ts";
import { checkConfig } from "../../src/run/settings.ts";

const near: Candidate = { id: "near", locality: "local", streaming: "supported" };
const edge: Candidate = { id: "edge", locality: "edge", streaming: "supported" };
const far: Candidate = { id: "far", locality: "cloud", streaming: "supported" };

const plan = (candidates: readonly Candidate[], fields: Partial<PlannerInput> = {}) =>
  planRoute({ mode: "stream", offline: false, constraints: undefined, preferences: undefined, candidates, ...fields });

function chainOf(candidates: readonly Candidate[], fields: Partial<PlannerInput> = {}): string[] {
  const planned = plan(candidates, fields);
  return planned.ok ? planned.chain : [];
}

/** Reason codes by target. */
function reasonsOf(candidates: readonly Candidate[], fields: Partial<PlannerInput> = {}): Record<string, string[]> {
  const planned = plan(candidates, fields);
  const rejected = planned.ok ? planned.decision.rejectedProviders : planned.rejected;
  return Object.fromEntries(rejected.map(({ providerId, reasons }) => [providerId, reasons.map(({ code }) => code)]));
}

describe("constraints", () => {
  test.each([
    [{ privacy: "local_required" }, ["near"], { edge: ["privacy_constraint"], far: ["privacy_constraint"] }],
    [{ privacy: "cloud_required" }, ["far"], { near: ["privacy_constraint"], edge: ["privacy_constraint"] }],
    [{ privacy: "cloud_allowed" }, ["far", "edge", "near"], {}],
    [{ cloud: "forbidden" }, ["edge", "near"], { far: ["cloud_constraint"] }],
    [{ cloud: "required" }, ["far"], { near: ["cloud_constraint"], edge: ["cloud_constraint"] }],
    [{ cloud: "allowed" }, ["far", "edge", "near"], {}],
    [
      { privacy: "local_required", cloud: "forbidden" },
      ["near"],
      { edge: ["privacy_constraint"], far: ["privacy_constraint", "cloud_constraint"] },
    ],
    [{ timeoutMs: 1 }, ["far", "edge", "near"], {}],
  ] as const)("R-START-8 %j leaves %j", (constraints, chain, rejected) => {
    expect(chainOf([far, edge, near], { constraints })).toEqual(chain);
    expect(reasonsOf([far, edge, near], { constraints })).toEqual(rejected);
  });

  test("R-START-8 none left: CapabilityMismatch, every target with its reasons and a message", () => {
    const refused = plan([far, edge], { constraints: { privacy: "local_required" } });
    expect(refused).toMatchObject({ ok: false, failureCode: "capability_mismatch", errorClass: "CapabilityMismatch" });
    const messages = refused.ok ? [] : refused.rejected.flatMap(({ reasons }) => reasons.map(({ message }) => message));
    expect(messages).toEqual(["The request must stay local.", "The request must stay local."]);
  });

  test("R-START-8 a start that no target may serve names its run, the code and the reasons", async () => {
    const settings = checkConfig({
      targets: [{ id: "far", adapter: "openai-chat", baseUrl: "https://provider.test", model: "m" }],
      routes: { default: ["far"] },
    });
    if (!settings.ok) throw new Error("the configuration is valid");
    const body = { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "x", requestId: "req-42" };
    const constraints = { privacy: "local_required" };
    const planned = await planBody({ ...body, constraints }, settings.config);
    expect(planned).toMatchObject({
      ok: false,
      problem: {
        code: "capability_mismatch",
        runId: "req-42",
        details: {
          failureCode: "capability_mismatch",
          rejectedProviders: [{ providerId: "far", reasons: [{ code: "privacy_constraint" }] }],
        },
      },
    });
  });
});

describe("order", () => {
  test.each([
    ["nothing asked", {}],
    ["latency", { preferences: { optimizeFor: "latency" } }],
    ["cost", { preferences: { optimizeFor: "cost" } }],
    ["balanced", { preferences: { optimizeFor: "balanced" } }],
    ["cloud_allowed", { constraints: { privacy: "cloud_allowed" } }],
  ] as const)("R-START-9 %s keeps the configured order", (_what, fields) => {
    expect(chainOf([far, near, edge], fields)).toEqual(["far", "near", "edge"]);
  });

  test.each([
    ["local_preferred", { constraints: { privacy: "local_preferred" } }],
    ["privacy", { preferences: { optimizeFor: "privacy" } }],
  ] as const)("R-START-9 %s puts the nearest first", (_what, fields) => {
    expect(chainOf([far, edge, near], fields)).toEqual(["near", "edge", "far"]);
  });

  test("R-START-9 nearest first is stable, loses none and doubles none", () => {
    const candidates = fc.uniqueArray(
      fc.record({
        id: fc.string({ minLength: 1, maxLength: 3 }),
        locality: fc.constantFrom("local" as const, "edge" as const, "cloud" as const),
        streaming: fc.constant("supported" as const),
      }),
      { selector: ({ id }) => id, minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(candidates, (list) => {
        const chain = chainOf(list, { preferences: { optimizeFor: "privacy" } });
        const inOrder = (["local", "edge", "cloud"] as const).flatMap((locality) =>
          list.filter((candidate) => candidate.locality === locality).map(({ id }) => id),
        );
        expect(chain).toEqual(inOrder);
      }),
      { numRuns: 200 },
    );
  });
});

describe("what only embedders know", () => {
  test("R-START-8 run-only, declared-only and revoked targets do not stream, but may run", () => {
    const odd: Candidate[] = [
      { ...far, id: "run", streaming: "run_only" },
      { ...far, id: "declared", streaming: "declared_only" },
      { ...far, id: "revoked", streaming: "revoked", unavailableReason: "No stream today." },
    ];
    expect(reasonsOf(odd)).toEqual({
      run: ["streaming_not_supported"],
      declared: ["streaming_unavailable"],
      revoked: ["streaming_unavailable"],
    });
    expect(chainOf(odd, { mode: "run" })).toEqual(["run", "declared", "revoked"]);
    const refused = plan(odd);
    expect(refused.ok ? [] : refused.rejected.at(-1)?.reasons).toEqual([
      { code: "streaming_unavailable", message: "No stream today." },
    ]);
  });

  test("R-START-8 offline is reported only when the network alone kept a target away", () => {
    expect(plan([far], { offline: true })).toMatchObject({ ok: false, failureCode: "offline", errorClass: "Offline" });
    expect(reasonsOf([far], { offline: true, constraints: { privacy: "local_required" } })).toEqual({
      far: ["privacy_constraint"],
    });
    expect(plan([far], { offline: true, constraints: { privacy: "local_required" } })).toMatchObject({
      errorClass: "CapabilityMismatch",
    });
    expect(chainOf([far, near], { offline: true })).toEqual(["near"]);
  });
});

test("R-DESC-2 the decision tells how the route was chosen, and nothing else of the request", () => {
  const constraints = { privacy: "local_preferred", timeoutMs: 5, note: "my prompt" } as const;
  const planned = plan([far, near], { constraints, preferences: { optimizeFor: "cost" } });
  expect(planned.ok && planned.decision).toEqual({
    selectedProviderId: "near",
    fallbackProviderIds: ["far"],
    rejectedProviders: [],
    fallbackAvailable: true,
    taskKind: "text_to_text",
    explanation: { summary: "Selected 'near'.", selectedProviderId: "near" },
    constraints: { privacy: "local_preferred", timeoutMs: 5 },
    preferences: { optimizeFor: "cost" },
    plannerSource: "fallback",
    plannerUnavailableReason: null,
  });
  const plain = plan([far]);
  expect(plain.ok && plain.decision).toMatchObject({ constraints: null, preferences: null, fallbackAvailable: false });
});

test("R-BREAK-7 the decision for a chain in another order names that order, and keeps its reasons", () => {
  const planned = plan([near, edge, far], { constraints: { privacy: "local_preferred" } });
  if (!planned.ok) throw new Error("nothing was planned");
  expect(decidedFor(planned.decision, [far, near, edge])).toEqual({
    ...planned.decision,
    selectedProviderId: "far",
    fallbackProviderIds: ["near", "edge"],
    explanation: { summary: "Selected 'far'.", selectedProviderId: "far" },
  });
  expect(decidedFor(planned.decision, [near, edge, far])).toEqual(planned.decision);
});
