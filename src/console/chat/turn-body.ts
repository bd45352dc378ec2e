// What is posted for a turn, and the name under which a repeat of it is the same turn. Pure.
import type { Fields } from "../fields.ts";
import { callsOf, type ChatMessage, messageText } from "./messages.ts";
import { pageTools } from "./page-tools.ts";
import type { Decision } from "./tool-calls.ts";

export type TurnBody = {
  readonly body: Fields;
  /** `Idempotency-Key`. */
  readonly identity: string;
};

/** What the form beside the text says. */
export type Choices = {
  /** Empty: the server's default. */
  readonly model: string;
  readonly thinking: boolean;
};

type Chat = { readonly chatId: string; readonly messages: readonly ChatMessage[] };

/** The newest message, a user's, is answered. The server has the rest of the conversation, in more detail than the page. */
export const askBody = ({ chatId, messages }: Chat, choices: Choices): TurnBody => {
  const newest = messages.slice(-1);
  return { body: common(chatId, newest.flatMap(wireMessages), "", choices), identity: newest.at(-1)?.id ?? chatId };
};

/** The results of the page's own calls are handed in. The whole conversation goes along, as every Sveda client sends it. */
export const resultsBody = ({ chatId, messages }: Chat, choices: Choices): TurnBody => {
  const body = common(chatId, messages.flatMap(wireMessages), "tool_results", choices);
  return { body, identity: `results ${messages.at(-1)?.id ?? chatId}` };
};

export const decisionBody = ({ chatId }: Chat, toolCallId: string, decision: Decision, choices: Choices): TurnBody => ({
  body: { ...common(chatId, [], "", choices), toolDecisions: [{ toolCallId, decision }] },
  identity: `${decision} ${toolCallId}`,
});

/** `identity`: new for each time that somebody wants to go on. */
export const continueBody = ({ chatId, messages }: Chat, identity: string, choices: Choices): TurnBody => ({
  body: common(chatId, messages.flatMap(wireMessages), "Continue", choices),
  identity,
});

const common = (chatId: string, messages: readonly Fields[], prompt: string, choices: Choices): Fields => ({
  chatId,
  messages,
  prompt,
  clientTools: pageTools,
  options: { thinking: choices.thinking },
  ...(choices.model !== "" && { model: choices.model }),
});

/** A message as Sveda clients send it; each result of a page's own call follows as a message of its own. */
const wireMessages = (message: ChatMessage): readonly Fields[] => {
  const content = messageText(message);
  const parts = message.parts.flatMap((part): Fields[] => {
    if (part.kind !== "call") return [{ type: part.kind, text: part.text }];
    const { toolCallId, toolName, target, input, confirmation, result } = part.call;
    const call = { type: "tool-call", toolCallId, toolName, target, input };
    const made = confirmation ? { ...call, confirmation: "required" } : call;
    return target === "backend" && result !== null ? [made, resultPart(toolCallId, toolName, result.output)] : [made];
  });
  const results = callsOf([message]).flatMap(({ toolCallId, toolName, target, result }): Fields[] => {
    if (target === "backend" || result === null) return [];
    const part = resultPart(toolCallId, toolName, result.output);
    return [{ id: `result_${toolCallId}`, role: "tool", content: "", toolCallId, parts: [part] }];
  });
  return [{ id: message.id, role: message.role, content, parts }, ...results];
};

const resultPart = (toolCallId: string, toolName: string, output: unknown): Fields => ({
  type: "tool-result",
  toolCallId,
  toolName,
  output,
});
