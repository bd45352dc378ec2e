// Runs and turns that go on where an MCP server is concerned: what it says stands once, and an approved call needs no listing of it.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { goOn, inOrder, MODEL, payloads, play, says, sentMessages } from "../support/agent-house.ts";
import { eventsOf, post, startBody, type WireEvent } from "../support/api.ts";
import { startMcpServer, type McpServer } from "../support/mcp-server.ts";
import { ANTHROPIC_STREAM_TYPE, anthropicMessages } from "../support/provider-bytes/anthropic-messages.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { anthropic, pathOf } from "../support/scripted-targets.ts";
import { modelSays, openSvedaHouse, type SvedaHouse } from "../support/sveda-house.ts";
import { svedaText } from "../support/sveda.ts";
import { faultyFields, newName, problemOf } from "./house.ts";

const CLAUDE = pathOf(anthropic);
const ANSWERED = "Done.";
const SAID = "Remove files with care.";

let mcp: McpServer;
let house: SvedaHouse;

beforeAll(async () => {
  mcp = await startMcpServer();
  house = await openSvedaHouse({}, {}, { mcpServers: [{ id: "shop", url: `${mcp.origin}/json` }] });
});
afterEach(() => {
  mcp.fail("nothing");
  house.provider.reset();
});
afterAll(async () => {
  await house.stop();
  await mcp.stop();
});

const removal = ["d", "files_remove", { path: "a.txt" }] as const;
const approval = { toolDecisions: [{ toolCallId: "d", decision: "approve" }] };

async function follow(answer: Response): Promise<readonly WireEvent[]> {
  expect(answer.status).toBe(200);
  return eventsOf(await answer.text());
}
const goesOn = async (previous: string, fields: Record<string, unknown>): Promise<readonly WireEvent[]> =>
  follow(await goOn(house.runs, previous, fields, { accept: "text/event-stream" }));
/** The calls of a tool that the server has got so far. */
const removals = (): number =>
  mcp
    .calls("/json")
    .filter(({ method, params }) => method === "tools/call" && /files\.remove/.test(JSON.stringify(params))).length;

test("R-NEXT-2 R-TOOL-15 R-PROV-28 however often a run goes on, the servers' words stand once, and the thinking stays", async () => {
  const { provider, runs } = house;
  const thinks = (number: number) =>
    streamScript(
      ANTHROPIC_STREAM_TYPE,
      anthropicMessages({
        blocks: [
          { type: "thinking", deltas: ["Hm"], signature: `c2ln${number}` },
          { type: "tool_use", id: `t${number}`, name: "mine", partialJson: ["{}"] },
        ],
      }),
    );
  const ends = streamScript(ANTHROPIC_STREAM_TYPE, anthropicMessages({ deltas: [ANSWERED] }));
  provider.on(CLAUDE, inOrder(thinks(1), thinks(2), thinks(3), ends));
  const fields = { targets: ["anthropic-a"], tools: [{ name: "mine", parameters: { type: "object" } }] };
  let { runId } = await play(runs, {
    ...fields,
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Go." },
    ],
    prompt: undefined,
  });
  for (const number of [1, 2, 3]) {
    const next = newName();
    await goesOn(runId, { requestId: next, toolResults: [{ toolCallId: `t${number}`, output: number }] });
    runId = next;
  }
  const bodies: { system: string }[] = provider.calls(CLAUDE).map(({ body }) => JSON.parse(body));
  expect(bodies).toHaveLength(4);
  expect(bodies[0]?.system).toContain(SAID);
  expect(new Set(bodies.map(({ system }) => system)).size).toBe(1);
  expect(bodies[0]?.system.split(SAID)).toHaveLength(2);
  const last = JSON.stringify(sentMessages(provider, 3, CLAUDE));
  for (const number of [1, 2, 3]) expect(last).toContain(`"signature":"c2ln${number}"`);
});

