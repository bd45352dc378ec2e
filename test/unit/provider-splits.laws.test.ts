// Law 1 of every provider reader over the corpus: any split and any spelling of the same bytes give the same events. With
// `--mode laws` (`npm run test:laws`) in every spelling, a million splits and more.
import { expect, test } from "vitest";
import type { CorpusStream } from "../support/corpus/corpus-stream.ts";
import { corpus, corpusFormats, framingOf } from "../support/corpus/index.ts";
import { allLaws, drawing, MILLION } from "../support/corpus/laws.ts";
import { readPackets } from "../support/corpus/reading.ts";
import { respell, spellings, type StreamSpelling } from "../support/corpus/respell.ts";
import { seededSplits, splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

const mixed: StreamSpelling = { lineEnd: "mixed", space: false, bom: true, comments: true };

let compared = 0;
let total = 0;

/** The stream's events when it comes in one packet, and a judge of any other packets that mean the same. */
function judge(stream: CorpusStream): (packets: readonly Uint8Array[], what: string) => void {
  const expected = JSON.stringify(readPackets(stream.format, [toBytes(stream.wire)]));
  return (packets, what) => {
    compared++;
    total++;
    const events = JSON.stringify(readPackets(stream.format, packets));
    if (events === expected) return;
    expect.fail(`${stream.format}: ${stream.name}, ${what}: ${events} instead of ${expected}`);
  };
}

const spelled = (stream: CorpusStream, spelling: StreamSpelling): Uint8Array =>
  toBytes(respell(framingOf(stream), stream.wire, spelling));

/** The spellings in which this stream's bytes differ. */
function variantsOf(stream: CorpusStream): { bytes: Uint8Array; what: string }[] {
  const seen = new Map(spellings.map((spelling) => [respell(framingOf(stream), stream.wire, spelling), spelling]));
  return [...seen].map(([wire, spelling]) => ({ bytes: toBytes(wire), what: JSON.stringify(spelling) }));
}

test("R-PROV-2 every cut of every stream gives the same events", () => {
  compared = 0;
  for (const stream of corpus) {
    const check = judge(stream);
    const bytes = toBytes(stream.wire);
    for (let cut = 1; cut < bytes.length; cut++) check(splitBytes(bytes, [cut]), `cut at ${cut}`);
  }
  console.log(`streams cut once, everywhere: ${compared} splits of ${corpus.length} streams`);
  expect(compared).toBeGreaterThan(50_000);
}, 240_000);

test("R-PROV-2 every two cuts of each format's shortest answer give the same events", () => {
  compared = 0;
  const shortest = corpus.filter(({ name }) => name === "the shortest answer");
  expect(new Set(shortest.map(({ format }) => format)).size).toBe(corpusFormats.length);
  for (const stream of shortest) {
    const check = judge(stream);
    const wires = allLaws ? [toBytes(stream.wire), spelled(stream, mixed)] : [toBytes(stream.wire)];
    for (const bytes of wires) {
      for (let first = 1; first < bytes.length; first++) {
        for (let second = first + 1; second < bytes.length; second++) {
          check(splitBytes(bytes, [first, second]), `cuts at ${first} and ${second}`);
        }
      }
    }
  }
  console.log(`shortest answers cut twice, everywhere: ${compared} splits`);
  expect(compared).toBeGreaterThan(50_000);
}, 240_000);

test("R-PROV-2 any split of any spelling gives the same events", () => {
  compared = 0;
  const draw = drawing(7);
  const variants = corpus.map((stream) => ({ stream, all: variantsOf(stream) }));
  const spelledStreams = variants.reduce((sum, { all }) => sum + all.length, 0);
  const perVariant = allLaws ? Math.ceil(MILLION / spelledStreams) : 1;
  for (const { stream, all } of variants) {
    const check = judge(stream);
    const some = allLaws ? all : all.filter((_, index) => index === all.length - 1 || draw(8) === 1);
    for (const { bytes, what } of some) {
      check([bytes], what);
      check(
        Array.from(bytes, (byte) => Uint8Array.of(byte)),
        `${what}, byte by byte`,
      );
      for (let seed = 1; seed <= perVariant; seed++) check(seededSplits(bytes, seed, 12), `${what}, seed ${seed}`);
    }
  }
  console.log(`splits of spellings: ${compared}, of ${spelledStreams} spelled streams in all; splits so far: ${total}`);
  expect(compared).toBeGreaterThan(allLaws ? MILLION : 1000);
}, 240_000);
