// What a model is sent for a step of a run with tools.
import { expect, test } from "vitest";
import { stepRequest } from "../../durable-objects/step-request.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { ServerTool } from "../../schemas/tool.ts";
import { initialState } from "../../src/run/state.ts";
import { agent, charter } from "./scenarios/drive.ts";

const request: StartRequest = {
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  prompt: "Go.",
  tools: [{ name: "mine", parameters: { type: "object" } }],
};
const tool: ServerTool = {
  name: "clock",
  description: "Tells the time.",
  parameters: { type: "object" },
  domain: "other",
  mode: "read",
  confirmation: true,
  idempotent: false,
  timeoutMs: 1000,
  source: { type: "http", url: "https://secret-place.test/", keyVar: "SECRET_NAME" },
};

const asAgent = initialState(charter(["a"], { agent: agent(["clock"]) }));

test("R-TOOL-2 a run without an agent sends its request as it stands", () => {
  expect(stepRequest(request, initialState(charter(["a"])), [])).toBe(request);
});

test("R-TOOL-2 a model is told a tool's name, description and parameters, and no more", () => {
  const sent = stepRequest(request, asAgent, [tool]);
  expect(sent.messages).toEqual([{ role: "user", content: "Go." }]);
  expect(sent.tools).toEqual([
    { name: "mine", parameters: { type: "object" } },
    { name: "clock", description: "Tells the time.", parameters: { type: "object" } },
  ]);
});

test("R-TOOL-2 a choice that forces a call holds for the first step, one that forbids calls for all", () => {
  const later = { ...asAgent, step: 1 };
  for (const toolChoice of ["required", { name: "clock" }] as const) {
    expect(stepRequest({ ...request, toolChoice }, asAgent, [tool]).toolChoice).toEqual(toolChoice);
    expect(stepRequest({ ...request, toolChoice }, later, [tool])).not.toHaveProperty("toolChoice");
  }
  expect(stepRequest({ ...request, toolChoice: "none" }, later, [tool]).toolChoice).toBe("none");
});
