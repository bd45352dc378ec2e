// What a model wants back with its calls, through the whole product: over the steps of a run, and over a run that goes on from another.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  gives,
  goOn,
  inOrder,
  openAgentHouse,
  payloads,
  play,
  sentMessages,
  toolPath,
} from "../support/agent-house.ts";
import type { AgentHouse } from "../support/agent-house.ts";
import { ANTHROPIC_STREAM_TYPE, anthropicMessages } from "../support/provider-bytes/anthropic-messages.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { anthropic, pathOf } from "../support/scripted-targets.ts";

const CLAUDE = pathOf(anthropic);

let house: AgentHouse;

beforeAll(async () => {
  house = await openAgentHouse();
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

/** A step that thinks, and calls a tool. */
const thinks = (number: number, name: string) =>
  streamScript(
    ANTHROPIC_STREAM_TYPE,
    anthropicMessages({
      blocks: [
        { type: "thinking", deltas: ["Hm", `${number}`], signature: `c2ln${number}` },
        { type: "tool_use", id: `toolu_${number}`, name, partialJson: ["{}"] },
      ],
    }),
  );
const ends = streamScript(ANTHROPIC_STREAM_TYPE, anthropicMessages({ deltas: ["Done."] }));

const turn = (number: number, name: string) => ({
  role: "assistant",
  content: [
    { type: "thinking", thinking: `Hm${number}`, signature: `c2ln${number}` },
    { type: "tool_use", id: `toolu_${number}`, name, input: {} },
  ],
});
const result = (number: number, content: string) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: `toolu_${number}`, content }],
});
const question = { role: "user", content: [{ type: "text", text: "Say something." }] };

test("R-PROV-25 R-PROV-28 each step gets the thinking of the steps before it, unchanged", async () => {
  const { provider, runs } = house;
  provider.on(CLAUDE, inOrder(thinks(1, "clock"), thinks(2, "stock"), ends));
  provider.on(toolPath("clock"), gives("noon"));
  provider.on(toolPath("stock"), gives("3"));
  const { outcome, events } = await play(runs, { targets: ["anthropic-a"] });
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "Done." });
  expect(payloads(events, "tool_call")[0]?.["echo"]).toMatchObject({
    adapter: "anthropic-messages",
    target: "anthropic-a",
  });
  const steps = [question, turn(1, "clock"), result(1, "noon"), turn(2, "stock"), result(2, "3")];
  expect(sentMessages(provider, 1, CLAUDE)).toEqual(steps.slice(0, 3));
  expect(sentMessages(provider, 2, CLAUDE)).toEqual(steps);
});

test("R-PROV-25 R-PROV-28 a run that goes on from another gives the model its thinking with the client's result", async () => {
  const { provider, runs } = house;
  provider.on(CLAUDE, inOrder(thinks(1, "mine"), ends));
  const mine = { name: "mine", parameters: { type: "object" } };
  const first = await play(runs, { targets: ["anthropic-a"], tools: [mine] });
  expect(first.outcome).toMatchObject({ stopReason: "tool_calls", pending: [{ toolCallId: "toolu_1" }] });
  const toolResults = [{ toolCallId: "toolu_1", output: "here" }];
  const answer = await goOn(
    runs,
    first.runId,
    { targets: ["anthropic-a"], toolResults },
    { accept: "text/event-stream" },
  );
  expect(await answer.text()).toContain('"finalText":"Done."');
  expect(sentMessages(provider, 1, CLAUDE)).toEqual([question, turn(1, "mine"), result(1, "here")]);
});
