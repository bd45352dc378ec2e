// How much later the first token of an answer from documents arrives than that of a plain run with the prompt that the question came
// to: a search in a collection of 10,000 chunks, its hits kept with the run, and the prompt made of them.
import { startBody } from "../../test/support/api.ts";
import { paced } from "../stand/bodies.ts";
import type { Reading } from "../stand/client.ts";
import { COLLECTION, keepLibrary } from "../stand/collection.ts";
import { libraryOf } from "../stand/library.ts";
import type { Product } from "../stand/stand.ts";
import { median, percentile, takeTurns } from "../stand/statistics.ts";
import type { Measure } from "./measure.ts";

const QUESTIONS = 20;
const RUNS = 60;
const BUDGET_MS = 50_000;
const LIMIT_MS = 20;
const NDJSON = "application/x-ndjson";

interface Prompt {
  question: string;
  messages: unknown;
  maxOutputTokens: unknown;
}

export const ask: Measure = {
  name: "ask",
  about: "question to first token of its answer; reference: a plain run of the same prompt",
  async take(stand) {
    const library = libraryOf();
    const products = await stand.products();
    await Promise.all(products.map((product) => keepLibrary(product, library)));
    stand.provider.answer(paced({ count: 1, perSecond: 50, writes: [], token: () => "Seen [#1]." }));
    const prompts: Prompt[] = [];
    for (const { text: question } of library.questions.slice(0, QUESTIONS)) {
      // Also what warms the servers up.
      for (const product of products) await asked(product, question);
      const { messages, max_tokens, max_completion_tokens = max_tokens } = JSON.parse(stand.provider.asked());
      prompts.push({ question, messages, maxOutputTokens: max_completion_tokens });
    }
    for (const prompt of prompts) for (const product of products) await plain(product, prompt);
    const prompt = (round: number): Prompt | undefined => prompts[round % prompts.length];
    const contestants = products.flatMap((product) => [
      { name: `${product.name} ask`, take: (round: number) => asked(product, prompt(round)?.question ?? "") },
      { name: `${product.name} plain`, take: (round: number) => plain(product, prompt(round)) },
    ]);
    const results = await takeTurns(RUNS, contestants, BUDGET_MS);
    const times = (name: string): number[] => results.get(name) ?? [];
    return {
      findings: products.map(({ name: tree }) => {
        const [ours, reference] = [times(`${tree} ask`), times(`${tree} plain`)];
        // Of the same round: what slows the machine down slows both.
        const more = median(ours.map((ms, round) => ms - (reference[round] ?? Number.NaN)));
        return {
          measure: `ask: first token, median of ${ours.length} questions`,
          tree,
          ours: `${median(ours).toFixed(2)} ms`,
          reference: `${median(reference).toFixed(2)} ms plain`,
          compared: `${more.toFixed(2)} ms more`,
          target: `<= ${LIMIT_MS} ms`,
          met: more <= LIMIT_MS,
        };
      }),
      context: [
        `ask: p90 in ms: ${[...results].map(([name, all]) => `${name} ${percentile(all, 0.9).toFixed(1)}`).join("; ")}`,
      ],
    };
  },
};

const asked = ({ client }: Product, question: string): Promise<number> =>
  untilFirst(
    client.read({ path: "/kebab/ask", body: { question, collection: COLLECTION }, accept: NDJSON }),
    '"kind":"token"',
    '"grounded":true',
  );

const plain = ({ client }: Product, prompt: Prompt | undefined): Promise<number> => {
  const { prompt: _, ...start } = startBody();
  const body = { ...start, messages: prompt?.messages, generation: { maxOutputTokens: prompt?.maxOutputTokens } };
  return untilFirst(
    client.read({ path: "/v1/runs", body, accept: NDJSON }),
    '"type":"content_delta"',
    '"outcome":"completed"',
  );
};

/** Milliseconds from the request until these words had come; throws when the stream does not end as it should. */
async function untilFirst(open: Promise<Reading>, first: string, last: string): Promise<number> {
  const { pieces, sentAt } = await open;
  let text = "";
  let at: number | undefined;
  for (const { bytes, at: arrived } of pieces) {
    text += bytes.toString();
    if (at === undefined && text.includes(first)) at = arrived;
  }
  if (at === undefined || !text.includes(last)) throw new Error(`a stream ended as ${text.slice(-300)}`);
  return at - sentAt;
}
