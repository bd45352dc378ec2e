// What is posted for a turn, and the name under which a repeat of it is the same turn. Pure.
import type { Fields } from "../fields.ts";
import { decided } from "./chat-view.ts";
import { callsOf, type ChatMessage, messageText } from "./messages.ts";
import { pageTools } from "./page-tools.ts";

export type TurnBody = {
  readonly body: Fields;
  /** `Idempotency-Key`. */
  readonly identity: string;
};

/** In what follows an empty model is the server's default. */
type Chat = { readonly chatId: string; readonly messages: readonly ChatMessage[] };

/** The newest message, a user's, is answered. The server has the rest of the conversation, in more detail than the page. */
export const askBody = ({ chatId, messages }: Chat, model: string): TurnBody => {
  const newest = messages.slice(-1);
  return { body: common(chatId, newest.map(wireMessage), "", model), identity: newest.at(-1)?.id ?? chatId };
};

/** The results of the page's own calls are handed in. */
export const resultsBody = ({ chatId, messages }: Chat, model: string): TurnBody => ({
  body: common(chatId, resultMessages(messages), "tool_results", model),
  identity: `results ${messages.at(-1)?.id ?? chatId}`,
});

/** Decisions are posted together. Results of the page's own calls go along: the turn goes on from all of them. */
export const decisionBody = (chat: Chat, model: string): TurnBody => {
  const toolDecisions = decided(chat).map(({ toolCallId, decision }) => ({ toolCallId, decision }));
  return {
    body: { ...common(chat.chatId, resultMessages(chat.messages), "", model), toolDecisions },
    identity: `decisions ${chat.messages.at(-1)?.id ?? chat.chatId}`,
  };
};

/** The same turn, asked of another model. */
export const withModel = ({ body, identity }: TurnBody, model: string): TurnBody => {
  const { model: _before, ...others } = body;
  return { body: { ...others, ...(model !== "" && { model }) }, identity };
};

const common = (chatId: string, messages: readonly Fields[], prompt: string, model: string): Fields => ({
  chatId,
  messages,
  prompt,
  clientTools: pageTools,
  ...(model !== "" && { model }),
});

const wireMessage = (message: ChatMessage): Fields => {
  const content = messageText(message);
  return { id: message.id, role: message.role, content, parts: [{ type: "text", text: content }] };
};

/** Each result of the newest answer's page calls as a message, as Sveda clients send it. */
const resultMessages = (messages: readonly ChatMessage[]): readonly Fields[] =>
  callsOf(messages.slice(-1)).flatMap(({ toolCallId, toolName, target, result }) => {
    if (target === "backend" || result === null) return [];
    const part = { type: "tool-result", toolCallId, toolName, output: result.output };
    return [{ id: `result_${toolCallId}`, role: "tool", content: "", toolCallId, parts: [part] }];
  });
