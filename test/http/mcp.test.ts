// The whole Worker, as it is bundled, with a real MCP server and a signed tool: a scripted model calls what they offer.
import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  gives,
  inOrder,
  MODEL,
  openAgentHouse,
  payloads,
  play,
  says,
  sentMessages,
  toolPath,
  type AgentHouse,
} from "../support/agent-house.ts";
import { post, startBody } from "../support/api.ts";
import { startMcpServer, type McpServer } from "../support/mcp-server.ts";
import { follow } from "../support/run-reader.ts";
import { until } from "./house.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
let mcp: McpServer;
let house: AgentHouse;

beforeAll(async () => {
  mcp = await startMcpServer();
  house = await openAgentHouse({}, (origin) => ({
    config: {
      tools: [{ name: "clock", url: `${origin}${toolPath("clock")}`, keyVar: "CLOCK_KEY" }],
      mcpServers: [
        { id: "shop", url: `${mcp.origin}/sse`, keyVar: "SHOP_TOKEN" },
        { id: "gone", url: "http://127.0.0.1:9/mcp" },
      ],
    },
    vars: { CLOCK_KEY: SECRET, SHOP_TOKEN: "shop-token" },
  }));
});
afterEach(() => house.provider.reset());
afterAll(async () => {
  await house.stop();
  await mcp.stop();
});

test("R-TOOL-15 R-TOOL-17 R-TOOL-20 a model is offered an MCP server's tools, and its calls share a session", async () => {
  const { provider, runs } = house;
  const calls = [
    ["c1", "count"],
    ["c2", "structured"],
    ["c3", "count"],
  ] as const;
  provider.on(MODEL, inOrder(says("", calls), says("", [["c4", "count"]]), says("Done.")));
  const { events, outcome } = await play(runs, {});
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "Done." });
  const results = new Map(payloads(events, "tool_result").map((payload) => [payload["toolCallId"], payload]));
  expect(new Set([results.get("c1")?.["output"], results.get("c3")?.["output"]])).toEqual(new Set([1, 2]));
  expect(results.get("c4")?.["output"]).toBe(3);
  expect(results.get("c2")).toMatchObject({
    renderHint: "resource_links",
    renderData: { links: [{ label: "A", url: "https://a.test" }] },
  });
  const asked: { tools: { function: { name: string } }[] } = JSON.parse(provider.calls(MODEL)[0]?.body ?? "");
  expect(asked.tools.map((tool) => tool.function.name)).toEqual([
    "clock",
    "echo",
    "structured",
    "count",
    "files_remove",
    "files_write",
    "fail",
    "hang",
  ]);
  expect(sentMessages(provider, 0)[0]).toMatchObject({
    role: "system",
    content: expect.stringContaining("Remove files with care."),
  });
  expect(mcp.calls("/sse").every(({ headers }) => headers.authorization === "Bearer shop-token")).toBe(true);
  await until(() => mcp.sessions("/sse") === 0, "the run's sessions are closed");
});

test("R-TOOL-18 a server that cannot be listed is named in the log, and the run goes on", async () => {
  house.provider.on(MODEL, inOrder(says("Hello.")));
  const { events, outcome } = await play(house.runs, {});
  expect(payloads(events, "diagnostic")).toContainEqual({ code: "tools_unavailable", server: "gone" });
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "Hello." });
});

test.each([
  { patterns: ["clo*", "files.*"] },
  { patterns: ["clo*", "files_*"] },
  { patterns: ["clo*", "*.remove", "files_write"] },
])("R-TOOL-2 $patterns choose among all tools, by either name", async ({ patterns }) => {
  house.provider.on(MODEL, inOrder(says("Hello.")));
  await play(house.runs, { serverTools: patterns });
  const asked: { tools: { function: { name: string } }[] } = JSON.parse(house.provider.calls(MODEL)[0]?.body ?? "");
  expect(asked.tools.map((tool) => tool.function.name)).toEqual(["clock", "files_remove", "files_write"]);
});

test("R-TOOL-10 R-TOOL-11 an HTTP tool is called by a request that it can verify", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(says("", [["c1", "clock", { of: "day" }]]), says("Noon.")));
  provider.on(toolPath("clock"), gives({ time: "12:00" }));
  const { runId } = await play(runs, {});
  const [call] = provider.calls(toolPath("clock"));
  expect(call?.headers["idempotency-key"]).toBe(`${runId}/c1`);
  const signed = `${runId}/c1.${call?.headers["webhook-timestamp"]}.${call?.body}`;
  const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
  expect(call?.headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
});

test("R-TOOL-13 a cancelled run calls its MCP call off, and closes the session", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(says("", [["c1", "hang"]])));
  const reader = await follow(runs, { body: startBody({ serverTools: ["*"] }) });
  const called = (name: string): boolean =>
    mcp.calls("/sse").some(({ method, params }) => method === name || (name === "hang" && isCallOf(params, name)));
  await until(() => called("hang"), "the tool is called");
  expect(called("notifications/cancelled")).toBe(false);
  await post(`${runs}/${reader.runId}/cancel`, {});
  const events = await reader.rest();
  expect(events.at(-1)?.payload).toMatchObject({ outcome: "cancelled" });
  expect(payloads(events, "tool_result")).toMatchObject([{ toolCallId: "c1", isError: true }]);
  await until(() => called("notifications/cancelled"), "the call is called off");
  await until(() => mcp.sessions("/sse") === 0, "the run's sessions are closed");
});

const isCallOf = (params: unknown, name: string): boolean =>
  typeof params === "object" && params !== null && "name" in params && params.name === name;

test("R-STEP-9 R-USAGE-1 an estimate counts the definitions of all tools, as a server lists them", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, says("Done."));
  const { events } = await play(runs, {});
  const body = provider.calls(MODEL)[0]?.body ?? "{}";
  const sent: { tools: { function: unknown }[] } = JSON.parse(body);
  const defined = JSON.stringify(sent.tools.map((tool) => tool.function)).length;
  const [usage] = payloads(events, "context_usage");
  expect(sent.tools.length).toBeGreaterThan(3);
  expect(usage).toMatchObject({ estimated: true });
  // Beside them stand the prompt and what the server says of its tools.
  expect(Number(usage?.["usedTokens"])).toBeGreaterThan(defined / 4);
  expect(Number(usage?.["usedTokens"])).toBeLessThan(body.length / 4);
});
