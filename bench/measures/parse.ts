// Bytes to canonical events, without a server: how fast, beside two libraries on the same bytes in the same turns; how the time
// grows with the body; and what one large event makes the process hold. Times are this process's processor time: what else the
// machine does meanwhile does not count.
import type { Adapter } from "../../src/providers/provider.ts";
import { formatBodies, openAiEvents, perEvent, unaligned, wordsOf, type ParseBody } from "../stand/parse-bodies.ts";
import { largeBody, largeEventPeak } from "../stand/parse-scale.ts";
import { adaptersOf, readPackets, readStream, readWithAiSdk, readWithOpenAi, type Adapters } from "../stand/parsers.ts";
import type { Product } from "../stand/stand.ts";
import { median, takeTurns } from "../stand/statistics.ts";
import type { Finding, Measure, Report } from "./measure.ts";

const EVENTS = 10_000;
const ROUNDS = 7;
const BUDGET_MS = 15_000;
/** Reads of one body per turn: one alone takes a few milliseconds. */
const REPEATS = 5;

const MIN_MB_PER_SECOND = 60;
const MAX_MICROSECONDS = 5;
const MIN_ADVANTAGE = 2.5;

const MIB = 1024 * 1024;
const SMALL_MIB = 8;
const LARGE_MIB = 128;
/** Time per byte of the large body, in that of the small one. */
const MAX_GROWTH = 1.25;
const LARGE_EVENT_MIB = 8;
const MAX_EVENT_COPIES = 2;

export const parse: Measure = {
  name: "parse",
  about: "bytes to events in Node, no server; references: npm openai and the AI SDK on the same bytes",
  async take(stand) {
    const trees = await Promise.all(
      stand.productNames.map(async (name) => ({ name, adapters: await adaptersOf(stand.treeOf(name)) })),
    );
    const parts: Report[] = [];
    const words = wordsOf(EVENTS);
    for (const padded of [true, false]) {
      const events = openAiEvents(words, padded);
      const kind = padded ? "padded to 300 bytes" : "about 300 bytes";
      parts.push(await speeds(trees, `${kind}, one per packet`, perEvent(events, words)));
      parts.push(await speeds(trees, `${kind}, cut anywhere`, unaligned(events, words)));
    }
    parts.push(otherFormats(trees, words));
    for (const lineEnd of ["\n", "\r\n"] as const) parts.push(await growth(trees, lineEnd));
    parts.push(await largeEvent(trees));
    return { findings: parts.flatMap(({ findings }) => findings), context: parts.flatMap(({ context }) => context) };
  },
};

interface Tree {
  readonly name: Product["name"];
  readonly adapters: Adapters;
}

/** Ours in two ways: packets at hand, for the cost of parsing alone; and from a stream, as the two libraries take it. */
async function speeds(trees: readonly Tree[], what: string, body: ParseBody): Promise<Report> {
  const { packets, text } = body;
  const same = (read: string): void => {
    if (read !== text) throw new Error("a reader's text is not the provider's");
  };
  const contestants = [
    ...trees.map(({ name, adapters }) => ({
      name,
      take: () => timed(() => same(readPackets(adapters["openai-chat"], packets).text)),
    })),
    ...trees.map(({ name, adapters }) => ({
      name: `${name} from a stream`,
      take: () => timed(async () => same(await readStream(adapters["openai-chat"], packets))),
    })),
    { name: "openai", take: () => timed(async () => same(await readWithOpenAi(packets))) },
    { name: "AI SDK", take: () => timed(async () => same(await readWithAiSdk(packets))) },
  ];
  await takeTurns(1, contestants);
  const results = await takeTurns(ROUNDS, contestants, BUDGET_MS);
  const seconds = (name: string): number => median(results.get(name) ?? []);
  const rate = (name: string): string => `${(body.bytes / 1e6 / seconds(name)).toFixed(0)} MB/s`;
  const findings = trees.flatMap(({ name: tree }): Finding[] => {
    const speed = body.bytes / 1e6 / seconds(tree);
    const each = (seconds(tree) * 1e6) / body.events;
    const measure = `parse: openai-chat, ${what}`;
    const own = { measure, tree, ours: `${speed.toFixed(0)} MB/s`, reference: "" };
    const beside = (library: string): Finding => {
      const times = seconds(library) / seconds(`${tree} from a stream`);
      return {
        measure,
        tree,
        ours: `${rate(`${tree} from a stream`)} streamed`,
        reference: `${rate(library)} ${library}`,
        compared: `${times.toFixed(1)}x`,
        target: `>= ${MIN_ADVANTAGE}x`,
        met: times >= MIN_ADVANTAGE,
      };
    };
    return [
      { ...own, compared: "", target: `>= ${MIN_MB_PER_SECOND} MB/s`, met: speed >= MIN_MB_PER_SECOND },
      {
        ...own,
        ours: `${each.toFixed(2)} us/event`,
        compared: "",
        target: `<= ${MAX_MICROSECONDS} us/event`,
        met: each <= MAX_MICROSECONDS,
      },
      beside("openai"),
      beside("AI SDK"),
    ];
  });
  return { findings, context: [] };
}

