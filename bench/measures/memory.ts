// Resident memory of the workerd that runs the objects: what a body costs that is nearly all padding, and what a viewer costs that
// does not read. Every single value comes from a server of its own, so that none stands on what another left behind. Needs Linux.
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

const WIRE_MIB = 96;
const PADDED_PACKET_BYTES = 16_384;
const PADDED_TEXT_BYTES = 1024;
const PADDED_LIMIT_MIB = 128;

/** Control characters: on the wire six bytes stand for one of the text that a run may have. About 36 MB of frames. */
const TOKENS = 26_000;
const TOKEN = "\u0001".repeat(200);
const LAST_TOKEN = "the last token";
const PER_PACKET = 4;
/** Per viewer the sockets on the way, wrangler's proxy between, may hold some 10 MB: the frames must be many more. */
const STALLED_VIEWERS = 4;
/** With and without stalled viewers, in turns. */
const ROUNDS = 2;
const BUDGET_MS = 50_000;
/** Well below what a single stalled viewer has not read. */
const STALL_LIMIT_MIB = 15;

export const memory: Measure = {
  name: "memory",
  about: "resident memory: a body of padding, a stalled viewer; references: read and drop, no stalled viewer",
  async take(stand) {
    const findings: Finding[] = [];
    const context: string[] = [];
    const drained = await padDrain(stand);
    for (const tree of stand.productNames) {
      const padded = await padRun(stand, tree);
      findings.push({
        measure: `memory: ${WIRE_MIB} MiB of wire, ${padded.textMib} MiB of text`,
        tree,
        ours: `+${padded.rise.toFixed(0)} MiB`,
        reference: `+${drained.toFixed(0)} MiB drain`,
        compared: `+${(padded.rise - drained).toFixed(0)} MiB`,
        target: `<= +${PADDED_LIMIT_MIB} MiB`,
        met: padded.rise <= PADDED_LIMIT_MIB,
      });

      const contestants = [
        { name: "stalled", take: () => runWithViewers(stand, tree, STALLED_VIEWERS) },
        { name: "without", take: () => runWithViewers(stand, tree, 0) },
      ];
      const results = await takeTurns(ROUNDS, contestants, BUDGET_MS);
      const rises = (name: string): number[] => (results.get(name) ?? []).map(({ rise }) => rise);
      const frameBytes = results.get("stalled")?.[0]?.frameBytes ?? 0;
      const [stalled, without] = [median(rises("stalled")), median(rises("without"))];
      findings.push({
        measure: `memory: ${STALLED_VIEWERS} viewers stall, ${(frameBytes / 1e6).toFixed(0)} MB pass another`,
        tree,
        ours: `+${stalled.toFixed(0)} MiB`,
        reference: `+${without.toFixed(0)} MiB without`,
        compared: `${stalled < without ? "" : "+"}${(stalled - without).toFixed(1)} MiB`,
        target: `<= +${STALL_LIMIT_MIB} MiB`,
        met: stalled - without <= STALL_LIMIT_MIB,
      });
      const single = [...results.keys()].map(
        (name) =>
          `${name} ${rises(name)
            .map((rise) => `+${rise.toFixed(0)}`)
            .join(" ")} MiB`,
      );
      context.push(
        `memory: ${tree} starts with ${padded.before.toFixed(0)} MiB; single values: ${single.join(", ")}; every stalled viewer got all when it read on`,
      );
    }
    return { findings, context };
  },
};

/** How far a padded run raises the peak over what was resident before it. */
async function padRun(stand: Stand, tree: Product["name"]): Promise<{ before: number; rise: number; textMib: number }> {
  const product = await warmProduct(stand, tree);
  try {
    const { packets, text } = paddedBody();
    stand.provider.answer(flatOut(packets));
    const watch = watchMemory(product.workerd());
    const reading = await (await product.stream()).whole;
    const peak = watch.peak();
    if (wholeRun(reading).text !== text) throw new Error("a reader's text is not the provider's");
    return { before: watch.before, rise: peak - watch.before, textMib: Math.round(text.length / MIB) };
  } finally {
    await product.stop();
  }
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

/** A new server that has served one small run. */
async function warmProduct(stand: Stand, tree: Product["name"]): Promise<Product> {
  const product = await stand.freshProduct(tree);
  stand.provider.answer(flatOut(packetsOf(answerEvents(["warm", "up"]))));
  wholeRun(await (await product.stream()).whole);
  return product;
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

interface WatchedRun {
  /** What is resident when all text has passed and was not before, MiB; garbage is collected before each look. */
  rise: number;
  /** What the viewer that reads has read by then. */
  frameBytes: number;
}

/** One run with one viewer that reads and some that do not until the look is over; then they must get everything too. */
async function runWithViewers(stand: Stand, tree: Product["name"], stalledViewers: number): Promise<WatchedRun> {
  const tokens = [...Array.from({ length: TOKENS }, () => TOKEN), LAST_TOKEN];
  const events = answerEvents(tokens);
  const ending = events.slice(1 + tokens.length);
  const packets = packetsOf(events.slice(0, -ending.length), PER_PACKET);
  const text = tokens.join("");
  const product = await warmProduct(stand, tree);
  try {
    await product.collectGarbage();
    const watch = watchMemory(product.workerd());
    const [start, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    stand.provider.answer(async (stream) => {
      await start.promise;
      await stream.send(packets);
      await end.promise;
      await stream.send(packetsOf(ending));
    });
    const runId = await product.start();
    const stalled = await Promise.all(
      Array.from({ length: stalledViewers }, () => product.view(runId, { stalled: true })),
    );
    const reader = await product.view(runId);
    start.resolve();
    await reader.arrival(LAST_TOKEN);
    await product.collectGarbage();
    const rise = watch.now() - watch.before;
    const frameBytes = reader.received();
    end.resolve();
    for (const viewer of stalled) viewer.resume();
    for (const viewer of [reader, ...stalled]) {
      if (wholeRun(await viewer.whole).text !== text) throw new Error("a viewer's text is not the provider's");
    }
    return { rise, frameBytes };
  } finally {
    await product.stop();
  }
}
