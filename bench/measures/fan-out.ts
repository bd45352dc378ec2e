// 100 viewers of one run, as fast as it goes and at a model's pace. The reference broadcasts what it reads to as many viewers,
// and numbers, keeps and bounds nothing.
import { answerEvents, delaysOf, flatOut, paced, paceOf, tokensOf, type WriteTimes } from "../stand/bodies.ts";
import type { OpenReading, Reading } from "../stand/client.ts";
import { framesOf, wholeRun, type Frame } from "../stand/frames.ts";
import { packetsOf, type Answer } from "../stand/provider.ts";
import type { Product, Reference, Stand } from "../stand/stand.ts";
import { median, percentile, takeTurns } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

const VIEWERS = 100;
const FLAT_EVENTS = 2000;
const FLAT_ROUNDS = 3;
const FLAT_BUDGET_MS = 35_000;
const DELIVERIES_PER_SECOND = 20_000;
const PER_SECOND = 50;
/** Per contestant: 10 s in two turns. */
const PACED_TURNS = 2;
const PACED_EVENTS = 250;
const P99_LIMIT_MS = 150;

/** What all viewers of one stream saw, each viewer's frames by itself. */
interface Showing {
  readonly viewers: readonly (readonly Frame[])[];
  /** From the gate's opening to the last viewer's end, seconds. */
  readonly seconds: number;
}

export const fanOut: Measure = {
  name: "fan-out",
  about: `${VIEWERS} viewers of one run, flat out; reference: broadcast without a log`,
  async take(stand) {
    const tokens = tokensOf(FLAT_EVENTS);
    const packets = packetsOf(answerEvents(tokens));
    const products = await stand.products();
    const reference = await stand.reference();
    const answer = (gate: Promise<void>): Answer => flatOut(packets, gate);
    const results = await takeTurns(
      FLAT_ROUNDS,
      [
        ...products.map((product) => ({
          name: product.name,
          take: async () => rateOf(await showRun(stand, product, answer, tokens.join(""))),
        })),
        { name: "broadcast", take: async () => rateOf(await showBroadcast(stand, reference, answer, packets.length)) },
      ],
      FLAT_BUDGET_MS,
    );
    const bare = median(results.get("broadcast") ?? []);
    return {
      findings: products.map(({ name: tree }) => {
        const ours = median(results.get(tree) ?? []);
        return {
          measure: `fan-out: ${VIEWERS} viewers flat out, deliveries/s`,
          tree,
          ours: whole(ours),
          reference: `${whole(bare)} broadcast`,
          compared: `${(ours / bare).toFixed(2)}x`,
          target: `>= ${whole(DELIVERIES_PER_SECOND)}`,
          met: ours >= DELIVERIES_PER_SECOND,
        };
      }),
      context: [
        `fan-out: ${whole(FLAT_EVENTS)} tokens, every viewer got all; ${[...results].map(([name, rates]) => `${name} ${rates.map(whole).join(" ")}`).join("; ")}`,
      ],
    };
  },
};

export const fanOutPaced: Measure = {
  name: "fan-out-paced",
  about: `${VIEWERS} viewers x ${PER_SECOND} events/s: delay from provider write to client read; reference: broadcast without a log`,
  async take(stand) {
    const products = await stand.products();
    const reference = await stand.reference();
    let pace = Number.POSITIVE_INFINITY;
    const turn = async (show: (answer: (gate: Promise<void>) => Answer) => Promise<Showing>): Promise<number[]> => {
      const writes: WriteTimes = [];
      const { viewers } = await show((gate) => paced({ count: PACED_EVENTS, perSecond: PER_SECOND, writes, gate }));
      pace = Math.min(pace, paceOf(writes));
      return viewers.flatMap((frames) => delaysOf(frames, writes, PACED_EVENTS));
    };
    const results = await takeTurns(PACED_TURNS, [
      ...products.map((product) => ({
        name: product.name,
        take: () => turn((answer) => showRun(stand, product, answer)),
      })),
      { name: "broadcast", take: () => turn((answer) => showBroadcast(stand, reference, answer)) },
    ]);
    const delays = (name: string): number[] => (results.get(name) ?? []).flat();
    const bare = percentile(delays("broadcast"), 0.99);
    return {
      findings: products.map(({ name: tree }) => {
        const ours = percentile(delays(tree), 0.99);
        return {
          measure: `fan-out-paced: ${VIEWERS} viewers x ${PER_SECOND}/s, delay p99`,
          tree,
          ours: `${ours.toFixed(1)} ms`,
          reference: `${bare.toFixed(1)} ms broadcast`,
          compared: `${(ours / bare).toFixed(2)}x`,
          target: `<= ${P99_LIMIT_MS} ms`,
          met: ours <= P99_LIMIT_MS && pace >= PER_SECOND * 0.95,
        };
      }),
      context: [
        `fan-out-paced: written at ${pace.toFixed(1)}/s; p50 in ms: ${[...results.keys()].map((name) => `${name} ${percentile(delays(name), 0.5).toFixed(1)}`).join("; ")}`,
      ],
    };
  },
};

/** One run with all viewers attached before its first token; each must get every sequence and, when it is given, this text. */
async function showRun(
  stand: Stand,
  product: Product,
  answer: (gate: Promise<void>) => Answer,
  text?: string,
): Promise<Showing> {
  const gate = Promise.withResolvers<void>();
  stand.provider.answer(answer(gate.promise));
  const runId = await product.start();
  const { readings, seconds } = await watch(
    () => product.view(runId),
    async () => gate.resolve(),
  );
  const viewers = readings.map((reading) => {
    const run = wholeRun(reading);
    if (text !== undefined && run.text !== text) throw new Error("a viewer's text is not the provider's");
    return run.frames;
  });
  return { viewers, seconds };
}

/** The same through the reference; each viewer must get as many frames as were sent. */
async function showBroadcast(
  stand: Stand,
  reference: Reference,
  answer: (gate: Promise<void>) => Answer,
  frames?: number,
): Promise<Showing> {
  const name = `broadcast-${performance.now()}`;
  stand.provider.answer(answer(Promise.resolve()));
  let source: Promise<Reading> | undefined;
  const { readings, seconds } = await watch(
    () => reference.open("view", name),
    async () => {
      source = reference.read("broadcast", name);
      await source;
    },
  );
  const viewers = readings.map(framesOf);
  if (frames !== undefined && viewers.some(({ length }) => length !== frames))
    throw new Error("a viewer missed a broadcast frame");
  return { viewers, seconds };
}

/** Opens all viewers, then the source, and reads to the end. */
async function watch(
  view: () => Promise<OpenReading>,
  begin: () => Promise<void>,
): Promise<{ readings: Reading[]; seconds: number }> {
  const open = await Promise.all(Array.from({ length: VIEWERS }, view));
  const begun = performance.now();
  const [readings] = await Promise.all([Promise.all(open.map((viewer) => viewer.whole)), begin()]);
  return { readings, seconds: (Math.max(...readings.map(({ endedAt }) => endedAt)) - begun) / 1000 };
}

/** Deliveries per second: tokens, times viewers. */
const rateOf = ({ seconds }: Showing): number => (FLAT_EVENTS * VIEWERS) / seconds;

const whole = (value: number): string => Math.round(value).toLocaleString("en");
