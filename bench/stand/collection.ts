// The library in a collection of the product. Kept once: documents that are there already are unchanged, and cost next to nothing.
import type { Library } from "./library.ts";
import type { Product } from "./stand.ts";

export const COLLECTION = "bench";
/** Documents of a batch. */
const BATCH = 40;

/** Milliseconds that it took to keep the whole library. */
export async function keepLibrary(
  product: Product,
  { documents }: Pick<Library, "documents">,
  collection = COLLECTION,
) {
  const began = performance.now();
  for (let from = 0; from < documents.length; from += BATCH) {
    const lines = documents
      .slice(from, from + BATCH)
      .map(({ path, content }) => JSON.stringify({ doc_path: path, content }));
    await product.client.read({
      path: `/kebab/collections/${collection}/documents`,
      body: lines.join("\n"),
      type: "application/x-ndjson",
    });
  }
  return performance.now() - began;
}
