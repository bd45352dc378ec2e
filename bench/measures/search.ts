// Lexical searches in a collection of 10,000 chunks, beside the same terms asked of a bare full-text table with the same texts. Times
// are those inside of the two objects; their clocks count whole milliseconds, so what is compared are means.
import { COLLECTION, keepLibrary } from "../stand/collection.ts";
import { libraryOf, type Question } from "../stand/library.ts";
import type { Product, Reference } from "../stand/stand.ts";
import { percentile, takeTurns } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

/** Questions that are asked before it counts. */
const WARM_UPS = 10;
const BUDGET_MS = 40_000;
const MAX_P50_MS = 10;
const MAX_P99_MS = 50;
const MAX_TIMES = 2;
const NO_QUESTION: Question = { text: "", terms: [] };

export const search: Measure = {
  name: "search",
  about: "100 questions to a collection of 5 MB; reference: a bare FTS5 query for the same terms",
  async take(stand) {
    const library = libraryOf();
    const products = await stand.products();
    const reference = await stand.reference();
    const bytes = library.documents.reduce((sum, { content }) => sum + content.length, 0);
    const ingested = await Promise.all(products.map((product) => keepLibrary(product, library)));
    await reference.client.read({
      path: `/${COLLECTION}/index`,
      body: library.sections.map(({ heading, text }) => `${heading}\n${text}`),
    });
    const question = (round: number): Question => library.questions[round % library.questions.length] ?? NO_QUESTION;
    const contestants = [
      ...products.map((product) => ({
        name: product.name,
        take: (round: number) => ask(product, question(round)),
      })),
      { name: "bare", take: (round: number) => find(reference, question(round)) },
    ];
    await takeTurns(WARM_UPS, contestants);
    const results = await takeTurns(library.questions.length, contestants, BUDGET_MS);
    const times = (name: string): number[] => results.get(name) ?? [];
    const bare = mean(times("bare"));
    return {
      findings: products.flatMap(({ name: tree }) => {
        const ours = times(tree);
        const own = (share: number, limit: number) => {
          const value = percentile(ours, share);
          return {
            measure: `search: 10,000 chunks, p${share * 100} in the object`,
            tree,
            ours: `${value.toFixed(0)} ms`,
            reference: `${percentile(times("bare"), share).toFixed(0)} ms bare`,
            compared: "",
            target: `<= ${limit} ms`,
            met: value <= limit,
          };
        };
        const ratio = mean(ours) / bare;
        return [
          own(0.5, MAX_P50_MS),
          own(0.99, MAX_P99_MS),
          {
            measure: "search: 10,000 chunks, mean in the object",
            tree,
            ours: `${mean(ours).toFixed(2)} ms`,
            reference: `${bare.toFixed(2)} ms bare`,
            compared: `${ratio.toFixed(2)}x`,
            target: `<= ${MAX_TIMES}x`,
            met: ratio <= MAX_TIMES,
          },
        ];
      }),
      context: [
        `search: ${times("bare").length} questions, in turns; ${(bytes / 1e6).toFixed(1)} MB of Markdown kept in ${ingested.map((ms) => `${(ms / 1000).toFixed(1)} s`).join(", ")}`,
      ],
    };
  },
};

/** Milliseconds of a search. */
async function ask({ client }: Product, { text }: Question): Promise<number> {
  const body = { query: text, collection: COLLECTION, trace: true };
  const answer: { hits: unknown[]; trace: { timing: { total_ms: number } } } = JSON.parse(
    await client.readText({ path: "/kebab/search", body }),
  );
  if (answer.hits.length === 0) throw new Error("a search found nothing");
  return answer.trace.timing.total_ms;
}

async function find({ client }: Reference, { terms }: Question): Promise<number> {
  const answer: { rows: number; ms: number } = JSON.parse(
    await client.readText({ path: `/${COLLECTION}/find`, body: terms }),
  );
  if (answer.rows === 0) throw new Error("the bare table found nothing");
  return answer.ms;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
