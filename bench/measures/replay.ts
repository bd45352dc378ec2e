// Reading a finished run of 1,000 tokens again, whole and as a snapshot, beside an object that answers one small frame.
import { paced, tokensOf } from "../stand/bodies.ts";
import type { Reading } from "../stand/client.ts";
import { eventOf, expectCompleted, framesOf, wholeRun } from "../stand/frames.ts";
import type { Product } from "../stand/stand.ts";
import { median, takeTurns, type Contestant } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

const TOKENS = 1000;
/** Slow enough that the log is made of many flushes, as a real run's is. */
const TOKENS_PER_SECOND = 250;
const WARM_UPS = 10;
const REQUESTS = 120;
const BUDGET_MS = 40_000;

const READINGS = [
  { kind: "full", query: "", limit: 8, check: checkFull },
  { kind: "snapshot", query: "?from=snapshot", limit: 3, check: checkSnapshot },
] as const;

export const replay: Measure = {
  name: "replay",
  about: `a finished run of ${TOKENS} tokens, whole and from=snapshot; reference: an object's one 100-byte frame`,
  async take(stand) {
    const tokens = tokensOf(TOKENS);
    const text = tokens.join("");
    stand.provider.answer(
      paced({ count: TOKENS, perSecond: TOKENS_PER_SECOND, writes: [], token: (_, index) => tokens[index] ?? "" }),
    );
    const products = await stand.products();
    const reference = await stand.reference();
    const contestants: Contestant<number>[] = [
      { name: "frame", take: async () => timeOf(await reference.read("frame", "one")) },
    ];
    for (const product of products) contestants.push(...(await readersOf(product, text)));
    await takeTurns(WARM_UPS, contestants);
    const results = await takeTurns(REQUESTS, contestants, BUDGET_MS);

    const times = (name: string): number[] => results.get(name) ?? [];
    const bare = median(times("frame"));
    const findings = products.flatMap(({ name: tree }) =>
      READINGS.map(({ kind, limit }) => {
        const ours = median(times(`${tree} ${kind}`));
        return {
          measure: `replay: ${TOKENS} tokens, ${kind}, median`,
          tree,
          ours: `${ours.toFixed(2)} ms`,
          reference: `${bare.toFixed(2)} ms frame`,
          compared: `${(ours - bare).toFixed(2)} ms more`,
          target: `<= ${limit} ms`,
          met: ours - bare <= limit,
        };
      }),
    );
    return { findings, context: [`replay: ${times("frame").length} requests each, in turns, every answer whole`] };
  },
};

/** Streams one run to its end, then reads it in each way. */
async function readersOf(product: Product, text: string): Promise<Contestant<number>[]> {
  const { runId, whole } = await product.stream();
  if (wholeRun(await whole).text !== text) throw new Error("a reader's text is not the provider's");
  return READINGS.map(({ kind, query, check }) => ({
    name: `${product.name} ${kind}`,
    async take() {
      const reading = await (await product.view(runId, { query })).whole;
      check(reading, text);
      return timeOf(reading);
    },
  }));
}

function checkFull(reading: Reading, text: string): void {
  if (wholeRun(reading).text !== text) throw new Error("a replay's text is not the provider's");
}

function checkSnapshot(reading: Reading, text: string): void {
  const [snapshot, terminal] = framesOf(reading).map(({ data }) => eventOf(data));
  if (snapshot?.payload["text"] !== text) throw new Error("a snapshot's text is not the provider's");
  expectCompleted(terminal);
}

const timeOf = ({ sentAt, endedAt }: Reading): number => endedAt - sentAt;