test("R-NEXT-8 an approved call is made although its server cannot be listed", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(says("", [removal]), says(ANSWERED)));
  const { runId } = await play(runs, {});
  mcp.fail("listings");
  const before = removals();
  const events = await goesOn(runId, approval);
  expect(payloads(events, "diagnostic")).toContainEqual({ code: "tools_unavailable", server: "shop" });
  expect(payloads(events, "tool_result")).toMatchObject([
    { toolCallId: "d", toolName: "files_remove", decision: "approve" },
  ]);
  expect(payloads(events, "tool_result")[0]).not.toHaveProperty("isError");
  expect(removals()).toBe(before + 1);
  expect(events.at(-1)?.payload).toMatchObject({ finalText: ANSWERED });
});

test("R-NEXT-8 a call whose server cannot be reached says that it was not made", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(says("", [removal]), says(ANSWERED)));
  const { runId } = await play(runs, {});
  mcp.fail("everything");
  const events = await goesOn(runId, approval);
  expect(payloads(events, "tool_result")).toMatchObject([
    {
      output: {
        success: false,
        error: "The MCP server could not be reached, or did not answer as one; the call was not made.",
      },
      isError: true,
    },
  ]);
});

test("R-NEXT-8 a call that the run may not make any more is not made, although it was approved", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(says("", [removal]), says(ANSWERED)));
  const { runId } = await play(runs, {});
  const before = removals();
  const events = await goesOn(runId, { ...approval, serverTools: ["echo"] });
  expect(payloads(events, "tool_result")).toMatchObject([
    { output: { success: false, error: "Unknown tool files_remove." }, isError: true },
  ]);
  expect(removals()).toBe(before);
});

test("R-NEXT-8 calls that stay open keep what they need over further runs", async () => {
  const { provider, runs } = house;
  const tools = [{ name: "mine", parameters: { type: "object" } }];
  provider.on(MODEL, inOrder(says("", [removal, ["m", "mine"]]), says(ANSWERED)));
  const { runId } = await play(runs, { tools });
  mcp.fail("listings");
  const before = removals();
  const next = newName();
  await goesOn(runId, { requestId: next, toolResults: [{ toolCallId: "m", output: 1 }] });
  const events = await goesOn(next, approval);
  expect(removals()).toBe(before + 1);
  expect(events.at(-1)?.payload).toMatchObject({ finalText: ANSWERED });
});

test("R-SVH-26 R-NEXT-8 so is a call that was approved in a chat, and its history does not show where it goes", async () => {
  const visitor = await house.visitor();
  const chatId = newName();
  modelSays(house.provider, says("May I? ", [removal]), says("Removed."));
  await visitor.turn({ prompt: "Do it.", chatId });
  expect(JSON.stringify(await visitor.chat(chatId))).not.toContain("serverId");
  mcp.fail("listings");
  const before = removals();
  const turn = await visitor.turn({ prompt: "", chatId, ...approval });
  expect(removals()).toBe(before + 1);
  expect(svedaText(turn.frames)).toBe("Removed.");
});

test("R-TOOL-22 a choice that names none of the tools is left out once the servers are listed, and says so", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, () => says(ANSWERED));
  const known = await play(runs, { toolChoice: { name: "files_remove" } });
  expect(payloads(known.events, "diagnostic")).toEqual([]);
  const unknown = await play(runs, { toolChoice: { name: "nothing" } });
  expect(payloads(unknown.events, "diagnostic")).toEqual([{ code: "parameter_unsupported", parameter: "toolChoice" }]);
  const none = await play(runs, { serverTools: ["nothing"], toolChoice: "required" });
  expect(payloads(none.events, "diagnostic")).toEqual([{ code: "parameter_unsupported", parameter: "toolChoice" }]);
  const sent: Record<string, unknown>[] = provider.calls(MODEL).map(({ body }) => JSON.parse(body));
  expect(sent.map((body) => body["tool_choice"])).toEqual([
    { type: "function", function: { name: "files_remove" } },
    undefined,
    undefined,
  ]);
});

test("R-TOOL-22 without servers to ask it is refused", async () => {
  for (const [fields, path] of [
    [{ serverTools: [], toolChoice: "required" }, "/toolChoice"],
    [{ serverTools: [], toolChoice: { name: "clock" } }, "/toolChoice/name"],
  ] satisfies [Record<string, unknown>, string][]) {
    const answer = await post(house.runs, startBody(fields));
    expect(faultyFields(await problemOf(answer, 400, "invalid_request"))).toEqual([path]);
  }
});
