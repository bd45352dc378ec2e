// The registry of adapters that make embeddings: one line each.
import type { EmbedderId } from "../../schemas/config.ts";
import { embedCohere } from "./embed-cohere.ts";
import { embedGemini } from "./embed-gemini.ts";
import { embedOllama } from "./embed-ollama.ts";
import { embedOpenAiChat } from "./embed-openai-chat.ts";
import { embedWorkersAi } from "./embed-workers-ai.ts";
import type { Embedder } from "./embedder.ts";

export const embedders: Record<EmbedderId, Embedder> = {
  "openai-chat": embedOpenAiChat,
  ollama: embedOllama,
  cohere: embedCohere,
  gemini: embedGemini,
  "workers-ai": embedWorkersAi,
};
