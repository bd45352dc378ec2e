// What a model is sent for a step of a run with tools.
import { expect, test } from "vitest";
import { stepRequest } from "../../durable-objects/step-request.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
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
  expect(stepRequest(request, initialState(charter(["a"])), undefined)).toBe(request);
});

test("R-TOOL-2 a model is told a tool's name, description and parameters, and no more", () => {
  const sent = stepRequest(request, asAgent, { tools: [tool] });
  expect(sent.messages).toEqual([{ role: "user", content: "Go." }]);
  expect(sent.tools).toEqual([
    { name: "mine", parameters: { type: "object" } },
    { name: "clock", description: "Tells the time.", parameters: { type: "object" } },
  ]);
});

test("R-TOOL-2 a choice that forces a call holds for the first step, one that forbids calls for all", () => {
  const later = { ...asAgent, step: 1 };
  for (const toolChoice of ["required", { name: "clock" }] as const) {
    expect(stepRequest({ ...request, toolChoice }, asAgent, { tools: [tool] }).toolChoice).toEqual(toolChoice);
    expect(stepRequest({ ...request, toolChoice }, later, { tools: [tool] })).not.toHaveProperty("toolChoice");
  }
  expect(stepRequest({ ...request, toolChoice: "none" }, later, { tools: [tool] }).toolChoice).toBe("none");
});

test("R-TOOL-22 a choice that names none of the tools is not sent", () => {
  const sent = (toolChoice: StartRequest["toolChoice"], tools: ServerTool[]) =>
    stepRequest({ ...request, tools: [], toolChoice }, asAgent, { tools });
  expect(sent({ name: "mine" }, [tool])).not.toHaveProperty("toolChoice");
  expect(sent("required", [])).not.toHaveProperty("toolChoice");
  expect(sent("required", [tool]).toolChoice).toBe("required");
});

test("R-TOOL-2 a client's tool of the same name is not offered", () => {
  const tools = [...(request.tools ?? []), { name: "clock", description: "The client's.", parameters: {} }];
  const sent = stepRequest({ ...request, tools }, asAgent, { tools: [tool] });
  expect(sent.tools?.map(({ name, description }) => [name, description])).toEqual([
    ["mine", undefined],
    ["clock", "Tells the time."],
  ]);
});

test("R-TOOL-15 what servers say about their tools ends the system message, or is one", () => {
  const said = { tools: [tool], instructions: ["About a.", "About b."] };
  const user = { role: "user" as const, content: "Go." };
  const both = "About a.\n\nAbout b.";
  const sent = (messages: Message[]) => stepRequest({ ...request, messages }, asAgent, said).messages;
  expect(sent([user])).toEqual([{ role: "system", content: both }, user]);
  expect(sent([{ role: "system", content: "Be brief." }, user])).toEqual([
    { role: "system", content: `Be brief.\n\n${both}` },
    user,
  ]);
  const part = { type: "text" as const, text: "Be brief." };
  expect(sent([{ role: "system", content: [part] }, user])?.[0]).toEqual({
    role: "system",
    content: [part, { type: "text", text: both }],
  });
});

test("R-STEP-3 results stand in the order of their calls, each behind its own answer", () => {
  const calls = (...ids: string[]): Message => ({
    role: "assistant",
    toolCalls: ids.map((toolCallId) => ({ toolCallId, toolName: "clock", input: {} })),
  });
  const result = (toolCallId: string): Message => ({ role: "tool", toolCallId, output: toolCallId });
  const messages = [
    calls("a", "b", "c"),
    result("c"),
    result("odd"),
    result("a"),
    calls("c"),
    result("c"),
    calls("b", "a"),
    result("a"),
    result("b"),
  ];
  expect(stepRequest({ ...request, messages }, asAgent, { tools: [] }).messages).toEqual([
    calls("a", "b", "c"),
    result("a"),
    result("c"),
    result("odd"),
    calls("c"),
    result("c"),
    calls("b", "a"),
    result("b"),
    result("a"),
  ]);
});
