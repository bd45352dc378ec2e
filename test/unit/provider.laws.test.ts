// Laws of every provider reader over the corpus: any split and any spelling of the same bytes give the same events; every cut
// ends in exactly one verdict, which is `complete` only where the format's terminal contract was met.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { corpus, corpusFormats, formatOf, framingOf } from "../support/corpus/index.ts";
import type { CorpusStream } from "../support/corpus/corpus-stream.ts";
import { readPackets, sumUp } from "../support/corpus/reading.ts";
import { respell, spellings } from "../support/corpus/respell.ts";
import { seededSplits, splitBytes, toBytes } from "../support/provider-bytes/splits.ts";
import { parseJson, isRecord } from "../../src/wire/json.ts";
import { adapters } from "../../src/providers/index.ts";

const formats = corpusFormats.map(({ format }) => format);
const title = ({ format, name }: CorpusStream): string => `${format}: ${name}`;

describe("R-PROV-1 R-PROV-2 R-PROV-3 R-PROV-5 the corpus read in one packet", () => {
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

test.each(corpusFormats)(
  "R-PROV-2 $format: any split of any spelling gives the same events",
  ({ format, streams }) => {
    let cases = 0;
    const check = (stream: CorpusStream, expected: string, packets: readonly Uint8Array[], what: string): void => {
      cases++;
      const events = JSON.stringify(readPackets(stream.format, packets));
      if (events !== expected) expect.fail(`${title(stream)}, ${what}: ${events} instead of ${expected}`);
    };
    const expectedOf = (stream: CorpusStream): string =>
      JSON.stringify(readPackets(stream.format, [toBytes(stream.wire)]));

    for (const stream of streams) {
      const expected = expectedOf(stream);
      const plain = toBytes(stream.wire);
      for (let cut = 1; cut < plain.length; cut++) check(stream, expected, splitBytes(plain, [cut]), `cut at ${cut}`);
      for (const spelling of spellings) {
        const bytes = toBytes(respell(framingOf(stream), stream.wire, spelling));
        const what = JSON.stringify(spelling);
        check(stream, expected, [bytes], what);
        check(
          stream,
          expected,
          Array.from(bytes, (byte) => Uint8Array.of(byte)),
          `${what}, byte by byte`,
        );
        for (let seed = 1; seed <= 4; seed++)
          check(stream, expected, seededSplits(bytes, seed, 12), `${what}, seed ${seed}`);
      }
    }

    const plain = { lineEnd: "\n", space: true, bom: false, comments: false } as const;
    const mixed = { lineEnd: "mixed", space: false, bom: true, comments: true } as const;
    for (const stream of streams.filter(({ name }) => name === "the shortest answer")) {
      const expected = expectedOf(stream);
      for (const spelling of [plain, mixed]) {
        const bytes = toBytes(respell(framingOf(stream), stream.wire, spelling));
        for (let first = 1; first < bytes.length; first++) {
          for (let second = first + 1; second < bytes.length; second++) {
            check(stream, expected, splitBytes(bytes, [first, second]), `cuts at ${first} and ${second}`);
          }
        }
      }
    }
    console.log(`${format}: splits compared: ${cases}`);
    expect(cases).toBeGreaterThan(15_000);
  },
  60_000,
);

test("R-PROV-1 R-FALL-7 a cut at any byte is never complete before the terminal contract, and shows only a prefix", () => {
  let cuts = 0;
  for (const stream of corpus) {
    const bytes = toBytes(stream.wire);
    const whole = sumUp(readPackets(stream.format, [bytes]));
    const met = formatOf(stream).contractMetAt(stream);
    for (let cut = 0; cut <= bytes.length; cut++) {
      cuts++;
      const reader = adapters[stream.format].reader({ maxEvent: 1_000_000 });
      const events = [...reader.feed(bytes.subarray(0, cut)), ...reader.end()];
      const reading = sumUp(events);
      const at = `${title(stream)}, cut at ${cut}`;
      const [verdict] = reading.verdicts;
      if (reading.verdicts.length !== 1 || reading.last !== verdict) expect.fail(`${at}: not one verdict, last`);
      if (verdict?.verdict === "complete" && cut < met) expect.fail(`${at}: complete before byte ${met}`);
      if (verdict?.verdict !== "complete" && reading.calls.length > 0) expect.fail(`${at}: a tool call without an end`);
      if (!whole.text.startsWith(reading.text)) expect.fail(`${at}: text is no prefix`);
      if (!whole.reasoning.startsWith(reading.reasoning)) expect.fail(`${at}: reasoning is no prefix`);
      const late = [...reader.feed(bytes.subarray(cut)), ...reader.end()];
      if (late.length > 0) expect.fail(`${at}: something follows the verdict`);
    }
  }
  console.log(`cuts judged: ${cuts}`);
  expect(cuts).toBeGreaterThan(15_000);
}, 60_000);

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
