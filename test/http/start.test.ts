// Starting runs over sockets: what is answered, which targets are chosen, and what is refused before anything starts.
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import {
  answer,
  faultyFields,
  handleOf,
  MAIN,
  newName,
  objectOf,
  openHouse,
  outcomeOf,
  problemOf,
  SPARE,
  type House,
} from "./house.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";

let house: House;
let runs: string;

beforeAll(async () => {
  house = await openHouse();
  runs = `${house.origin}/v1/runs`;
});
afterAll(() => house.stop());
beforeEach(() => {
  house.provider.reset();
  house.provider.on(MAIN, answer(["Hello", " world."]));
});

test("R-START-1 R-START-2 answers 202 with a handle, and names the run and its stream", async () => {
  const before = Date.now();
  const response = await post(runs, startBody());
  const handle = await handleOf(response.clone());
  expect(handle.providerId).toBe("main");
  expect(handle.startedAt).toBeGreaterThanOrEqual(before);
  expect(handle.startedAt).toBeLessThanOrEqual(Date.now());
  expect(response.headers.get("location")).toBe(`/v1/runs/${handle.runId}/events`);
  expect(response.headers.get("x-run-id")).toBe(handle.runId);
  expect(await outcomeOf(house.origin, handle.runId)).toMatchObject({
    outcome: "completed",
    finalText: "Hello world.",
  });
});

test("R-START-1 R-START-2 streams from the beginning when Accept names a stream", async () => {
  for (const [accept, type] of [
    ["text/event-stream", "text/event-stream; charset=utf-8"],
    ["text/html, TEXT/EVENT-STREAM;q=0.9", "text/event-stream; charset=utf-8"],
    ["application/x-ndjson", "application/x-ndjson"],
  ]) {
    const requestId = newName();
    const response = await post(runs, startBody({ requestId }), { accept: accept ?? "" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("location")).toBe(`/v1/runs/${requestId}/events`);
    expect(response.headers.get("x-run-id")).toBe(requestId);
    const body = await response.text();
    const events =
      type === "application/x-ndjson"
        ? body
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line))
        : eventsOf(body);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    expect(shownText(events)).toBe("Hello world.");
    expect(events.at(-1)?.type).toBe("terminal");
  }
});

test("R-START-2 the Location of a start leads to the run's stream", async () => {
  const response = await post(runs, startBody());
  const location = response.headers.get("location");
  const stream = await fetch(new URL(location ?? "", house.origin));
  expect(stream.status).toBe(200);
  expect(shownText(eventsOf(await stream.text()))).toBe("Hello world.");
});

test("R-START-3 wait answers with the outcome when the run ends in time", async () => {
  const requestId = newName();
  const response = await post(`${runs}?wait=20`, startBody({ requestId }));
  expect(response.headers.get("location")).toBe(`/v1/runs/${requestId}/events`);
  expect(response.headers.get("x-run-id")).toBe(requestId);
  expect(await objectOf(response)).toMatchObject({ runId: requestId, outcome: "completed", finalText: "Hello world." });
});

test("R-START-3 wait answers 202 with the handle when the run takes longer", async () => {
  house.provider.on(MAIN, answer(["late"], { gateBefore: { index: 1, name: "text" } }));
  for (const seconds of [0, 1]) {
    const requestId = newName();
    const startedAt = performance.now();
    const response = await post(`${runs}?wait=${seconds}`, startBody({ requestId }));
    expect((await handleOf(response)).runId).toBe(requestId);
    expect(response.headers.get("location")).toBe(`/v1/runs/${requestId}/events`);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(seconds * 990);
  }
  house.provider.open("text");
});

test("R-START-4 the chain is targets, else the named route, else the route default", async () => {
  house.provider.on(SPARE, answer(["spare"]));
  const providerOf = async (fields: object) => {
    const { runId, providerId } = await handleOf(await post(runs, startBody({ ...fields })));
    // Over before the next test counts calls.
    await outcomeOf(house.origin, runId);
    return providerId;
  };
  expect(await providerOf({})).toBe("main");
  expect(await providerOf({ route: "both" })).toBe("main");
  expect(await providerOf({ targets: ["spare"] })).toBe("spare");
  expect(await providerOf({ targets: ["spare", "main"] })).toBe("spare");
});

