// Billed rows and stored bytes of an ordinary run: 1,000 tokens in 20 s. Reference: an object that stores what it reads as a row
// per token. No time is measured, so both run at once.
import { paced, tokensOf } from "../stand/bodies.ts";
import { textOf } from "../stand/client.ts";
import { wholeRun } from "../stand/frames.ts";
import type { Measure } from "./measure.ts";

const TOKENS = 1000;
const PER_SECOND = 50;
const ROWS_LIMIT = 82;
const BYTES_LIMIT = 16 * 1024;

export const cost: Measure = {
  name: "cost",
  about: `billed rows and stored bytes of ${TOKENS} tokens in ${TOKENS / PER_SECOND} s; reference: a row per token`,
  async take(stand) {
    const products = await stand.products();
    const reference = await stand.reference();
    const tokens = tokensOf(TOKENS);
    stand.provider.answer(
      paced({ count: TOKENS, perSecond: PER_SECOND, writes: [], token: (_, index) => tokens[index] ?? "" }),
    );
    const stored = reference.read("rows");
    const runs = await Promise.all(
      products.map(async ({ name: tree, client, stream }) => {
        const { runId, whole } = await stream();
        const { frames } = wholeRun(await whole);
        const { cost: billed } = JSON.parse(await client.readText({ path: `/v1/runs/${runId}` }));
        return { tree, rows: Number(billed.rowsWritten), bytes: Number(billed.bytesStored), frames };
      }),
    );
    const { rowsWritten, bytesStored } = JSON.parse(textOf((await stored).pieces));
    return {
      findings: runs.flatMap(({ tree, rows, bytes }) => [
        {
          measure: `cost: ${TOKENS} tokens in ${TOKENS / PER_SECOND} s, billed rows`,
          tree,
          ours: String(rows),
          reference: `${rowsWritten} row per token`,
          compared: `${((rows / rowsWritten) * 100).toFixed(1)} %`,
          target: `<= ${ROWS_LIMIT}`,
          met: rows <= ROWS_LIMIT,
        },
        {
          measure: `cost: the same, stored bytes`,
          tree,
          ours: kib(bytes),
          reference: `${kib(bytesStored)} in rows`,
          compared: `${((bytes / bytesStored) * 100).toFixed(1)} %`,
          target: `<= ${kib(BYTES_LIMIT)}`,
          met: bytes <= BYTES_LIMIT,
        },
      ]),
      context: runs.map(({ tree, frames }) => {
        const bytes = frames.reduce((sum, { id, data }) => sum + Buffer.byteLength(`id: ${id}\ndata: ${data}\n\n`), 0);
        return `cost: ${tree} delivered ${frames.length} events in ${kib(bytes)} of frames to its reader`;
      }),
    };
  },
};

const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
