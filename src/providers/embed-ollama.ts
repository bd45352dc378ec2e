// Embeddings of Ollama: `/api/embed`, which cuts a text that is too long for its model.
import { asRecord } from "../wire/json.ts";
import { headersOf, urlOf } from "./conversation.ts";
import type { Embedder } from "./embedder.ts";

export const embedOllama: Embedder = {
  request: ({ texts, dimensions }, target, key) => ({
    url: urlOf(target.baseUrl, "/api/embed", target.query),
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: "application/json",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      target.headers,
    ),
    body: JSON.stringify({ model: target.model, input: texts, truncate: true, dimensions }),
    unsupported: [],
  }),
  vectors(answer) {
    const lists = asRecord(answer)?.["embeddings"];
    return Array.isArray(lists) ? lists : undefined;
  },
};
