// Embeddings of Workers AI: the body that the binding and the REST API share. The API wraps the answer, the binding does not.
import { asRecord } from "../wire/json.ts";
import type { Embedder } from "./embedder.ts";
import { workersAiHeaders, workersAiUrl } from "./workers-ai-request.ts";

export const embedWorkersAi: Embedder = {
  request: ({ texts }, target, key) => ({
    url: workersAiUrl(target),
    headers: workersAiHeaders("application/json", target, key),
    // Its models make what they make: a number of dimensions cannot be asked for.
    body: JSON.stringify({ text: texts }),
    unsupported: [],
  }),
  vectors(answer) {
    const object = asRecord(answer);
    const lists = (asRecord(object?.["result"]) ?? object)?.["data"];
    return Array.isArray(lists) ? lists : undefined;
  },
};
