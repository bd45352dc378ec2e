// A collection filled to its limits by ingests that are runs: how long that takes, how long others wait meanwhile, and how searches do then.
import { libraryOf, type Library } from "../stand/library.ts";
import type { Product } from "../stand/stand.ts";
import { percentile } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

const COLLECTION = "full";
const DOCUMENTS = 10_000;
/** Of about 600 bytes each, so that all documents together stay below 100 MiB. */
const SECTIONS = 17;
/** Documents of a batch of more than 7 MB. */
const BATCH = 700;
const BUDGET_MS = 230_000;

export const ingest: Measure = {
  name: "ingest",
  about: "a collection filled with 10,000 documents and 100 MB, in batches of 7 MB; no reference",
  onlyNamed: true,
  async take(stand) {
    const library = libraryOf();
    const context: string[] = [];
    const findings = [];
    for (const product of await stand.products()) {
      const filled = await fill(product, library);
      const found: number[] = [];
      for (const { text } of library.questions) found.push((await search(product, text)).object);
      const p50 = percentile(found, 0.5);
      findings.push({
        measure: `ingest: search among ${filled.documents} documents, p50 in the object`,
        tree: product.name,
        ours: `${p50.toFixed(0)} ms`,
        reference: "",
        compared: "",
        target: "",
        met: true,
      });
      const { batches, waits } = filled;
      context.push(
        `ingest: ${filled.documents} documents, ${(filled.bytes / 1e6).toFixed(1)} MB in ${batches.length} batches; a batch takes p50 ` +
          `${(percentile(batches, 0.5) / 1000).toFixed(1)} s, at most ${(Math.max(...batches) / 1000).toFixed(1)} s; ` +
          `${waits.length} searches meanwhile wait p50 ${percentile(waits, 0.5).toFixed(0)} ms, at most ${Math.max(...waits).toFixed(0)} ms; ` +
          `search then p99 ${percentile(found, 0.99).toFixed(0)} ms; ${filled.refused}`,
        `ingest: ${await held(product)}`,
      );
    }
    return { findings, context };
  },
};

interface Filled {
  documents: number;
  bytes: number;
  /** Milliseconds of each. */
  batches: number[];
  /** Milliseconds of the searches made during the ingests. */
  waits: number[];
  /** What one document more is told. */
  refused: string;
}

async function fill(product: Product, { sections, questions }: Library): Promise<Filled> {
  const filled: Filled = { documents: 0, bytes: 0, batches: [], waits: [], refused: "not full" };
  const began = performance.now();
  const textOf = (index: number): string =>
    Array.from({ length: SECTIONS }, (_, place) => sections[(index * SECTIONS + place) % sections.length])
      .map((section) => `# ${section?.heading} ${index}\n\n${section?.text}\n`)
      .join("\n");
  while (filled.documents < DOCUMENTS && performance.now() - began < BUDGET_MS) {
    const count = Math.min(BATCH, DOCUMENTS - filled.documents);
    const batch = Array.from({ length: count }, (_, index) => textOf(filled.documents + index));
    const started = performance.now();
    const state = { done: false };
    const kept = put(product, batch, filled.documents).finally(() => (state.done = true));
    if (filled.documents > 0) {
      while (!state.done)
        filled.waits.push((await search(product, questions[filled.waits.length % 100]?.text ?? "")).seen);
    }
    const last = await kept;
    if (!last.includes('"ingest_report.v1"')) throw new Error(`a batch was not kept: ${last.slice(0, 300)}`);
    filled.batches.push(performance.now() - started);
    filled.documents += count;
    filled.bytes += batch.reduce((sum, text) => sum + text.length, 0);
  }
  if (filled.documents === DOCUMENTS) filled.refused = (await put(product, ["one more"], DOCUMENTS)).slice(0, 200);
  return filled;
}

/** The last line of the run. */
async function put({ client }: Product, texts: readonly string[], from: number): Promise<string> {
  const lines = texts.map((content, index) => JSON.stringify({ doc_path: `${from + index}.md`, content }));
  const text = await client.readText({
    path: `/kebab/collections/${COLLECTION}/documents`,
    body: lines.join("\n"),
    type: "application/x-ndjson",
    accept: "application/x-ndjson",
  });
  return text.trimEnd().split("\n").at(-1) ?? "";
}

/** Milliseconds of a search: in the object, and as its client sees it. */
async function search({ client }: Product, query: string): Promise<{ object: number; seen: number }> {
  const began = performance.now();
  const body = { query, collection: COLLECTION, trace: true };
  const answer: { trace: { timing: { total_ms: number } } } = JSON.parse(
    await client.readText({ path: "/kebab/search", body }),
  );
  return { object: answer.trace.timing.total_ms, seen: performance.now() - began };
}

async function held({ client }: Product): Promise<string> {
  const answer: { stats: { doc_count: number; chunk_count: number; index_bytes: { sqlite: number } } } = JSON.parse(
    await client.readText({ path: `/kebab/schema?collection=${COLLECTION}` }),
  );
  const { doc_count, chunk_count, index_bytes } = answer.stats;
  return `${doc_count} documents are ${chunk_count} chunks and ${(index_bytes.sqlite / 1e6).toFixed(0)} MB of database`;
}