/** Seconds per read. */
async function timed(read: () => void | Promise<void>): Promise<number> {
  const begun = process.cpuUsage();
  for (let repeat = 0; repeat < REPEATS; repeat++) await read();
  return secondsSince(begun) / REPEATS;
}

function secondsSince(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1e6;
}

/** The formats that no target is set for. */
function otherFormats(trees: readonly Tree[], words: readonly string[]): Report {
  const context: string[] = [];
  for (const { name, adapters } of trees) {
    const known = new Map<string, Adapter>(Object.entries(adapters));
    for (const [format, kind, eventsOf] of formatBodies) {
      const adapter = known.get(format);
      if (adapter === undefined) continue;
      const body = perEvent(eventsOf(words), words);
      const times = Array.from({ length: ROUNDS * 3 }, () => {
        const begun = process.cpuUsage();
        readPackets(adapter, body.packets);
        return secondsSince(begun);
      });
      const seconds = median(times);
      const speed = (body.bytes / 1e6 / seconds).toFixed(0);
      const each = ((seconds * 1e6) / body.events).toFixed(2);
      const size = (body.bytes / body.packets.length).toFixed(0);
      context.push(
        `parse: ${name}: ${format}${kind}, one event of about ${size} bytes per packet: ${speed} MB/s, ${each} us/event`,
      );
    }
  }
  return { findings: [], context };
}

async function growth(trees: readonly Tree[], lineEnd: "\n" | "\r\n"): Promise<Report> {
  const contestants = trees.flatMap(({ name, adapters }) =>
    [SMALL_MIB, LARGE_MIB].map((size) => ({
      name: `${name} ${size}`,
      async take() {
        const begun = performance.now();
        const bytes = readPackets(adapters["openai-chat"], largeBody(size * MIB, lineEnd)).events;
        if (bytes === 0) throw new Error("nothing was read");
        return (performance.now() - begun) / size;
      },
    })),
  );
  await takeTurns(1, contestants);
  const results = await takeTurns(5, contestants, BUDGET_MS);
  const findings = trees.map(({ name: tree }) => {
    const [small, large] = [SMALL_MIB, LARGE_MIB].map((size) => median(results.get(`${tree} ${size}`) ?? []));
    const ratio = (large ?? Number.NaN) / (small ?? Number.NaN);
    return {
      measure: `parse: ${LARGE_MIB} MiB, ${lineEnd === "\n" ? "LF" : "CRLF"}, 16 KiB packets`,
      tree,
      ours: `${large?.toFixed(2)} ms/MiB`,
      reference: `${small?.toFixed(2)} ms/MiB of ${SMALL_MIB}`,
      compared: `${ratio.toFixed(2)}x`,
      target: `<= ${MAX_GROWTH}x`,
      met: ratio <= MAX_GROWTH,
    };
  });
  return { findings, context: [] };
}

async function largeEvent(trees: readonly Tree[]): Promise<Report> {
  const findings: Finding[] = [];
  const context: string[] = [];
  for (const { name: tree, adapters } of trees) {
    const { peak, held, event } = largeEventPeak(adapters["openai-chat"], LARGE_EVENT_MIB * MIB);
    const copies = peak / event;
    findings.push({
      measure: `parse: memory for one event of ${LARGE_EVENT_MIB} MiB, 16 KiB packets`,
      tree,
      ours: `+${(peak / MIB).toFixed(1)} MiB`,
      reference: `${(event / MIB).toFixed(1)} MiB event`,
      compared: `${copies.toFixed(2)}x`,
      target: `<= ${MAX_EVENT_COPIES}x`,
      met: copies <= MAX_EVENT_COPIES,
    });
    context.push(
      `parse: ${tree}: with garbage collected before each look the large event holds ${(held / event).toFixed(2)}x of itself`,
    );
  }
  return { findings, context };
}
