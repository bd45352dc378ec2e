// All formats and streams of the corpus.
import { anthropicMessagesFormat } from "./anthropic-messages.ts";
import { bedrockConverseFormat } from "./bedrock-converse.ts";
import { cohereFormat } from "./cohere.ts";
import type { CorpusFormat, CorpusStream, Framing, StreamFormat } from "./corpus-stream.ts";
import { geminiFormat } from "./gemini.ts";
import { ollamaFormat } from "./ollama.ts";
import { openAiChatFormat } from "./openai-chat.ts";
import { openAiResponsesFormat } from "./openai-responses.ts";
import { workersAiFormat } from "./workers-ai.ts";

export const corpusFormats: readonly CorpusFormat[] = [
  openAiChatFormat,
  openAiResponsesFormat,
  anthropicMessagesFormat,
  ollamaFormat,
  bedrockConverseFormat,
  cohereFormat,
  geminiFormat,
  workersAiFormat,
];

export const corpus: readonly CorpusStream[] = corpusFormats.flatMap(({ streams }) => streams);

export function formatOf({ format }: { readonly format: StreamFormat }): CorpusFormat {
  const found = corpusFormats.find((candidate) => candidate.format === format);
  if (found === undefined) throw new Error(`The corpus has no format ${format}`);
  return found;
}

export const framingOf = (stream: CorpusStream): Framing => stream.framing ?? formatOf(stream).framing;
