// The registry of adapters: one line each.
import type { AdapterId } from "../../schemas/config.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { bedrockConverse } from "./bedrock-converse.ts";
import { cohere } from "./cohere.ts";
import { demo } from "./demo.ts";
import { gemini } from "./gemini.ts";
import { ollama } from "./ollama.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";
import type { Adapter } from "./provider.ts";
import { workersAi } from "./workers-ai.ts";

export const adapters: Record<AdapterId, Adapter> = {
  demo,
  "openai-chat": openAiChat,
  "openai-responses": openAiResponses,
  "anthropic-messages": anthropicMessages,
  ollama,
  "bedrock-converse": bedrockConverse,
  cohere,
  gemini,
  "workers-ai": workersAi,
};
