// Numbers that a JavaScript number cannot hold, over real sockets: what a model writes is what a tool is sent, what a client is shown
// and what the model reads again, byte for byte; a wrong digit is another order.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startBody, post } from "../support/api.ts";
import {
  inOrder,
  MODEL,
  openAgentHouse,
  payloads,
  play,
  says,
  toolPath,
  type AgentHouse,
} from "../support/agent-house.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { ollamaChat, OLLAMA_STREAM_TYPE } from "../support/provider-bytes/ollama.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { errorScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { follow } from "../support/run-reader.ts";
import { ollama, pathOf } from "../support/scripted-targets.ts";

const INPUT = '{"order":9007199254740993,"limit":1e400,"rate":0.1}';
const OUTPUT = '{"cancelled":[9007199254740993,18446744073709551617],"left":12345678901234567890}';

let house: AgentHouse;
beforeAll(async () => {
  house = await openAgentHouse();
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const calls = (input: string, id = "c1", name = "clock"): Script =>
  streamScript(
    OPENAI_STREAM_TYPE,
    openAiChat({ toolCalls: [{ id, name, arguments: [input.slice(0, 12), input.slice(12)] }] }),
  );
const answers = (json: string): Script => errorScript(200, {}, json);
/** What a model was sent, without the escapes of a text in a text. */
const sent = (index: number, path = MODEL): string =>
  (house.provider.calls(path)[index]?.body ?? "").replaceAll("\\", "");

test("R-TOOL-10 R-TOOL-23 a tool is called once, with the bytes of the model's numbers, and its own come back", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(calls(INPUT), says("Done.")));
  provider.on(toolPath("clock"), answers(OUTPUT));
  const { events, outcome } = await play(runs, {});
  expect(provider.calls(toolPath("clock")).map(({ body }) => body)).toEqual([INPUT]);
  expect(payloads(events, "tool_call")).toEqual([
    { toolCallId: "c1", toolName: "clock", inputJson: INPUT, execution: "server" },
  ]);
  expect(payloads(events, "tool_result")).toEqual([{ toolCallId: "c1", toolName: "clock", outputJson: OUTPUT }]);
  expect(sent(1)).toContain(INPUT);
  expect(sent(1)).toContain(OUTPUT);
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "Done." });
});

test("R-TOOL-23 a provider that sends and takes inputs as objects is no exception", async () => {
  const { provider, runs } = house;
  const path = pathOf(ollama);
  const streamed = ollamaChat({ toolCalls: [{ name: "clock", arguments: { order: 7777 } }] }).map((line) =>
    line.replace("7777", "9007199254740993"),
  );
  provider.on(
    path,
    inOrder(
      streamScript(OLLAMA_STREAM_TYPE, streamed),
      streamScript(OLLAMA_STREAM_TYPE, ollamaChat({ deltas: ["Done."] })),
    ),
  );
  provider.on(toolPath("clock"), answers("9007199254740995"));
  const { events } = await play(runs, { targets: [`${ollama.name}-a`] });
  expect(provider.calls(toolPath("clock")).map(({ body }) => body)).toEqual(['{"order":9007199254740993}']);
  expect(payloads(events, "tool_result")).toMatchObject([{ outputJson: "9007199254740995" }]);
  expect(sent(1, path)).toContain('"arguments":{"order":9007199254740993}');
  expect(sent(1, path)).toContain('"content":"9007199254740995"');
});

test("R-NEXT-8 R-TOOL-23 an approved call is made with the number that was shown", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(calls(INPUT, "c1", "pay"), says("Paid.")));
  provider.on(toolPath("pay"), answers(OUTPUT));
  const asked = await play(runs, {});
  expect(payloads(asked.events, "tool_call")).toMatchObject([{ inputJson: INPUT, confirmation: "required" }]);
  const { prompt: _, ...body } = startBody({
    previousRunId: asked.runId,
    toolDecisions: [{ toolCallId: "c1", decision: "approve" }],
  });
  const events = await (await follow(runs, { body })).rest();
  expect(provider.calls(toolPath("pay")).map((call) => call.body)).toEqual([INPUT]);
  expect(payloads(events, "tool_result")).toMatchObject([{ outputJson: OUTPUT, decision: "approve" }]);
  expect(sent(1)).toContain(INPUT);
  expect(sent(1)).toContain(OUTPUT);
});

test("R-TOOL-23 R-TOOL-25 a client's result, and a conversation that a client sends, keep their digits", async () => {
  const { provider, runs } = house;
  provider.on(MODEL, inOrder(calls(INPUT, "c1", "mine"), says("Good."), says("Well.")));
  const tools = [{ name: "mine", parameters: { type: "object" } }];
  const asked = await play(runs, { tools });
  expect(payloads(asked.events, "tool_call")).toMatchObject([{ inputJson: INPUT, execution: "client" }]);
  const text = async (body: string): Promise<void> => {
    const response = await post(`${runs}?wait=20`, body);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ outcome: "completed" });
  };
  await text(
    `{"schemaVersion":"1.0","task":{"kind":"text_to_text"},"previousRunId":"${asked.runId}","toolResults":[{"toolCallId":"c1","output":${OUTPUT}}]}`,
  );
  expect(sent(1)).toContain(INPUT);
  expect(sent(1)).toContain(OUTPUT);
  const messages = `[{"role":"user","content":"Go."},{"role":"assistant","toolCalls":[{"toolCallId":"c9","toolName":"mine","input":${INPUT}}]},{"role":"tool","toolCallId":"c9","output":${OUTPUT}}]`;
  await text(
    `{"schemaVersion":"1.0","task":{"kind":"text_to_text"},"messages":${messages},"tools":${JSON.stringify(tools)}}`,
  );
  expect(sent(2)).toContain(INPUT);
  expect(sent(2)).toContain(OUTPUT);
});
