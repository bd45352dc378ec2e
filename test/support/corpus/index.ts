// All streams of the corpus.
import { anthropicMessagesStreams } from "./anthropic-messages.ts";
import type { CorpusStream } from "./corpus-stream.ts";
import { ollamaStreams } from "./ollama.ts";
import { openAiChatStreams } from "./openai-chat.ts";

export const corpus: readonly CorpusStream[] = [...openAiChatStreams, ...anthropicMessagesStreams, ...ollamaStreams];
