// The records of a thread: appended in batches beside a bare INSERT loop in an object of the same Worker, and read by page from
// threads of three lengths.
import { randomUUID } from "node:crypto";
import type { Client } from "../stand/client.ts";
import { textOf } from "../stand/client.ts";
import type { Product, Stand } from "../stand/stand.ts";
import { median, takeTurns, type Contestant } from "../stand/statistics.ts";
import type { Finding, Measure } from "./measure.ts";

const RECORDS = 10_000;
const BATCH = 100;
const APPEND_ROUNDS = 3;
const MIN_PER_SECOND = 5_000;
const MAX_RATIO = 2;

const LENGTHS = [1_000, 10_000, 100_000] as const;
const PAGES = 20;
const PAGE_ROUNDS = 9;
const ROWS_PER_PAGE = 51;
const MAX_PAGE_MS = 10;
/** A page of the longest thread beside one of the shortest. */
const MAX_GROWTH = 2;
const BUDGET_MS = 20_000;

const READINGS = { page: "of the thread", run: "of a run" } as const;

export const records: Measure = {
  name: "records",
  about: `${RECORDS} records of a thread in batches of ${BATCH}, and pages of 50; reference: a bare INSERT loop`,
  async take(stand) {
    const findings: Finding[] = [];
    for (const tree of stand.productNames) findings.push(...(await takeTree(stand, tree)));
    return {
      findings,
      context: [`records: every second record is a message; a page is one row more than 50, as it is read`],
    };
  },
};

async function takeTree(stand: Stand, tree: Product["name"]): Promise<Finding[]> {
  const { client, stop } = await stand.freshRecords(tree);
  try {
    return [...(await appending(client, tree)), ...(await paging(client, tree))];
  } finally {
    await stop();
  }
}

async function appending(client: Client, tree: Product["name"]): Promise<Finding[]> {
  const contestant = (work: string): Contestant<number> => ({
    name: work,
    take: () => timed(client, `/${randomUUID()}/${work}?count=${RECORDS}&batch=${BATCH}`, "kept", RECORDS),
  });
  const contestants = [contestant("append"), contestant("insert")];
  await takeTurns(1, contestants);
  const times = await takeTurns(APPEND_ROUNDS, contestants, BUDGET_MS);
  const ours = median(times.get("append") ?? []);
  const bare = median(times.get("insert") ?? []);
  const perSecond = RECORDS / (ours / 1000);
  return [
    {
      measure: `records: ${RECORDS} in batches of ${BATCH}, median`,
      tree,
      ours: `${perSecond.toFixed(0)} records/s`,
      reference: `${(RECORDS / (bare / 1000)).toFixed(0)} bare rows/s`,
      compared: `${(ours / bare).toFixed(2)}x its time`,
      target: `>= ${MIN_PER_SECOND}/s, <= ${MAX_RATIO}x`,
      met: perSecond >= MIN_PER_SECOND && ours / bare <= MAX_RATIO,
    },
  ];
}

async function paging(client: Client, tree: Product["name"]): Promise<Finding[]> {
  for (const length of LENGTHS)
    await timed(client, `/long-${length}/append?count=${length}&batch=5000`, "kept", length);
  const contestants: Contestant<number>[] = [
    { name: "nothing", take: () => timed(client, `/long-${LENGTHS[0]}/nothing`, "rows", 0) },
    ...LENGTHS.flatMap((length) =>
      Object.keys(READINGS).map((kind) => ({
        name: `${kind} ${length}`,
        take: () => timed(client, `/long-${length}/${kind}?count=${PAGES}`, "rows", 1),
      })),
    ),
  ];
  await takeTurns(1, contestants);
  const times = await takeTurns(PAGE_ROUNDS, contestants, BUDGET_MS);
  const answer = median(times.get("nothing") ?? []);
  return Object.entries(READINGS).map(([kind, of]) => {
    const each = LENGTHS.map((length) => Math.max(0, median(times.get(`${kind} ${length}`) ?? []) - answer) / PAGES);
    const [short = Number.NaN] = each;
    const growth = Math.max(...each) / short;
    return {
      measure: `records: a page of 50 ${of} of ${LENGTHS.map((length) => `${length / 1000}k`).join(", ")}`,
      tree,
      ours: `${each.map((ms) => ms.toFixed(2)).join(", ")} ms`,
      reference: `${short.toFixed(2)} ms at ${LENGTHS[0] / 1000}k`,
      compared: `${growth.toFixed(2)}x at most`,
      target: `<= ${MAX_PAGE_MS} ms, <= ${MAX_GROWTH}x`,
      met: Math.max(...each) <= MAX_PAGE_MS && growth <= MAX_GROWTH,
    };
  });
}

/** Milliseconds of a request that answers with at least so many. */
async function timed(client: Client, path: string, key: "kept" | "rows", least: number): Promise<number> {
  const reading = await client.read({ path });
  const said = Number(JSON.parse(textOf(reading.pieces))[key]);
  if (!(said >= least) || (key === "rows" && said > PAGES * ROWS_PER_PAGE))
    throw new Error(`${path} answered ${said} ${key}`);
  return reading.endedAt - reading.sentAt;
}
