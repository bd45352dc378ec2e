// 20,000 events one per packet, and 50,000 events 16 per packet: what numbering, keeping and delivering costs beside only reading.
import { answerEvents, flatOut, tokensOf } from "../stand/bodies.ts";
import { textOf, type Reading } from "../stand/client.ts";
import { wholeRun } from "../stand/frames.ts";
import { packetsOf } from "../stand/provider.ts";
import type { Product, Stand } from "../stand/stand.ts";
import { median, takeTurns } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

interface Flood {
  name: string;
  events: number;
  perPacket: number;
  /** Largest ratio to the drain's time. */
  limit: number;
}

const ROUNDS = 5;
const BUDGET_MS = 30_000;
const SECONDS = 1 / 1000;

export const flood = measureOf({ name: "flood", events: 20_000, perPacket: 1, limit: 1.3 });
export const packed = measureOf({ name: "packed", events: 50_000, perPacket: 16, limit: 1.5 });

function measureOf({ name, events, perPacket, limit }: Flood): Measure {
  const about = `${events.toLocaleString("en")} events, ${perPacket} per packet, one reader, persisted; reference: read and drop`;
  return {
    name,
    about,
    async take(stand) {
      const tokens = tokensOf(events);
      const text = tokens.join("");
      const packets = packetsOf(answerEvents(tokens), perPacket);
      stand.provider.answer(flatOut(packets));
      const products = await stand.products();
      const reference = await stand.reference();
      let reads = 0;
      const contestants = [
        ...products.map((product) => ({ name: product.name, take: () => streamed(product, text) })),
        {
          name: "drain",
          async take() {
            const reading = await reference.read("drain");
            ({ reads } = JSON.parse(textOf(reading.pieces)));
            return secondsOf(reading);
          },
        },
        {
          name: "pass",
          take: () =>
            passed(
              stand,
              packets.reduce((sum, packet) => sum + contentLength(packet), 0),
            ),
        },
      ];
      await takeTurns(1, contestants);
      const results = await takeTurns(ROUNDS, contestants, BUDGET_MS);
      if (reads < packets.length) throw new Error(`the Worker read ${packets.length} packets in ${reads} reads`);

      const drain = median(results.get("drain") ?? []);
      const pass = median(results.get("pass") ?? []);
      const findings = products.map(({ name: tree }) => {
        const ours = median(results.get(tree) ?? []);
        const ratio = ours / drain;
        return {
          measure: `${name}: ${events.toLocaleString("en")} events, ${perPacket} per packet`,
          tree,
          ours: `${ours.toFixed(2)} s`,
          reference: `${drain.toFixed(2)} s drain`,
          compared: `${ratio.toFixed(2)}x`,
          target: `<= ${limit}x`,
          met: ratio <= limit,
        };
      });
      const single = [...results].map(([who, values]) => `${who} ${values.map((value) => value.toFixed(2)).join(" ")}`);
      return {
        findings,
        context: [
          `${name}: ${packets.length} packets, ${reads} reads in the drain; native pass-through ${pass.toFixed(2)} s`,
          `${name}: single times in s: ${single.join("; ")}`,
        ],
      };
    },
  };
}

/** Seconds from the request to the end of the stream. Everything must have come, and be kept. */
async function streamed(product: Product, text: string): Promise<number> {
  const { runId, whole } = await product.stream();
  const reading = await whole;
  if (wholeRun(reading).text !== text) throw new Error("a reader's text is not the provider's");
  const outcome = JSON.parse(await product.client.readText({ path: `/v1/runs/${runId}/outcome` }));
  if (outcome.finalText !== text) throw new Error("the outcome's text is not the provider's");
  return secondsOf(reading);
}

async function passed(stand: Stand, bytes: number): Promise<number> {
  const reading = await (await stand.reference()).read("pass");
  const received = reading.pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
  if (received !== bytes) throw new Error(`${received} of ${bytes} bytes passed through`);
  return secondsOf(reading);
}

const secondsOf = ({ sentAt, endedAt }: Reading): number => (endedAt - sentAt) * SECONDS;

/** Without the size line and the two line ends of its transfer coding. */
const contentLength = (packet: Buffer): number => packet.length - packet.indexOf("\r\n") - 4;
