// Resident memory of the workerd that runs the objects, in servers of its own: what a viewer costs that does not read, and what a
// body costs that is nearly all padding. Needs Linux.
import { openAiChat, openAiEvent } from "../../test/support/provider-bytes/openai-chat.ts";
import { sseComment } from "../../test/support/provider-bytes/framing.ts";
import { answerEvents, flatOut } from "../stand/bodies.ts";
import { wholeRun } from "../stand/frames.ts";
import { watchMemory } from "../stand/process-memory.ts";
import { packetsOf } from "../stand/provider.ts";
import type { Product, Stand } from "../stand/stand.ts";
import { median, takeTurns } from "../stand/statistics.ts";
import type { Finding, Measure } from "./measure.ts";

const MIB = 1024 * 1024;

/** Per set about 30 MB of frames pass the viewer that reads. */
const RUNS_PER_SET = 3;
const EVENTS_PER_RUN = 26_000;
const PER_PACKET = 16;
const SETS = 3;
/** Half of what the stalled viewers have not read: peaks of equal sets differ by some MiB. */
const STALL_LIMIT_MIB = 15;

const WIRE_MIB = 96;
const PADDED_PACKET_BYTES = 16_384;
const PADDED_TEXT_BYTES = 1024;
const PADDED_LIMIT_MIB = 128;

export const memory: Measure = {
  name: "memory",
  about:
    "resident memory with a stalled viewer, and with a body that is nearly all padding; references: no such viewer, read and drop",
  async take(stand) {
    const findings: Finding[] = [];
    const context: string[] = [];
    const drained = await padDrain(stand);
    for (const name of stand.productNames) {
      const product = await stand.freshProduct(name);
      try {
        const padded = await padRun(stand, product);
        findings.push({
          measure: `memory: ${WIRE_MIB} MiB of wire, ${padded.textMib} MiB of text`,
          tree: name,
          ours: `+${padded.rise.toFixed(0)} MiB`,
          reference: `+${drained.toFixed(0)} MiB drain`,
          compared: `+${(padded.rise - drained).toFixed(0)} MiB`,
          target: `<= +${PADDED_LIMIT_MIB} MiB`,
          met: padded.rise <= PADDED_LIMIT_MIB,
        });
        const { stalled, reading, frameBytes, single } = await stall(stand, product);
        findings.push({
          measure: `memory: a viewer that stalls for ${(frameBytes / 1e6).toFixed(0)} MB`,
          tree: name,
          ours: `${stalled.toFixed(0)} MiB`,
          reference: `${reading.toFixed(0)} MiB without`,
          compared: `${stalled < reading ? "" : "+"}${(stalled - reading).toFixed(1)} MiB`,
          target: `<= +${STALL_LIMIT_MIB} MiB`,
          met: stalled - reading <= STALL_LIMIT_MIB,
        });
        context.push(
          `memory: ${name} had ${padded.before.toFixed(0)} MiB resident before; peaks per set: ${single}; every stalled viewer got all when it read on`,
        );
      } finally {
        await product.stop();
      }
    }
    return { findings, context };
  },
};

/** How far a padded run raises the peak over what was resident before it. */
async function padRun(stand: Stand, product: Product): Promise<{ before: number; rise: number; textMib: number }> {
  stand.provider.answer(flatOut(packetsOf(answerEvents(["warm", "up"]))));
  wholeRun(await (await product.stream()).whole);
  const { packets, text } = paddedBody();
  stand.provider.answer(flatOut(packets));
  const watch = watchMemory(product.workerd());
  const reading = await (await product.stream()).whole;
  const peak = watch.peak();
  if (wholeRun(reading).text !== text) throw new Error("a reader's text is not the provider's");
  return { before: watch.before, rise: peak - watch.before, textMib: Math.round(text.length / MIB) };
}

async function padDrain(stand: Stand): Promise<number> {
  const reference = await stand.freshReference();
  try {
    stand.provider.answer(flatOut(paddedBody().packets));
    const watch = watchMemory(reference.workerd());
    await reference.read("drain");
    return watch.peak() - watch.before;
  } finally {
    await reference.stop();
  }
}

/** Half of the padding in a field that nobody reads, as OpenAI sends it, half in comments, as gateways do. */
function paddedBody(): { packets: Buffer[]; text: string } {
  const content = "text".repeat(PADDED_TEXT_BYTES / 4);
  const padding = "p".repeat((PADDED_PACKET_BYTES - PADDED_TEXT_BYTES) / 2);
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  const [packet] = packetsOf([openAiEvent({ choices, obfuscation: padding }) + sseComment(padding)]);
  if (packet === undefined) throw new Error("an event is a packet");
  const count = Math.ceil((WIRE_MIB * MIB) / packet.length);
  return {
    packets: [...Array.from({ length: count }, () => packet), ...packetsOf(openAiChat({ deltas: [] }))],
    text: content.repeat(count),
  };
}

interface Stall {
  /** Medians of the sets' peaks, MiB: with a stalled viewer on every run, and without. */
  stalled: number;
  reading: number;
  /** Of one set. */
  frameBytes: number;
  single: string;
}

async function stall(stand: Stand, product: Product): Promise<Stall> {
  const tokens = Array.from({ length: EVENTS_PER_RUN }, (_, index) => `token ${index} `.padEnd(100, "of a long text "));
  const packets = packetsOf(answerEvents(tokens), PER_PACKET);
  const text = tokens.join("");
  let frameBytes = 0;

  const set = async (withStalled: boolean): Promise<number> => {
    const watch = watchMemory(product.workerd());
    const runs: { runId: string; resume(): Promise<void> }[] = [];
    for (let run = 0; run < RUNS_PER_SET; run++) {
      const gate = Promise.withResolvers<void>();
      stand.provider.answer(flatOut(packets, gate.promise));
      const runId = await product.start();
      const stalled = withStalled ? await product.view(runId, { stalled: true }) : undefined;
      const reader = await product.view(runId);
      gate.resolve();
      if (wholeRun(await reader.whole).text !== text) throw new Error("a reader's text is not the provider's");
      frameBytes = reader.received() * RUNS_PER_SET;
      runs.push({
        runId,
        async resume() {
          stalled?.resume();
          if (stalled !== undefined && wholeRun(await stalled.whole).text !== text)
            throw new Error("a stalled viewer lost text");
        },
      });
    }
    const peak = watch.peak();
    for (const { runId, resume } of runs) {
      await resume();
      await product.client.read({ path: `/v1/runs/${runId}`, method: "DELETE" });
    }
    return peak;
  };

  await set(false);
  const results = await takeTurns(SETS, [
    { name: "stalled", take: () => set(true) },
    { name: "without", take: () => set(false) },
  ]);
  const peaks = (name: string): number[] => results.get(name) ?? [];
  return {
    stalled: median(peaks("stalled")),
    reading: median(peaks("without")),
    frameBytes,
    single: [...results].map(([name, all]) => `${name} ${all.map((peak) => peak.toFixed(0)).join(" ")} MiB`).join(", "),
  };
}
