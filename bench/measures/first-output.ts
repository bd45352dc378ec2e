// How much later the first token arrives than through a Worker that passes the body on unread: accepting a run, and keeping its
// first output before it is shown.
import { delaysOf, paced, type WriteTimes } from "../stand/bodies.ts";
import { framesOf, wholeRun } from "../stand/frames.ts";
import type { Reading } from "../stand/client.ts";
import { median, percentile, takeTurns } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

const WARM_UPS = 5;
const RUNS = 60;
const LIMIT_MS = 5;

export const firstOutput: Measure = {
  name: "first-output",
  about: "request to first output; reference: native pass-through",
  async take(stand) {
    const products = await stand.products();
    const reference = await stand.reference();
    const writes: WriteTimes = [];
    stand.provider.answer(paced({ count: 1, perSecond: 50, writes }));
    const contestants = [
      ...products.map((product) => ({
        name: product.name,
        async take() {
          const reading = await (await product.stream()).whole;
          wholeRun(reading);
          return untilFirst(reading, writes);
        },
      })),
      { name: "pass", take: async () => untilFirst(await reference.read("pass"), writes) },
      { name: "kept", take: async () => untilFirst(await reference.read("kept"), writes) },
    ];
    await takeTurns(WARM_UPS, contestants);
    const results = await takeTurns(RUNS, contestants);

    const times = (name: string): number[] => results.get(name) ?? [];
    const bare = median(times("pass"));
    return {
      findings: products.map(({ name: tree }) => {
        const ours = median(times(tree));
        return {
          measure: `first-output: median of ${RUNS} runs`,
          tree,
          ours: `${ours.toFixed(2)} ms`,
          reference: `${bare.toFixed(2)} ms pass`,
          compared: `${(ours - bare).toFixed(2)} ms more`,
          target: `<= ${LIMIT_MS} ms`,
          met: ours - bare <= LIMIT_MS,
        };
      }),
      context: [
        `first-output: median of an object that passes on too, but has a row on disk before the call and before the first byte: ${median(times("kept")).toFixed(2)} ms`,
        `first-output: p90 in ms: ${[...results].map(([name, all]) => `${name} ${percentile(all, 0.9).toFixed(1)}`).join("; ")}`,
      ],
    };
  },
};

/** Milliseconds from the request to the frame with the first token. */
function untilFirst(reading: Reading, writes: WriteTimes): number {
  const frames = framesOf(reading);
  delaysOf(frames, writes, 1);
  const first = frames.find(({ data }) => data.includes("#"));
  return (first?.at ?? Number.NaN) - reading.sentAt;
}
