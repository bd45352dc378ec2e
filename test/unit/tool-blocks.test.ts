// Tool calls as blocks, over the three formats that have them: an opening that is sent twice, or late, makes no call and loses none.
import { describe, expect, test } from "vitest";
import { anthropicBlock, anthropicEnd, anthropicJson } from "../support/corpus/anthropic-messages.ts";
import { read, readPackets, sumUp, type Reading } from "../support/corpus/reading.ts";
import { anthropicMessageStart } from "../support/provider-bytes/anthropic-messages.ts";
import {
  bedrockEvent,
  bedrockStop,
  bedrockToolInput,
  bedrockToolStart,
} from "../support/provider-bytes/bedrock-converse.ts";
import { cohereEnd, cohereToolDelta, cohereToolStart } from "../support/provider-bytes/cohere.ts";

interface Format {
  start(index: number, id: string, name?: string): string | Uint8Array;
  input(index: number, piece: string): string | Uint8Array;
  end: string | Uint8Array;
  sum(wire: readonly (string | Uint8Array)[]): Reading;
}

const formats: Record<string, Format> = {
  "anthropic-messages": {
    start: (index, id, name = "pay") => anthropicBlock(index, { type: "tool_use", id, name, input: {} }),
    input: anthropicJson,
    end: anthropicEnd("tool_use"),
    sum: (wire) => read("anthropic-messages", [anthropicMessageStart(), ...wire.map(String)]),
  },
  "bedrock-converse": {
    start: (index, id, name = "pay") => bedrockToolStart(index, id, name),
    input: bedrockToolInput,
    end: bedrockStop("tool_use"),
    sum: (wire) =>
      sumUp(
        readPackets(
          "bedrock-converse",
          wire.map((part) => (typeof part === "string" ? new Uint8Array() : part)),
        ),
      ),
  },
  cohere: {
    start: (index, id, name = "pay") => cohereToolStart(index, id, name),
    input: cohereToolDelta,
    end: cohereEnd("TOOL_CALL"),
    sum: (wire) => read("cohere", wire.map(String)),
  },
};

const paid = { toolCallId: "t", toolName: "pay", input: { sum: 5 } };
const complete = { type: "verdict", verdict: "complete", stopReason: "tool_calls" };

describe.each(Object.entries(formats))("R-PROV-5 %s", (_name, { start, input, end, sum }) => {
  test("a start that is sent twice is one call", () => {
    expect(sum([start(0, "t"), start(0, "t"), input(0, '{"sum":5}'), end])).toMatchObject({
      calls: [paid],
      verdicts: [complete],
    });
  });
  test("a start that is sent again in the middle of the input, or at another index, is one call", () => {
    expect(sum([start(0, "t"), input(0, '{"sum"'), start(0, "t"), input(0, ":5}"), end]).calls).toEqual([paid]);
    expect(sum([start(0, "t"), input(0, '{"sum"'), start(2, "t"), input(2, ":5}"), end]).calls).toEqual([paid]);
  });
  test("another name, or an input that is whole, makes another call of the same id", () => {
    const other = { toolCallId: "t_1", toolName: "look", input: {} };
    expect(sum([start(0, "t"), input(0, '{"sum":5}'), start(1, "t", "look"), end]).calls).toEqual([paid, other]);
    const again = [start(1, "t"), input(1, '{"sum":6}')];
    expect(sum([start(0, "t"), input(0, '{"sum":5}'), ...again, end]).calls).toEqual([
      paid,
      { ...paid, toolCallId: "t_1", input: { sum: 6 } },
    ]);
  });
  test("input before its start is not lost", () => {
    expect(sum([input(0, '{"sum"'), start(0, "t"), input(0, ":5}"), end])).toMatchObject({
      calls: [paid],
      progress: { t: '{"sum":5}' },
      verdicts: [complete],
    });
  });
  test("R-PROV-3 input without any start is a fault, not an answer without a call", () => {
    expect(sum([input(0, '{"sum":5}'), end])).toMatchObject({
      calls: [],
      verdicts: [{ verdict: "failed", failure: { failureClass: "malformed" } }],
    });
  });
});

test("R-PROV-5 a whole start that is sent twice is one call", () => {
  const whole = cohereToolStart(0, "t", "pay", '{"sum":5}');
  expect(read("cohere", [whole, whole, cohereEnd("TOOL_CALL")]).calls).toEqual([paid]);
});

test("R-PROV-5 input that comes as an object, or whole as text, counts", () => {
  const delta = bedrockEvent("contentBlockDelta", { delta: { toolUse: { input: { sum: 5 } } } });
  const packets = [bedrockToolStart(0, "t", "pay"), delta, bedrockStop("tool_use")];
  expect(sumUp(readPackets("bedrock-converse", packets)).calls).toEqual([paid]);
  const block = anthropicBlock(0, { type: "tool_use", id: "t", name: "pay", input: '{"sum":5}' });
  expect(read("anthropic-messages", [anthropicMessageStart(), block, anthropicEnd("tool_use")]).calls).toEqual([paid]);
});
