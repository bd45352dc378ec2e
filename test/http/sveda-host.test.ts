// What depends on the page that a visitor is at: the tools of its host's MCP server, and what becomes of a turn when the page is left.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { MODEL, says } from "../support/agent-house.ts";
import { startMcpServer, type McpServer } from "../support/mcp-server.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { modelSays, openSvedaHouse, sentBody, type SvedaHouse } from "../support/sveda-house.ts";
import { svedaFrames, svedaText } from "../support/sveda.ts";

let mcp: McpServer;
let house: SvedaHouse;

beforeAll(async () => {
  mcp = await startMcpServer();
  house = await openSvedaHouse(
    { onDisconnect: "cancel", limits: { stream: "0,1", token: "0,1" } },
    { disconnectGraceMs: 1500, heartbeatMs: 100 },
  );
});
afterEach(() => house.provider.reset());
afterAll(async () => {
  await house.stop();
  await mcp.stop();
});

test("R-SVH-5 R-SVH-19 the tools of the page's own MCP server are offered and called, with the page's context", async () => {
  const { provider } = house;
  const origin = mcp.origin.replace("127.0.0.1", "localhost");
  const visitor = await house.visitor({ host_mcp_url: `${origin}/sse`, host_mcp_token: "page-token" });
  modelSays(provider, says("", [["t1", "echo", { text: "hi" }]]), says("Echoed."));
  const { frames, status, raw } = await visitor.turn({ prompt: "Echo.", chatId: "c1", context: { page: "orders" } });
  expect(status, raw).toBe(200);
  expect(sentBody(provider, 0).tools?.map((tool) => tool.function.name)).toContain("echo");
  expect(frames.find(({ type }) => type === "tool.result")?.event).toMatchObject({
    toolCallId: "t1",
    toolName: "echo",
  });
  expect(svedaText(frames)).toBe("Echoed.");
  const call = mcp.calls("/sse").find(({ method }) => method === "tools/call");
  expect(call?.headers).toMatchObject({
    authorization: "Bearer page-token",
    "x-sveda-page-context": '{"page":"orders"}',
    "x-sveda-chat-id": "c1",
  });
  modelSays(provider, says("Hi."));
  await (await house.visitor()).turn({ prompt: "Hi." });
  expect(sentBody(provider, 2).tools?.map((tool) => tool.function.name) ?? []).not.toContain("echo");
});

test("R-SVH-31 with onDisconnect cancel a turn that nobody reads is cancelled after the grace; one that is read again goes on", async () => {
  const { provider } = house;
  const held = () =>
    streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["a", "b"] }), { gateBefore: { index: 2, name: "on" } });
  modelSays(provider, held, held);
  const visitor = await house.visitor();
  const leave = async (chatId: string): Promise<string> => {
    const gone = new AbortController();
    const response = await visitor.post("/stream", { prompt: "Hi", chatId }, {}, gone.signal);
    gone.abort();
    return response.headers.get("x-run-id") ?? "";
  };
  const left = await leave("left");
  await (
    await provider.waitForCall(MODEL)
  ).closed;
  const kept = await visitor.get(`/runs/${await leave("kept")}`);
  const end = svedaFrames(await (await visitor.get(`/runs/${left}`)).text());
  expect(end.find(({ type }) => type === "message.end")?.event["finishReason"]).toBe("cancelled");
  expect((await visitor.chat("left"))?.messages.at(-1)?.content).toBe("a");
  provider.open("on");
  expect(svedaText(svedaFrames(await kept.text()))).toBe("ab");
});
