// The request of a run that goes on from another: what it inherits, what its calls were given, and what is refused by field.
import { describe, expect, test } from "vitest";
import type { Continuation } from "../../schemas/continuation.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { continuedRequest } from "../../src/run/continued-request.ts";
import { checkStartRequest } from "../../src/run/request.ts";

const base = { schemaVersion: "1.0", task: { kind: "text_to_text" } } satisfies StartRequest;

const calls = [
  { toolCallId: "c1", toolName: "ask_user", input: { q: 1 } },
  { toolCallId: "s1", toolName: "delete_all", input: { sure: true }, echo: { seal: "x" } },
  { toolCallId: "s2", toolName: "delete_one", input: {} },
];

function waiting(request: Partial<StartRequest> = {}): Extract<Continuation, { found: true }> {
  return {
    found: true,
    request: { ...base, prompt: "Tidy up.", ...request },
    turns: [{ role: "assistant", content: "I will.", toolCalls: calls }],
    open: calls.map((call, index) =>
      index === 0 ? { ...call, execution: "client" } : { ...call, execution: "server", confirmation: "required" },
    ),
  };
}

const body = (fields: Partial<StartRequest>): StartRequest => ({ ...base, previousRunId: "before", ...fields });

function continued(fields: Partial<StartRequest>, before = waiting()) {
  const made = continuedRequest(body(fields), before);
  if (!made.ok) throw new Error(JSON.stringify(made.issues));
  return made;
}

describe("the request of a continuation", () => {
  test("R-NEXT-2 is the earlier one, with its turns and the given results after its messages", () => {
    const { request, carried } = continued({ toolResults: [{ toolCallId: "c1", output: { yes: 1 }, isError: true }] });
    expect(request).toEqual({
      ...base,
      messages: [
        { role: "user", content: "Tidy up." },
        { role: "assistant", content: "I will.", toolCalls: calls },
        { role: "tool", toolCallId: "c1", output: { yes: 1 }, isError: true },
      ],
    });
    expect(carried.map(({ toolCallId, decision }) => [toolCallId, decision])).toEqual([
      ["s1", "undecided"],
      ["s2", "undecided"],
    ]);
  });

  test("R-NEXT-3 calls that stay open are carried with what was decided, as they were made", () => {
    const { request, carried } = continued({
      toolDecisions: [
        { toolCallId: "s2", decision: "deny" },
        { toolCallId: "s1", decision: "approve" },
      ],
    });
    expect(request.messages).toHaveLength(2);
    expect(carried).toEqual([
      { ...calls[0], execution: "client", decision: "undecided" },
      { ...calls[1], execution: "server", confirmation: "required", decision: "approve" },
      { ...calls[2], execution: "server", confirmation: "required", decision: "deny" },
    ]);
  });

  test("R-NEXT-2 its own fields stand, and a route or targets of its own replace either", () => {
    const before = waiting({
      route: "slow",
      maxSteps: 9,
      serverTools: ["*"],
      generation: { temperature: 1 },
      messages: [{ role: "system", content: "Be brief." }],
      prompt: "not read beside messages",
    });
    const given = { toolResults: [{ toolCallId: "c1", output: null }] };
    const plain = continued(given, before).request;
    expect(plain).toMatchObject({ route: "slow", maxSteps: 9, serverTools: ["*"], generation: { temperature: 1 } });
    expect(plain.messages?.[0]).toEqual({ role: "system", content: "Be brief." });
    expect(plain).not.toHaveProperty("prompt");
    for (const field of ["previousRunId", "toolResults", "toolDecisions"]) expect(plain).not.toHaveProperty(field);
    const other = continued({ ...given, targets: ["b"], maxSteps: 2, requestId: "next" }, before).request;
    expect(other).toMatchObject({ targets: ["b"], maxSteps: 2, requestId: "next" });
    expect(other).not.toHaveProperty("route");
  });

  test("R-NEXT-2 a tool choice that forces a call is not inherited", () => {
    const given = { toolResults: [{ toolCallId: "c1", output: null }] };
    for (const toolChoice of ["required", { name: "ask_user" }] as const) {
      expect(continued(given, waiting({ toolChoice })).request).not.toHaveProperty("toolChoice");
      expect(continued({ ...given, toolChoice }, waiting()).request.toolChoice).toEqual(toolChoice);
    }
    expect(continued(given, waiting({ toolChoice: "none" })).request.toolChoice).toBe("none");
  });

  test.each([
    [{ toolResults: [{ toolCallId: "x", output: 1 }] }, "/toolResults/0/toolCallId", "enum"],
    [{ toolDecisions: [{ toolCallId: "x", decision: "deny" }] }, "/toolDecisions/0/toolCallId", "enum"],
    [{ toolResults: [{ toolCallId: "s1", output: 1 }] }, "/toolResults/0/toolCallId", "not"],
    [{ toolDecisions: [{ toolCallId: "c1", decision: "approve" }] }, "/toolDecisions/0/toolCallId", "not"],
    [
      {
        toolDecisions: [
          { toolCallId: "s1", decision: "approve" },
          { toolCallId: "s1", decision: "deny" },
        ],
      },
      "/toolDecisions/1/toolCallId",
      "uniqueItems",
    ],
  ] satisfies [Partial<StartRequest>, string, string][])("R-NEXT-5 refuses %j", (fields, path, keyword) => {
    expect(continuedRequest(body(fields), waiting())).toMatchObject({ ok: false, issues: [{ path, keyword }] });
  });

  test("R-NEXT-5 brings what open calls wait for; where none is open it needs nothing", () => {
    expect(continuedRequest(body({}), waiting())).toMatchObject({
      ok: false,
      issues: [{ path: "/previousRunId", keyword: "anyOf" }],
    });
    expect(continued({}, { ...waiting(), open: [] })).toMatchObject({ request: { messages: [{}, {}] }, carried: [] });
  });

  test.each([
    [{ prompt: "And now?", toolResults: [{ toolCallId: "c1", output: 1 }] }, "/prompt", "oneOf"],
    [
      { messages: [{ role: "user", content: "x" }], toolResults: [{ toolCallId: "c1", output: 1 }] },
      "/messages",
      "oneOf",
    ],
    [{ toolResults: [{ toolCallId: "c1" }] }, "/toolResults/0/output", "loose_object"],
    [
      { previousRunId: undefined, prompt: "x", toolResults: [{ toolCallId: "c1", output: 1 }] },
      "/toolResults",
      "dependentRequired",
    ],
    [
      { previousRunId: undefined, prompt: "x", toolDecisions: [{ toolCallId: "c1", decision: "deny" }] },
      "/toolDecisions",
      "dependentRequired",
    ],
  ])("R-NEXT-5 a body of these fields is not valid: %j", (fields, path, keyword) => {
    const given = JSON.parse(JSON.stringify({ ...body({}), ...fields }));
    expect(checkStartRequest(given)).toMatchObject({ ok: false, issues: [{ path, keyword }] });
  });

  test("R-NEXT-5 a tool choice may name a tool of the server's or of the earlier run", () => {
    const given = { toolResults: [{ toolCallId: "c1", output: 1 }], toolChoice: { name: "anything" } };
    expect(checkStartRequest(body(given)).ok).toBe(true);
    expect(checkStartRequest({ ...base, prompt: "x", serverTools: ["*"], toolChoice: "required" }).ok).toBe(true);
    expect(checkStartRequest({ ...base, prompt: "x", toolChoice: "required" }).ok).toBe(false);
  });
});
