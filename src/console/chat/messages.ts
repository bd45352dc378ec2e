// The messages of a chat and what they are made of. Pure; parts stand in the order in which they came.
import type { Cut } from "./endings.ts";
import type { CallResult, ToolCall } from "./tool-calls.ts";

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall };

export type ChatMessage = {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly Part[];
  /** It is not whole. */
  readonly cut?: Cut;
};

export const messageText = (message: ChatMessage): string =>
  message.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n");

export const callsOf = (messages: readonly ChatMessage[]): readonly ToolCall[] =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === "call" ? [part.call] : [])));

/** The message with more text or reasoning at its end. */
export const withDelta = (message: ChatMessage, kind: "text" | "reasoning", delta: string): ChatMessage => {
  if (delta === "") return message;
  const last = message.parts.at(-1);
  return last?.kind === kind
    ? { ...message, parts: message.parts.with(-1, { kind, text: last.text + delta }) }
    : { ...message, parts: [...message.parts, { kind, text: delta }] };
};

/** A call that is made again under its id stands where it stood. */
export const withCall = (message: ChatMessage, call: ToolCall): ChatMessage => {
  const at = message.parts.findIndex((part) => part.kind === "call" && part.call.toolCallId === call.toolCallId);
  const part: Part = { kind: "call", call };
  return { ...message, parts: at < 0 ? [...message.parts, part] : message.parts.with(at, part) };
};

/** The messages with one call changed; the same ones when none has the id. The newest call of an id counts. */
export const changeCall = (
  messages: readonly ChatMessage[],
  toolCallId: string,
  change: (call: ToolCall) => ToolCall,
): readonly ChatMessage[] => {
  const holds = (part: Part): boolean => part.kind === "call" && part.call.toolCallId === toolCallId;
  const at = messages.findLastIndex(({ parts }) => parts.some(holds));
  const holder = messages[at];
  if (holder === undefined) return messages;
  const parts = holder.parts.map((part): Part =>
    part.kind === "call" && holds(part) ? { kind: "call", call: change(part.call) } : part,
  );
  return messages.with(at, { ...holder, parts });
};

export const settleCall = (
  messages: readonly ChatMessage[],
  toolCallId: string,
  result: CallResult,
): readonly ChatMessage[] =>
  changeCall(messages, toolCallId, (call) => {
    const { decision } = call;
    // One that failed was carried out.
    const overruled = decision !== null && (decision === "deny") !== (result.kind === "denied");
    return { ...call, decision: null, result, ...(overruled && { overruled }) };
  });
