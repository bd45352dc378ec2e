// Embeddings of the OpenAI family: `/embeddings` beside the chat, and answers that say the place of each vector.
import { asArray, asCount, asRecord } from "../wire/json.ts";
import { headersOf } from "./conversation.ts";
import type { Embedder } from "./embedder.ts";
import { keyHeader, serverUrl } from "./openai-chat-request.ts";
import { presetOf } from "./openai-presets.ts";

export const embedOpenAiChat: Embedder = {
  request({ texts, dimensions }, target, key) {
    const preset = presetOf(target);
    return {
      url: serverUrl(target, preset, "/embeddings"),
      headers: headersOf(
        { "content-type": "application/json", accept: "application/json", ...keyHeader(preset, key) },
        target.headers,
      ),
      body: JSON.stringify({
        model: target.model,
        input: texts,
        encoding_format: "float",
        [preset.dimensions]: dimensions,
      }),
      unsupported: [],
    };
  },
  vectors(answer) {
    const entries = asRecord(answer)?.["data"];
    if (!Array.isArray(entries)) return undefined;
    const vectors = Array.from<unknown>({ length: entries.length });
    for (const [place, entry] of asArray(entries).entries()) {
      const { index, embedding } = asRecord(entry) ?? {};
      // A server that numbers nothing keeps the order.
      const at = index === undefined ? place : asCount(index);
      if (at === undefined || at >= vectors.length || vectors[at] !== undefined) return undefined;
      vectors[at] = embedding;
    }
    return vectors;
  },
};
