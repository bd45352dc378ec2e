// What a provider's own SDK makes of the corpus, beside what our adapter makes of it. Every stream is compared, and a
// disagreement counts as known only while it stands in the table exactly as it is. It judges nobody to be right.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CorpusFormat, CorpusStream } from "../../support/corpus/corpus-stream.ts";
import { readPackets, sumUp } from "../../support/corpus/reading.ts";
import { startFaultProvider, type FaultProvider } from "../../support/fault-provider/server.ts";
import { streamScript } from "../../support/provider-bytes/scripts.ts";
import { toBytes } from "../../support/provider-bytes/splits.ts";

/** `input` is the parsed object, or the text that could not be parsed. */
export interface OracleCall {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly input: unknown;
}

export interface OracleReading {
  /** `incomplete`: the reader says that the end is missing. `error`: anything else that it reports as a failure. */
  readonly end: "complete" | "incomplete" | "error";
  readonly text: string;
  /** Absent where the SDK has no place for it. */
  readonly reasoning?: string;
  /** This and the rest: of complete answers only. What a failed one leaves is void. */
  readonly calls?: readonly OracleCall[];
  readonly stopReason?: string | undefined;
  readonly usage?: Readonly<Record<string, number>> | undefined;
}

export interface Disagreement {
  /** The fields in which the SDK differs, as the SDK has them. */
  readonly sdk: Partial<OracleReading>;
  readonly because: string;
}

export interface Oracle {
  readonly name: string;
  /** What of a reading the SDK has a word for. */
  readonly compares: readonly (keyof OracleReading)[];
  /** What every stream is preceded by, where the SDK does not read one that lacks it. */
  readonly opening?: string;
  /** Asks the provider at this base URL with the SDK and sums its answer up. */
  read(baseUrl: string): Promise<OracleReading>;
  /** By name of the stream. */
  readonly disagreements: Readonly<Record<string, Disagreement>>;
}

/** Defines one test per stream of the format. `path` is what the SDK adds to its base URL. */
export function compareWithOracle(format: CorpusFormat, contentType: string, path: string, oracle: Oracle): void {
  describe(`${oracle.name} and our ${format.format}`, () => {
    let provider: FaultProvider;
    beforeAll(async () => {
      provider = await startFaultProvider();
    });
    afterAll(() => provider.stop());

    test("R-PROV-5 every listed disagreement is about a stream of the corpus", () => {
      const names = new Set(format.streams.map(({ name }) => name));
      expect(Object.keys(oracle.disagreements).filter((name) => !names.has(name))).toEqual([]);
    });

    for (const stream of format.streams) {
      test(`R-PROV-1 R-PROV-2 R-PROV-5 ${stream.name}`, async () => {
        provider.reset();
        provider.on(path, streamScript(contentType, [oracle.opening ?? "", stream.wire]));
        const theirs = pick(await oracle.read(provider.origin), oracle.compares);
        expect(provider.calls(path), "the SDK asked here, and once").toHaveLength(1);
        const ours = pick(ourReading(stream), oracle.compares);
        const listed = oracle.disagreements[stream.name];
        const said = `${listed?.because ?? "not listed"}; the SDK reads ${JSON.stringify(theirs)}`;
        expect(theirs, said).toEqual({ ...ours, ...listed?.sdk });
        for (const field of oracle.compares) {
          if (listed !== undefined && field in listed.sdk)
            expect(theirs[field], `${field}: this disagreement is gone`).not.toEqual(ours[field]);
        }
      });
    }
  });
}

/** Our adapter's reading of the whole stream, in the oracle's words. */
function ourReading(stream: CorpusStream): OracleReading {
  return inOracleWords(sumUp(readPackets(stream.format, [toBytes(stream.wire)])));
}

function inOracleWords(reading: ReturnType<typeof sumUp>): OracleReading {
  const [verdict] = reading.verdicts;
  const whole = verdict?.verdict === "complete";
  return {
    end: whole ? "complete" : verdict?.verdict === "truncated" ? "incomplete" : "error",
    text: reading.text,
    reasoning: reading.reasoning,
    calls: whole
      ? reading.calls.map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, input }))
      : [],
    stopReason: whole ? verdict.stopReason : undefined,
    usage: whole && reading.usage !== undefined ? countsOf(reading.usage) : undefined,
  };
}

/** The counts that are there; none is no usage. */
export function countsOf(counts: Readonly<Record<string, unknown>>): OracleReading["usage"] {
  const known = Object.entries(counts).flatMap(([name, count]) => (typeof count === "number" ? [[name, count]] : []));
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function pick(reading: OracleReading, fields: readonly (keyof OracleReading)[]): Partial<OracleReading> {
  return Object.fromEntries(fields.map((field) => [field, reading[field]]));
}
