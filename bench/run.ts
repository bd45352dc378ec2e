// `npm run bench`: takes each measure, ours beside a reference of the same minutes on the same machine, and prints one table. A
// missed target is a line in it, not a failure; the exit code is 1 only when a measure could not be taken.
import { existsSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { ask } from "./measures/ask.ts";
import { cost } from "./measures/cost.ts";
import { fanOut, fanOutPaced } from "./measures/fan-out.ts";
import { firstOutput } from "./measures/first-output.ts";
import { flood, packed } from "./measures/flood.ts";
import { ingest } from "./measures/ingest.ts";
import { manyRuns } from "./measures/many-runs.ts";
import type { Finding, Measure, Report } from "./measures/measure.ts";
import { memory } from "./measures/memory.ts";
import { paced } from "./measures/paced.ts";
import { parse } from "./measures/parse.ts";
import { recall } from "./measures/recall.ts";
import { records } from "./measures/records.ts";
import { replay } from "./measures/replay.ts";
import { search } from "./measures/search.ts";
import { syncCost } from "./stand/disk.ts";
import { endServersNow, TRACING } from "./stand/server.ts";
import { openStand, type Stand, type Trees } from "./stand/stand.ts";
import { tableOf } from "./stand/table.ts";

const MEASURES: readonly Measure[] = [
  flood,
  packed,
  paced,
  firstOutput,
  fanOut,
  fanOutPaced,
  manyRuns,
  replay,
  records,
  cost,
  memory,
  parse,
  search,
  ask,
  recall,
  ingest,
];
/** For one measure and for all of them, per tree. */
const MEASURE_LIMIT_MS = 120_000;
const TOTAL_LIMIT_MS = 350_000;

const USAGE = `node bench/run.ts [--tree DIR] [--against DIR] [measure ...]

  --tree DIR     the checkout to measure; default: the one this file stands in
  --against DIR  a second checkout, measured in the same turns

${MEASURES.map(({ name, about }) => `  ${name.padEnd(14)} ${about}`).join("\n")}
`;

interface Asked {
  trees: Trees;
  measures: readonly Measure[];
}

interface Taken {
  findings: Finding[];
  context: string[];
  failed: string[];
}

const asked = parseWords();
if (asked === "help") console.log(USAGE);
else if (asked === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  process.once("exit", endServersNow);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
  // Ends at once: a measure that was given up may still hold timers and connections.
  process.exit(await main(asked));
}

function parseWords(): Asked | "help" | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { tree: { type: "string" }, against: { type: "string" }, help: { type: "boolean" } },
    });
    if (values.help === true) return "help";
    const trees = {
      ours: path.resolve(values.tree ?? path.join(import.meta.dirname, "..")),
      against: values.against === undefined ? undefined : path.resolve(values.against),
    };
    const known = positionals.every((word) => MEASURES.some(({ name }) => name === word));
    const present = [trees.ours, trees.against ?? trees.ours].every((tree) =>
      existsSync(path.join(tree, "wrangler.toml")),
    );
    if (!known || !present) return undefined;
    return {
      trees,
      measures: MEASURES.filter(({ name, onlyNamed = false }) =>
        positionals.length === 0 ? !onlyNamed : positionals.includes(name),
      ),
    };
  } catch {
    return undefined;
  }
}

/** The exit code. */
async function main({ trees, measures }: Asked): Promise<number> {
  const begun = performance.now();
  const loadBefore = load();
  const stand = await openStand(trees);
  try {
    const taken = await takeAll(measures, stand, begun);
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    print(taken, stand.productNames.length > 1);
    console.log(
      `\n${seconds} s; ${availableParallelism()} processors, load ${loadBefore} before and ${load()} after, a small durable ` +
        `write ${syncCost().toFixed(1)} ms; Node ${process.version}, wrangler dev on loopback ` +
        `(X_LOCAL_OBSERVABILITY=${TRACING}, for product and reference).\nOnly the comparison counts: absolute ` +
        "times are this machine's. A faster disk for all storage: TMPDIR.",
    );
    return taken.failed.length === 0 ? 0 : 1;
  } finally {
    await stand.stop();
  }
}

async function takeAll(measures: readonly Measure[], stand: Stand, begun: number): Promise<Taken> {
  const taken: Taken = { findings: [], context: [], failed: [] };
  for (const measure of measures) {
    const trees = stand.productNames.length;
    const started = performance.now();
    const left = TOTAL_LIMIT_MS * trees - (started - begun);
    if (left <= 0) {
      taken.failed.push(`${measure.name} was not taken: the others took too long`);
      continue;
    }
    process.stderr.write(`${measure.name}: ${measure.about} ... `);
    try {
      const { findings, context } = await within(
        Math.min((measure.onlyNamed === true ? TOTAL_LIMIT_MS : MEASURE_LIMIT_MS) * trees, left),
        measure.take(stand),
      );
      taken.findings.push(...findings);
      taken.context.push(...context);
      process.stderr.write(`${((performance.now() - started) / 1000).toFixed(0)} s\n`);
    } catch (fault) {
      taken.failed.push(
        `${measure.name} could not be taken: ${fault instanceof Error ? fault.message : String(fault)}`,
      );
      process.stderr.write(`could not be taken\n${stand.complaints()}\n`);
      await stand.renew();
    }
  }
  return taken;
}

async function within(ms: number, report: Promise<Report>): Promise<Report> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${(ms / 1000).toFixed(0)} s`)), ms);
  });
  try {
    return await Promise.race([report, late]);
  } finally {
    clearTimeout(timer);
  }
}

function print({ findings, context, failed }: Taken, twoTrees: boolean): void {
  const rows = findings.map(({ measure, tree, ours, reference, compared, target, met }) => [
    measure,
    ...(twoTrees ? [tree] : []),
    ours,
    reference,
    compared,
    target,
    met ? "met" : "missed",
  ]);
  const header = ["measure", ...(twoTrees ? ["tree"] : []), "ours", "reference", "compared", "target", ""];
  console.log(`\n${tableOf(header, rows)}\n`);
  for (const line of context) console.log(line);
  for (const line of failed) console.log(`\n${line}`);
}

function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}
