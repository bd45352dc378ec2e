// All tables of errors.
import { anthropicErrors } from "./anthropic.ts";
import { azureErrors } from "./azure.ts";
import { bedrockErrors } from "./bedrock-converse.ts";
import { cohereErrors } from "./cohere.ts";
import type { ErrorTable } from "./error-row.ts";
import { gatewayErrors } from "./gateways.ts";
import { geminiErrors } from "./gemini.ts";
import { groqErrors } from "./groq.ts";
import { hostedErrors } from "./hosts.ts";
import { mistralErrors } from "./mistral.ts";
import { ollamaErrors } from "./ollama.ts";
import { openAiResponsesErrors } from "./openai-responses.ts";
import { openAiErrors } from "./openai.ts";
import { openRouterErrors } from "./openrouter.ts";
import { selfHostedErrors } from "./self-hosted.ts";
import { workersAiErrors } from "./workers-ai.ts";

export const errorTables: readonly ErrorTable[] = [
  openAiErrors,
  azureErrors,
  gatewayErrors,
  openRouterErrors,
  groqErrors,
  mistralErrors,
  hostedErrors,
  selfHostedErrors,
  openAiResponsesErrors,
  anthropicErrors,
  geminiErrors,
  ollamaErrors,
  cohereErrors,
  bedrockErrors,
  workersAiErrors,
];
