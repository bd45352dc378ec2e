// The Bedrock ConverseStream reader: event-stream messages, and what must come of them.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { bedrockConverse, bedrockConverseReader } from "../../src/providers/bedrock-converse.ts";
import { readPackets, sumUp } from "../support/corpus/reading.ts";
import { awsMessage, withWrongByte } from "../support/provider-bytes/aws-event-stream.ts";
import {
  bedrockBlockStop,
  bedrockErrorMessage,
  bedrockEvent,
  bedrockException,
  bedrockMetadata,
  bedrockReasoning,
  bedrockStart,
  bedrockStop,
  bedrockText,
  bedrockToolInput,
  bedrockToolStart,
} from "../support/provider-bytes/bedrock-converse.ts";
import { joinBytes, toBytes } from "../support/provider-bytes/splits.ts";

const events = (...wire: readonly Uint8Array[]): ProviderEvent[] => readPackets("bedrock-converse", wire);
const reading = (...wire: readonly Uint8Array[]) => sumUp(events(...wire));
const complete = (stopReason?: string) => ({
  type: "verdict",
  verdict: "complete",
  ...(stopReason !== undefined && { stopReason }),
});
const truncated = { type: "verdict", verdict: "truncated" };
const failed = (failureClass: string) => ({ verdict: "failed", failure: { failureClass } });
const call = (toolCallId: string, toolName: string, input: unknown) => ({ toolCallId, toolName, input });

test("R-PROV-5 a whole answer becomes its events in order", () => {
  const wire = [
    bedrockStart(),
    bedrockReasoning({ text: "Hm" }),
    bedrockBlockStop(0),
    bedrockText("Hel", 1),
    bedrockText("lo", 1),
    bedrockBlockStop(1),
    bedrockStop(),
    bedrockMetadata(),
  ];
  expect(events(...wire)).toEqual([
    { type: "reasoning", text: "Hm" },
    { type: "text", text: "Hel" },
    { type: "text", text: "lo" },
    { type: "finishing", proven: true },
    { type: "usage", usage: { inputTokens: 12, outputTokens: 7, totalTokens: 19 } },
    complete("stop"),
  ]);
});

test("R-PROV-5 R-STEP-9 input from the cache, or put there, is counted apart", () => {
  const counts = { inputTokens: 12, outputTokens: 7, totalTokens: 519, cacheReadInputTokens: 400 };
  const metadata = bedrockMetadata({ ...counts, cacheWriteInputTokens: 100 });
  const usage = events(bedrockText("a"), bedrockStop(), metadata).filter(({ type }) => type === "usage");
  expect(usage).toEqual([
    {
      type: "usage",
      usage: {
        inputTokens: 12,
        outputTokens: 7,
        totalTokens: 519,
        cachedInputTokens: 400,
        cacheCreationInputTokens: 100,
      },
      apart: 500,
    },
  ]);
});

test("R-PROV-5 text is given out with the packet that ends its message", () => {
  const reader = bedrockConverseReader({ maxEvent: 1000 });
  const message = bedrockText("é");
  expect(reader.feed(message.subarray(0, -1))).toEqual([]);
  expect(reader.feed(joinBytes([message.subarray(-1), message.subarray(0, 5)]))).toEqual([{ type: "text", text: "é" }]);
});

describe("R-PROV-1 R-PROV-6 the end", () => {
  test("metadata ends the reading at once; nothing after it is read", () => {
    const reader = bedrockConverseReader({ maxEvent: 1000 });
    const wire = joinBytes([bedrockStop(), bedrockMetadata(), bedrockText("late")]);
    expect(reader.feed(wire).at(-1)).toEqual(complete("stop"));
    expect([...reader.feed(bedrockText("late")), ...reader.end(), ...reader.end()]).toEqual([]);
  });
  test("after the stop the answer is whole, whatever follows", () => {
    const wires: readonly Uint8Array[][] = [
      [],
      [bedrockMetadata().subarray(0, 9)],
      [withWrongByte(bedrockMetadata(), 50)],
      [bedrockException("internalServerException")],
      [toBytes("<html>".repeat(10))],
    ];
    for (const wire of wires) {
      expect(reading(bedrockText("a"), bedrockStop(), ...wire)).toMatchObject({
        text: "a",
        verdicts: [complete("stop")],
      });
    }
  });
  test.each<[string, Uint8Array[]]>([
    ["nothing", []],
    ["a start", [bedrockStart()]],
    ["text and its block's end", [bedrockText("a"), bedrockBlockStop(0)]],
    ["metadata alone", [bedrockText("a"), bedrockMetadata()]],
    ["half of the stop", [bedrockText("a"), bedrockStop().subarray(0, -1)]],
  ])("%s is truncated", (_name, wire) => expect(reading(...wire).verdicts).toEqual([truncated]));

  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
    ["constructor", undefined],
    ["something_new", undefined],
    [null, undefined],
    [7, undefined],
  ])("stopReason %s is %s", (reason, stopReason) => {
    expect(reading(bedrockText("a"), bedrockStop(reason)).verdicts).toEqual([complete(stopReason)]);
  });
  test.each(["malformed_model_output", "malformed_tool_use"])("R-PROV-3 stopReason %s is a failure", (reason) => {
    expect(reading(bedrockText("a"), bedrockStop(reason), bedrockMetadata()).verdicts).toMatchObject([
      failed("malformed"),
    ]);
  });
});

