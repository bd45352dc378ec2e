// Embeddings of Cohere (v2), whose models embed questions in another way than documents.
import { asRecord } from "../wire/json.ts";
import { headersOf, urlOf } from "./conversation.ts";
import type { Embedder } from "./embedder.ts";

const inputTypes = { document: "search_document", query: "search_query" };

export const embedCohere: Embedder = {
  request: ({ texts, purpose, dimensions }, target, key) => ({
    url: urlOf(target.baseUrl, "/v2/embed", target.query),
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: "application/json",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      target.headers,
    ),
    body: JSON.stringify({
      model: target.model,
      texts,
      input_type: inputTypes[purpose],
      embedding_types: ["float"],
      output_dimension: dimensions,
      truncate: "END",
    }),
    unsupported: [],
  }),
  vectors(answer) {
    const lists = asRecord(asRecord(answer)?.["embeddings"])?.["float"];
    return Array.isArray(lists) ? lists : undefined;
  },
};