test("R-START-4 a chain that cannot be is 400 naming the field, and calls nobody", async () => {
  for (const [fields, path] of [
    [{ route: "both", targets: ["main"] }, "/targets"],
    [{ route: "nowhere" }, "/route"],
    [{ route: "__proto__" }, "/route"],
    [{ route: "constructor" }, "/route"],
    [{ targets: ["main", "nobody"] }, "/targets/1"],
    [{ targets: ["main", "spare", "main"] }, "/targets/2"],
    [{ targets: [] }, "/targets"],
    [{ targets: Array.from({ length: 17 }, () => "main") }, "/targets"],
  ] satisfies [object, string][]) {
    const problem = await problemOf(await post(runs, startBody({ ...fields })), 400, "invalid_request");
    expect(faultyFields(problem)).toContain(path);
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-START-10 a pushed run needs nothing to read and calls nobody, and takes no field that says whom to call", async () => {
  const body = { schemaVersion: "1.0", task: { kind: "text_to_text" }, source: "push" };
  for (const [fields, path] of [
    [{ route: "default" }, "/route"],
    [{ targets: ["main"] }, "/targets"],
    [{ constraints: { privacy: "cloud_allowed" } }, "/constraints/privacy"],
    [{ clocks: { firstOutputMs: 1 } }, "/clocks/firstOutputMs"],
    [{ tools: [] }, "/tools"],
    [{ maxSteps: 1 }, "/maxSteps"],
    [{ previousRunId: "x" }, "/previousRunId"],
  ] satisfies [object, string][]) {
    const requestId = newName();
    const problem = await problemOf(await post(runs, { ...body, ...fields, requestId }), 400, "invalid_request");
    expect(faultyFields(problem)).toContain(path);
    await problemOf(await fetch(`${runs}/${requestId}`), 404, "not_found");
  }
  const { runId } = await handleOf(await post(runs, { ...body, clocks: { totalMs: 300 } }));
  expect(await outcomeOf(house.origin, runId)).toMatchObject({ outcome: "error", error: { errorClass: "Timeout" } });
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-START-5 an open request passes fields nobody knows, and gives its metadata back", async () => {
  const metadata = { chat: 7, nested: { list: [1, null, "\u0000"] } };
  const handle = await handleOf(await post(runs, startBody({ metadata, somethingNew: { deep: true } })));
  const state = await objectOf(await fetch(`${runs}/${handle.runId}`));
  expect(state["metadata"]).toEqual(metadata);
  // Over before the next test reads what the provider was sent.
  await outcomeOf(house.origin, handle.runId);
});

test("R-START-6 tool parameters, inputs and outputs may name anything", async () => {
  const shape = { type: "object", properties: { password: { type: "string" }, apiKey: { type: "string" } } };
  const body = startBody({
    prompt: undefined,
    tools: [{ name: "login", parameters: shape }],
    messages: [
      { role: "user", content: "Log in." },
      { role: "assistant", toolCalls: [{ toolCallId: "c1", toolName: "login", input: { password: "x" } }] },
      { role: "tool", toolCallId: "c1", output: { accessToken: "y" } },
    ],
  });
  const { runId } = await handleOf(await post(runs, body));
  const call = await house.provider.waitForCall(MAIN);
  // Over before the next test counts calls.
  await outcomeOf(house.origin, runId);
  expect(JSON.parse(call.body).tools[0].function.parameters).toEqual(shape);
});

test("R-START-6 a tool input keeps every argument, whatever its name", async () => {
  const input = { constructor: "Prost", prototype: "AP01", year: 1993 };
  const body = startBody({
    prompt: undefined,
    messages: [
      { role: "user", content: "Who won?" },
      { role: "assistant", toolCalls: [{ toolCallId: "c1", toolName: "results", input }] },
      { role: "tool", toolCallId: "c1", output: "Prost" },
    ],
  });
  const { runId } = await handleOf(await post(runs, body));
  const call = await house.provider.waitForCall(MAIN);
  // Over before the next test counts calls.
  await outcomeOf(house.origin, runId);
  const sent = JSON.parse(call.body).messages[1].tool_calls[0].function.arguments;
  expect(JSON.parse(sent)).toEqual(input);
});

const rejectedSchema = v.object({
  code: v.literal("capability_mismatch"),
  failureCode: v.literal("capability_mismatch"),
  rejectedProviders: v.array(
    v.object({
      providerId: v.string(),
      reasons: v.array(v.object({ code: v.string(), message: v.pipe(v.string(), v.minLength(1)) })),
    }),
  ),
});

test("R-START-8 constraints that no target meets are 422 with every target's reasons", async () => {
  const requestId = newName();
  const body = startBody({ requestId, route: "both", constraints: { privacy: "local_required", cloud: "forbidden" } });
  const problem = await problemOf(await post(runs, body), 422, "capability_mismatch");
  expect(problem.errorClass).toBe("CapabilityMismatch");
  expect(problem.runId).toBe(requestId);
  const { rejectedProviders } = v.parse(rejectedSchema, problem.details);
  expect(rejectedProviders.map(({ providerId, reasons }) => [providerId, reasons.map(({ code }) => code)])).toEqual([
    ["main", ["privacy_constraint", "cloud_constraint"]],
    ["spare", ["privacy_constraint", "cloud_constraint"]],
  ]);
  await problemOf(await fetch(`${runs}/${requestId}`), 404, "not_found");
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-START-9 privacy orders the chain nearest first, stably; else the order stands", async () => {
  const target = (id: string, locality: string) => ({
    id,
    locality,
    adapter: "openai-chat",
    baseUrl: house.provider.origin,
    model: "m",
  });
  const near: Holdfast = await startBare({
    config: {
      targets: [target("cloud", "cloud"), target("edge1", "edge"), target("local", "local"), target("edge2", "edge")],
      routes: { default: ["cloud", "edge1", "local", "edge2"] },
    },
  });
  try {
    // Every target answers 404, which falls back, so the chain shows in the outcome.
    const chainOf = async (fields: object) => {
      const outcome = await objectOf(await post(`${near.origin}/v1/runs?wait=20`, startBody({ ...fields })));
      return v.parse(v.object({ provenance: v.object({ attemptedProviderIds: v.array(v.string()) }) }), outcome)
        .provenance.attemptedProviderIds;
    };
    const nearest = ["local", "edge1", "edge2", "cloud"];
    expect(await chainOf({ constraints: { privacy: "local_preferred" } })).toEqual(nearest);
    expect(await chainOf({ preferences: { optimizeFor: "privacy" } })).toEqual(nearest);
    expect(await chainOf({ preferences: { optimizeFor: "cost" } })).toEqual(["cloud", "edge1", "local", "edge2"]);
    expect(await chainOf({})).toEqual(["cloud", "edge1", "local", "edge2"]);
    expect(await chainOf({ constraints: { privacy: "local_required" } })).toEqual(["local"]);
    expect(await chainOf({ constraints: { cloud: "forbidden" } })).toEqual(["edge1", "local", "edge2"]);
    expect(await chainOf({ constraints: { cloud: "required" } })).toEqual(["cloud"]);
  } finally {
    await near.stop();
  }
});