test("R-PROV-18 an end that is a failure is one at once, with nothing to wait for", () => {
  expect(bedrockConverseReader({ maxEvent: 1000 }).feed(bedrockStop("error"))).toMatchObject([failed("upstream_5xx")]);
});

describe("R-PROV-5 tool calls", () => {
  test("input in pieces is shown as it comes", () => {
    const wire = [bedrockToolStart(0, "t1", "f"), bedrockToolInput(0, '{"a"'), bedrockToolInput(0, ":1}")];
    expect(reading(...wire, bedrockStop("tool_use"))).toMatchObject({
      progress: { t1: '{"a":1}' },
      calls: [call("t1", "f", { a: 1 })],
      verdicts: [complete("tool_calls")],
    });
  });
  test("no input is an empty object", () => {
    const wire = [bedrockToolStart(0, "t1", "f"), bedrockToolInput(0, ""), bedrockStop("tool_use")];
    expect(reading(...wire).calls).toEqual([call("t1", "f", {})]);
  });
  test("blocks that share one index are calls of their own", () => {
    const block = (id: string) => [bedrockToolStart(0, id, "f"), bedrockToolInput(0, "{}"), bedrockBlockStop(0)];
    expect(reading(...block("t1"), ...block("t2"), bedrockStop("tool_use")).calls).toEqual([
      call("t1", "f", {}),
      call("t2", "f", {}),
    ]);
  });
  test("end_turn after a call means tool_calls", () => {
    expect(reading(bedrockToolStart(0, "t1", "f"), bedrockStop("end_turn")).verdicts).toEqual([complete("tool_calls")]);
  });
  test("a call that the length limit cut is left out, and it is said", () => {
    const wire = [bedrockToolStart(0, "t1", "f"), bedrockToolInput(0, '{"a'), bedrockStop("max_tokens")];
    expect(reading(...wire)).toMatchObject({
      calls: [],
      diagnostics: ["tool_call_incomplete"],
      verdicts: [complete("length")],
    });
  });
  test.each<[string, Uint8Array[]]>([
    ["half of the input", [bedrockToolStart(0, "t1", "f"), bedrockToolInput(0, '{"a":')]],
    ["input that is a list", [bedrockToolStart(0, "t1", "f"), bedrockToolInput(0, "[1]")]],
    ["no name", [bedrockEvent("contentBlockStart", { start: { toolUse: { toolUseId: "t1" } } })]],
  ])("R-PROV-3 %s is a fault, not an empty success", (_name, wire) => {
    expect(reading(...wire, bedrockStop("tool_use"))).toMatchObject({ calls: [], verdicts: [failed("malformed")] });
  });
  test("R-PROV-3 a flood of calls is a fault", () => {
    const wire = Array.from({ length: 300 }, (_, index) => bedrockToolStart(index, `t${index}`, "f"));
    expect(reading(...wire).verdicts).toMatchObject([failed("malformed")]);
  });
});

