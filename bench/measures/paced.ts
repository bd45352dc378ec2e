// One run at the pace of a fast model: how much later a token arrives than through a Worker that passes the body on unread.
import { delaysOf, paced as pacedAnswer, paceOf, type WriteTimes } from "../stand/bodies.ts";
import { framesOf, wholeRun, type Frame } from "../stand/frames.ts";
import { percentile, takeTurns } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

const PER_SECOND = 50;
/** Per contestant: 15 s in two turns. */
const TURNS = 2;
const TOKENS = 375;
const P50_LIMIT_MS = 2;
const P99_LIMIT_MS = 15;

export const paced: Measure = {
  name: "paced",
  about: `${PER_SECOND} events/s: delay from provider write to client read; reference: native pass-through`,
  async take(stand) {
    const products = await stand.products();
    const reference = await stand.reference();
    let pace = Number.POSITIVE_INFINITY;
    /** One stream: `open` begins it, the delays are its result. */
    const turn = async (stream: () => Promise<readonly Frame[]>): Promise<number[]> => {
      const writes: WriteTimes = [];
      stand.provider.answer(pacedAnswer({ count: TOKENS, perSecond: PER_SECOND, writes }));
      const frames = await stream();
      pace = Math.min(pace, paceOf(writes));
      return delaysOf(frames, writes, TOKENS);
    };
    const results = await takeTurns(TURNS, [
      ...products.map((product) => ({
        name: product.name,
        take: () => turn(async () => wholeRun(await (await product.stream()).whole).frames),
      })),
      { name: "pass", take: () => turn(async () => framesOf(await reference.read("pass"))) },
    ]);

    const delays = (name: string): number[] => (results.get(name) ?? []).flat();
    const pass = delays("pass");
    const findings = products.flatMap(({ name: tree }) =>
      [
        { share: 0.5, limit: P50_LIMIT_MS },
        { share: 0.99, limit: P99_LIMIT_MS },
      ].map(({ share, limit }) => {
        const ours = percentile(delays(tree), share);
        const bare = percentile(pass, share);
        return {
          measure: `paced: ${PER_SECOND} events/s, delay p${share * 100}`,
          tree,
          ours: `${ours.toFixed(2)} ms`,
          reference: `${bare.toFixed(2)} ms pass`,
          compared: `${signed(ours - bare)} ms`,
          target: `<= +${limit} ms`,
          met: ours - bare <= limit,
        };
      }),
    );
    const tails = [...results.keys()].map(
      (name) => `${name} p90 ${percentile(delays(name), 0.9).toFixed(1)}, max ${Math.max(...delays(name)).toFixed(1)}`,
    );
    return {
      findings,
      context: [
        `paced: ${pass.length} tokens each, written at ${pace.toFixed(1)}/s or more; in ms: ${tails.join("; ")}`,
      ],
    };
  },
};

const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(2)}`;
