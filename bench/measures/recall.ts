// How good searches are: of the labelled questions of the tests, the share whose passage is among the first eight hits.
import { corpus, questions } from "../../test/support/kebab-corpus.ts";
import { keepLibrary } from "../stand/collection.ts";
import type { Measure } from "./measure.ts";

const COLLECTION = "recall";
const HITS = 8;
const MIN_RECALL = 0.9;

interface Found {
  hits: { doc_path: string; section_label: string | null }[];
}

export const recall: Measure = {
  name: "recall",
  about: "labelled questions whose passage is among the first eight hits; no reference",
  async take(stand) {
    const documents = Object.entries(corpus).map(([path, content]) => ({ path, content }));
    const findings = [];
    const context: string[] = [];
    for (const product of await stand.products()) {
      await keepLibrary(product, { documents }, COLLECTION);
      const places: number[] = [];
      for (const [query, path, heading] of questions) {
        const body = { query, collection: COLLECTION, k: HITS };
        const { hits }: Found = JSON.parse(await product.client.readText({ path: "/kebab/search", body }));
        places.push(hits.findIndex(({ doc_path, section_label }) => doc_path === path && section_label === heading));
      }
      const share = (fits: (place: number) => boolean): number => places.filter(fits).length / places.length;
      const found = share((place) => place >= 0);
      findings.push({
        measure: `recall: lexical, in the first ${HITS} of ${questions.length} questions`,
        tree: product.name,
        ours: found.toFixed(3),
        reference: "",
        compared: "",
        target: `>= ${MIN_RECALL}`,
        met: found >= MIN_RECALL,
      });
      const missed = questions.flatMap(([query], index) => ((places[index] ?? -1) < 0 ? [query] : []));
      context.push(
        `recall: ${share((place) => place === 0).toFixed(3)} have it as the first hit; missed: ${missed.join(" ") || "none"}`,
      );
    }
    return { findings, context };
  },
};