// B20
describe("R-PROV-3 a failure inside a stream keeps its class, first and after text", () => {
  test.each([
    ["throttlingException", "rate_limited", "Too many tokens, please wait before trying again."],
    ["serviceUnavailableException", "overloaded", ""],
    ["modelNotReadyException", "overloaded", ""],
    ["internalServerException", "upstream_5xx", ""],
    ["modelStreamErrorException", "upstream_5xx", ""],
    ["modelTimeoutException", "upstream_5xx", ""],
    ["validationException", "invalid_request", "Malformed input request"],
    ["validationException", "context_length", "Input is too long for requested model."],
    ["validationException", "context_length", "prompt is too long: 200049 tokens > 200000 maximum"],
    ["validationException", "context_length", "input length and `max_tokens` exceed context limit: 199999 + 4096"],
    ["accessDeniedException", "permission", ""],
    ["resourceNotFoundException", "model_not_found", ""],
    ["serviceQuotaExceededException", "quota", ""],
    ["expiredTokenException", "auth", ""],
  ])("%s: %s", (type, failureClass, message) => {
    const expected = { verdict: "failed", failure: { failureClass, providerCode: type } };
    expect(reading(bedrockException(type, message)).verdicts).toMatchObject([expected]);
    expect(reading(bedrockText("a"), bedrockException(type, message), bedrockStop())).toMatchObject({
      text: "a",
      verdicts: [expected],
    });
  });
  test("one that is not known is so called, and its word is not repeated", () => {
    const [verdict] = events(bedrockException("someNewException"));
    expect(verdict).toMatchObject(failed("unknown"));
    expect(JSON.stringify(verdict)).not.toContain("someNew");
  });
  test("a word and a text that stand in headers only", () => {
    expect(reading(bedrockErrorMessage("ThrottlingException", "x")).verdicts).toMatchObject([failed("rate_limited")]);
    expect(reading(bedrockErrorMessage("BadThing", "Input is too long")).verdicts).toMatchObject([
      failed("context_length"),
    ]);
  });
  test("a word that stands where an event's name does", () => {
    const headers = { ":message-type": "exception", ":event-type": "throttlingException" };
    expect(reading(bedrockText("a"), awsMessage(headers, '{"message":"x"}'), bedrockStop()).verdicts).toMatchObject([
      failed("rate_limited"),
    ]);
  });
  test("R-PROV-9 the message is ours", () => {
    for (const wire of [bedrockException("validationException", "SECRET"), bedrockErrorMessage("SECRET", "SECRET")]) {
      expect(JSON.stringify(events(wire))).not.toContain("SECRET");
    }
  });
});

describe("R-PROV-3 what is no message", () => {
  test.each<[string, Uint8Array]>([
    ["a wrong byte", withWrongByte(bedrockText("b"), 100)],
    ["a payload that is not JSON", awsMessage({ ":event-type": "contentBlockDelta", ":message-type": "event" }, "{")],
    ["text", toBytes("data: {}\n\n".repeat(3))],
  ])("%s is malformed", (_name, wire) => {
    expect(reading(bedrockText("a"), wire, bedrockStop())).toMatchObject({
      text: "a",
      verdicts: [failed("malformed")],
    });
  });
  test("payloads and events that say nothing are passed over", () => {
    const odd = ["null", "5", "[]", '"text"', "{}"].map((payload) =>
      awsMessage({ ":event-type": "contentBlockDelta" }, payload),
    );
    expect(reading(...odd, awsMessage({}, "{}"), bedrockStop()).verdicts).toEqual([complete("stop")]);
  });
  test("R-PROV-2 an event of another name is passed over, whatever its payload is", () => {
    const others = ["initial-response", "ping"].flatMap((name) =>
      ["", "{", "x"].map((payload) => awsMessage({ ":event-type": name, ":message-type": "event" }, payload)),
    );
    expect(reading(...others, bedrockText("a"), bedrockStop())).toMatchObject({
      text: "a",
      verdicts: [complete("stop")],
    });
  });
  test("a stream begins with the length of a message; JSON and pages do not", () => {
    expect(["\0", "{", "<", "d", " "].map((character) => bedrockConverse.starts(character))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

test("R-PROV-3 a wrong type in any field never throws, and still ends in one verdict", () => {
  const names = ["contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"];
  const odd = fc.oneof(
    fc.constantFrom(null, true, 0, -1, 1e99, "", [], {}, "__proto__"),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const payload = fc.oneof(
    odd,
    fc.record({ contentBlockIndex: odd, delta: odd, start: odd, stopReason: odd, usage: odd }, { requiredKeys: [] }),
    fc.record({ delta: fc.record({ text: odd, toolUse: odd, reasoningContent: odd }, { requiredKeys: [] }) }),
    fc.record({ start: fc.record({ toolUse: fc.record({ toolUseId: odd, name: odd, type: odd }) }) }),
    fc.record({ delta: fc.record({ toolUse: fc.record({ input: odd }) }), contentBlockIndex: fc.nat(2) }),
    fc.record({ usage: fc.record({ inputTokens: odd, outputTokens: odd, totalTokens: odd }) }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...names), payload), { maxLength: 8 }), (messages) => {
      const summed = reading(...messages.map(([name, value]) => bedrockEvent(name, value ?? {})));
      expect(summed.verdicts).toHaveLength(1);
      expect(summed.last).toBe(summed.verdicts[0]);
      for (const count of Object.values(summed.usage ?? {})) {
        expect(count).toSatisfy((value: unknown) => Number.isSafeInteger(value));
      }
    }),
    { numRuns: 1500 },
  );
});
