// 50 runs at once, each at a model's pace: the delay of every token of every run. Reference: as many native pass-throughs.
import { delaysOf, paced, paceOf, type WriteTimes } from "../stand/bodies.ts";
import { framesOf, wholeRun, type Frame } from "../stand/frames.ts";
import { percentile, takeTurns } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

const RUNS = 50;
const PER_SECOND = 50;
/** Per contestant and run: 10 s in two turns. */
const TURNS = 2;
const TOKENS = 250;
const P99_LIMIT_MS = 150;

export const manyRuns: Measure = {
  name: "many-runs",
  about: `${RUNS} concurrent runs x ${PER_SECOND} events/s: delay from provider write to client read; reference: native pass-through`,
  async take(stand) {
    const products = await stand.products();
    const reference = await stand.reference();
    let pace = Number.POSITIVE_INFINITY;
    const turn = async (read: () => Promise<readonly Frame[]>): Promise<number[]> => {
      const writes: WriteTimes = [];
      stand.provider.answer(paced({ count: TOKENS, perSecond: PER_SECOND, writes }));
      const streams = await Promise.all(Array.from({ length: RUNS }, read));
      pace = Math.min(pace, paceOf(writes));
      return streams.flatMap((frames) => delaysOf(frames, writes, TOKENS));
    };
    const results = await takeTurns(TURNS, [
      ...products.map((product) => ({
        name: product.name,
        take: () => turn(async () => wholeRun(await (await product.stream()).whole).frames),
      })),
      { name: "pass", take: () => turn(async () => framesOf(await reference.read("pass"))) },
    ]);
    const delays = (name: string): number[] => (results.get(name) ?? []).flat();
    const bare = percentile(delays("pass"), 0.99);
    return {
      findings: products.map(({ name: tree }) => {
        const ours = percentile(delays(tree), 0.99);
        return {
          measure: `many-runs: ${RUNS} runs x ${PER_SECOND}/s, delay p99`,
          tree,
          ours: `${ours.toFixed(1)} ms`,
          reference: `${bare.toFixed(1)} ms pass`,
          compared: `${(ours / bare).toFixed(2)}x`,
          target: `<= ${P99_LIMIT_MS} ms`,
          met: ours <= P99_LIMIT_MS && pace >= PER_SECOND * 0.95,
        };
      }),
      context: [
        `many-runs: every reader got all; slowest run written at ${pace.toFixed(1)}/s; p50 in ms: ${[...results.keys()].map((name) => `${name} ${percentile(delays(name), 0.5).toFixed(1)}`).join("; ")}`,
      ],
    };
  },
};
