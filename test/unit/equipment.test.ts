// The tools that a run is accepted with: whose names win, what is said about them, and what has no room.
import { expect, test } from "vitest";
import { equipped } from "../../durable-objects/equipment.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { ServerTool } from "../../schemas/tool.ts";
import { checkConfig } from "../../src/run/settings.ts";
import { planBody } from "./planned.ts";

const settings = checkConfig({
  targets: [{ id: "demo", adapter: "demo" }],
  routes: { default: ["demo"] },
  tools: [{ name: "clock", url: "https://tools.test/clock" }],
});
if (!settings.ok) throw new Error("the configuration is valid");
const { config } = settings;

async function planOf(fields: Partial<StartRequest> = {}): Promise<RunPlan> {
  const body = { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "Go.", serverTools: ["*"], ...fields };
  const planned = await planBody(body, config);
  if (!planned.ok) throw new Error(planned.problem.message);
  return planned.value;
}

const listed = (serverId: string, name: string, description = ""): ServerTool => ({
  name,
  description,
  parameters: { type: "object", properties: {} },
  domain: "other",
  mode: "read",
  confirmation: false,
  idempotent: false,
  timeoutMs: 1000,
  source: { type: "mcp", serverId, toolName: name },
});
const names = (plan: RunPlan): string[] => plan.agent?.tools.map(({ name }) => name) ?? [];

test("R-TOOL-2 of equal names the configuration's tool stays, then the first server's; a client's is not offered", async () => {
  const tools = ["clock", "search", "mine"].map((name) => ({ name, parameters: { type: "object" } }));
  const { plan, unavailable } = equipped(await planOf({ tools }), {
    tools: [listed("a", "clock"), listed("a", "search", "first"), listed("b", "search", "second")],
    instructions: [],
    failed: ["c"],
  });
  expect(names(plan)).toEqual(["clock", "search"]);
  expect(plan.agent?.tools.map(({ source }) => source.type)).toEqual(["http", "mcp"]);
  expect(plan.agent?.tools[1]?.description).toBe("first");
  expect(plan.asks).toMatchObject({ tools: true, clientTools: ["mine"] });
  expect(unavailable).toEqual(["c"]);
});

test("R-NEXT-2 R-TOOL-15 the request stays as it was given; what servers say is kept beside it, and counted", async () => {
  const before = await planOf({ tools: [{ name: "search", parameters: { type: "object" } }] });
  const tools = [listed("a", "search")];
  const { plan } = equipped(before, { tools, instructions: ["About a."], failed: [] });
  expect(plan.request).toEqual(before.request);
  expect(plan.agent?.instructions).toEqual(["About a."]);
  const silent = equipped(before, { tools, instructions: [], failed: [] }).plan;
  expect(plan.asks.promptBytes - silent.asks.promptBytes).toBe('["About a."]'.length);
});

test("R-TOOL-18 tools that do not fit are left out, whatever the request, and their server is named", async () => {
  const large = "é".repeat(300_000);
  const { plan, unavailable } = equipped(await planOf({ prompt: "a".repeat(500_000), metadata: { large } }), {
    tools: [
      listed("a", "one", large),
      listed("a", "two", large),
      listed("a", "three", large),
      listed("b", "four", large),
      listed("b", "small"),
    ],
    instructions: [],
    failed: [],
  });
  expect(names(plan)).toEqual(["clock", "one", "two", "three", "small"]);
  expect(unavailable).toEqual(["b"]);
  expect(new TextEncoder().encode(JSON.stringify(plan.agent)).byteLength).toBeLessThan(2_000_000);
});

test("R-USAGE-1 what a model is sent has the definitions of the server's tools, those of listed servers too", async () => {
  const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).byteLength;
  const defined = ({ name, description, parameters }: ServerTool) => ({ name, description, parameters });
  const none = await planOf({ serverTools: undefined });
  const own = await planOf();
  const clock = own.agent?.tools.map(defined) ?? [];
  expect(clock.map(({ name }) => name)).toEqual(["clock"]);
  expect(own.asks.promptBytes - none.asks.promptBytes).toBe(bytes(clock));
  const more = [listed("a", "search", "é".repeat(1000))];
  const { plan } = equipped(own, { tools: more, instructions: [], failed: [] });
  expect(plan.asks.promptBytes - none.asks.promptBytes).toBe(bytes([...clock, ...more.map(defined)]));
});

test("R-TOOL-2 a run without an agent is accepted as it was planned", async () => {
  const plan = await planOf({ serverTools: undefined });
  expect(equipped(plan, { tools: [], instructions: [], failed: [] }).plan).toBe(plan);
});
