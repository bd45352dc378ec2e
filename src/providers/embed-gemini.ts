// Embeddings of Gemini: a request per text in one batch. From its second generation on, models take what a text is for from the text alone.
import { asArray, asRecord } from "../wire/json.ts";
import { headersOf, urlOf } from "./conversation.ts";
import type { Embedder } from "./embedder.ts";
import { geminiModel, geminiPath } from "./gemini-request.ts";

const taskTypes = { document: "RETRIEVAL_DOCUMENT", query: "RETRIEVAL_QUERY" };
const prefixes = { document: "title: none | text: ", query: "task: search result | query: " };

const readsPrefixes = (model: string): boolean => /^(models\/)?gemini-embedding-[1-9]/.test(model);

export const embedGemini: Embedder = {
  request({ texts, purpose, dimensions }, target, key) {
    const { model = "" } = target;
    const prefix = readsPrefixes(model) ? prefixes[purpose] : "";
    const taskType = readsPrefixes(model) ? undefined : taskTypes[purpose];
    return {
      url: urlOf(target.baseUrl, geminiPath(model, "batchEmbedContents"), target.query),
      headers: headersOf(
        {
          "content-type": "application/json",
          accept: "application/json",
          ...(key !== undefined && { "x-goog-api-key": key }),
        },
        target.headers,
      ),
      body: JSON.stringify({
        requests: texts.map((text) => ({
          model: geminiModel(model),
          content: { parts: [{ text: prefix + text }] },
          taskType,
          outputDimensionality: dimensions,
        })),
      }),
      unsupported: [],
    };
  },
  vectors(answer) {
    const entries = asRecord(answer)?.["embeddings"];
    return Array.isArray(entries) ? asArray(entries).map((entry) => asRecord(entry)?.["values"]) : undefined;
  },
};
