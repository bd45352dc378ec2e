// Laws of every provider reader over the corpus: what each stream is read as, and that no wrong type, no bytes and no size make
// a reader throw or go without its one verdict. Splits and cuts have laws of their own.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { corpus, corpusFormats } from "../support/corpus/index.ts";
import type { CorpusStream } from "../support/corpus/corpus-stream.ts";
import { readPackets, sumUp } from "../support/corpus/reading.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";
import { parseJson, isRecord } from "../../src/wire/json.ts";

const formats = corpusFormats.map(({ format }) => format);
const title = ({ format, name }: CorpusStream): string => `${format}: ${name}`;

describe("R-PROV-1 R-PROV-2 R-PROV-3 R-PROV-5 R-PROV-22 R-PROV-23 R-PROV-24 the corpus read in one packet", () => {
  for (const stream of corpus) {
    test(title(stream), () => {
      const reading = sumUp(readPackets(stream.format, [toBytes(stream.wire)]));
      const [verdict] = reading.verdicts;
      expect(reading.verdicts).toHaveLength(1);
      expect(reading.last).toBe(verdict);
      const end =
        verdict?.verdict === "failed"
          ? {
              verdict: "failed",
              failureClass: verdict.failure.failureClass,
              ...(verdict.failure.providerCode !== undefined && { providerCode: verdict.failure.providerCode }),
            }
          : { verdict: verdict?.verdict, ...(verdict?.verdict === "complete" && { stopReason: verdict.stopReason }) };
      expect(end).toEqual(stream.end);
      expect(reading.text).toBe(stream.text ?? "");
      expect(reading.reasoning).toBe(stream.reasoning ?? "");
      expect(reading.calls).toEqual(stream.calls ?? []);
      expect(reading.usage).toEqual(stream.usage);
    });
  }
});

test("R-PROV-3 a wrong type in any field never throws, and still ends in one verdict", () => {
  const wires = corpus.flatMap(({ format, wire }) =>
    typeof wire === "string" ? [{ format, lines: wire.split("\n") }] : [],
  );
  const odd = fc.oneof(
    fc.constantFrom(null, true, 0, -1, 1e99, "", " ", "[DONE]", [], {}, [null], [[]], { error: null }, "__proto__"),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...wires),
      fc.array(fc.tuple(fc.nat(), fc.nat(), odd), { maxLength: 4, minLength: 1 }),
      ({ format, lines }, changes) => {
        const changed = [...lines];
        for (const [line, path, value] of changes) {
          const index = line % changed.length;
          changed[index] = mutateLine(changed[index] ?? "", path, value);
        }
        const events = readPackets(format, [toBytes(changed.join("\n"))]);
        const reading = sumUp(events);
        expect(reading.verdicts).toHaveLength(1);
        expect(reading.last).toBe(reading.verdicts[0]);
        for (const event of events) {
          if (event.type === "text" || event.type === "reasoning") expect(event.text).toMatch(/^[^]+$/);
          if (event.type === "tool_call") expect(isRecord(event.input)).toBe(true);
          if (event.type === "tool_call" || event.type === "tool_call_delta") {
            expect(event.toolCallId).toMatch(/\S/);
            expect(event.toolName).toMatch(/\S/);
          }
          if (event.type === "usage") {
            for (const count of Object.values(event.usage))
              expect(count).toSatisfy((n: unknown) => Number.isSafeInteger(n));
          }
        }
      },
    ),
    { numRuns: 3000 },
  );
});

test("R-PROV-3 arbitrary bytes never throw, and end in one verdict that is not complete", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...formats),
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }),
      (format, packets) => {
        const reading = sumUp(readPackets(format, packets));
        expect(reading.verdicts).toHaveLength(1);
        expect(reading.verdicts[0]?.verdict).not.toBe("complete");
      },
    ),
    { numRuns: 2000 },
  );
});

test("R-PROV-3 an event beyond the limit ends the attempt as malformed, in any format", () => {
  for (const format of formats) {
    for (const flood of [
      "x".repeat(300),
      `data: ${"x".repeat(300)}`,
      ": ".padEnd(300, "c"),
      `data: ${"x".repeat(60)}\n`.repeat(5),
    ]) {
      if (format === "ollama" && flood.includes("\n")) continue;
      const [verdict] = readPackets(format, [toBytes(flood), toBytes(flood)], 200);
      expect(verdict).toMatchObject({ verdict: "failed", failure: { failureClass: "malformed" } });
    }
  }
});

/** The line with the value at the n-th place of its JSON replaced. */
function mutateLine(line: string, place: number, value: unknown): string {
  const start = line.indexOf("{");
  const parsed = start === -1 ? undefined : parseJson(line.slice(start));
  if (parsed === undefined) return line;
  let left = place % (countPlaces(parsed.value) || 1);
  const replace = (node: unknown): unknown => {
    if (left-- === 0) return value;
    if (Array.isArray(node)) return node.map(replace);
    if (!isRecord(node)) return node;
    return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, replace(inner)]));
  };
  return line.slice(0, start) + JSON.stringify(replace(parsed.value));
}

function countPlaces(node: unknown): number {
  if (typeof node !== "object" || node === null) return 1;
  return 1 + Object.values(node).reduce((sum: number, inner: unknown) => sum + countPlaces(inner), 0);
}
