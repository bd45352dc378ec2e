// A stored chat as the page shows it. Pure; the order of texts and calls within an answer is taken from the conversation that
// the model reads, because the stored message itself lists all texts before all calls.
import { type Fields, fieldsIn, listIn, parseJson, isFields, textIn } from "../fields.ts";
import { cutBy, type Ending, endingFrom } from "./endings.ts";
import { type ChatMessage, settleCall, withCall, withDelta } from "./messages.ts";
import { type CallResult, callFrom, resultFrom, type ToolCall } from "./tool-calls.ts";

export type ChatRow = {
  readonly chatId: string;
  readonly title: string;
  readonly preview: string;
  /** RFC 3339, or empty. */
  readonly updatedAt: string;
};

export type StoredChat = {
  readonly chatId: string;
  readonly title: string | null;
  readonly messages: readonly ChatMessage[];
  /** The turn that runs now. */
  readonly activeRunId: string | undefined;
  /** The latest turn, when the server knows how it ended. */
  readonly lastTurn: LastTurn | null;
};

export type LastTurn = {
  readonly runId: string;
  /** The message that it left, if it left one. */
  readonly answerId: string;
  readonly ending: Ending | null;
};

export const chatRows = (body: Fields): readonly ChatRow[] =>
  listIn(body, "histories").flatMap((summary) => {
    const chatId = textIn(summary, "chatId") ?? textIn(summary, "id");
    if (chatId === undefined) return [];
    const [title, preview] = [textIn(summary, "title") ?? "", textIn(summary, "preview") ?? ""];
    return [{ chatId, title, preview, updatedAt: textIn(summary, "updatedAt") ?? "" }];
  });

export const storedChat = (chatId: string, detail: Fields): StoredChat => {
  const stored = listIn(detail, "messages");
  const entries = listIn(detail, "conversationHistory");
  const messages = stored.flatMap((message) => messageFrom(message, entries));
  const settled = [...entries.flatMap(resultPart), ...stored.flatMap((message) => listIn(message, "parts"))].reduce<
    readonly ChatMessage[]
  >((all, part) => {
    const toolCallId = textIn(part, "toolCallId");
    if (textIn(part, "type") !== "tool-result" || toolCallId === undefined) return all;
    return settleCall(all, toolCallId, storedResult(part));
  }, messages);
  const title = textIn(detail, "title");
  return {
    chatId,
    title: title === "" ? null : (title ?? null),
    messages: settled,
    activeRunId: textIn(detail, "activeRunId"),
    lastTurn: lastTurnFrom(fieldsIn(detail, "lastTurn")),
  };
};

const lastTurnFrom = (said: Fields | undefined): LastTurn | null => {
  const runId = textIn(said, "runId");
  if (said === undefined || runId === undefined) return null;
  return { runId, answerId: `msg_${runId}`, ending: endingFrom(said) };
};

const messageFrom = (stored: Fields, entries: readonly Fields[]): readonly ChatMessage[] => {
  const role = textIn(stored, "role");
  const id = textIn(stored, "id") ?? "";
  if (role === "user") return [{ id, role, parts: [{ kind: "text", text: textOf(stored) }] }];
  if (role !== "assistant") return [];
  const cut = cutBy(endingFrom(stored));
  return [answerFrom({ id, role, parts: [], ...(cut !== undefined && { cut }) }, stored, entries)];
};

/** Each step that called something gives its texts, then its calls; what is left of the texts comes last. */
const answerFrom = (empty: ChatMessage, stored: Fields, entries: readonly Fields[]): ChatMessage => {
  const calls = new Map(
    listIn(stored, "parts").flatMap((part): [string, ToolCall][] => {
      const call = textIn(part, "type") === "tool-call" ? callFrom(withInput(part)) : undefined;
      return call === undefined ? [] : [[call.toolCallId, call]];
    }),
  );
  const rest = { text: textOf(stored), reasoning: reasoningOf(stored) };
  const take = (message: ChatMessage, kind: "text" | "reasoning", piece: string): ChatMessage => {
    if (piece === "" || !rest[kind].startsWith(piece)) return message;
    rest[kind] = rest[kind].slice(piece.length);
    return withDelta(message, kind, piece);
  };
  const steps = entries
    .map((entry) => ({
      entry,
      made: listIn(entry, "tool_calls").flatMap((call) => calls.get(textIn(call, "id") ?? "") ?? []),
    }))
    .filter(({ made }) => made.length > 0);
  const told = steps.some(({ entry }) => textIn(entry, "reasoning") !== undefined);
  let message = told ? empty : take(empty, "reasoning", rest.reasoning);
  for (const { entry, made } of steps) {
    message = take(message, "reasoning", textIn(entry, "reasoning") ?? "");
    message = take(message, "text", textIn(entry, "content") ?? "");
    for (const call of made) {
      message = withCall(message, call);
      calls.delete(call.toolCallId);
    }
  }
  message = take(message, "reasoning", rest.reasoning);
  message = take(message, "text", rest.text);
  for (const call of calls.values()) message = withCall(message, call);
  return message;
};

/** What the model was told of a call. A message's own part says more, where there is one. */
const resultPart = (entry: Fields): readonly Fields[] => {
  const toolCallId = textIn(entry, "tool_call_id");
  return toolCallId === undefined ? [] : [{ type: "tool-result", toolCallId, output: textIn(entry, "content") ?? "" }];
};

const storedResult = (part: Fields): CallResult => {
  const output = part["output"];
  const value = typeof output === "string" ? parseJson(output) : undefined;
  return resultFrom(isFields(value) ? { ...part, output: value } : part);
};

/** Some clients store an input as JSON text. */
const withInput = (part: Fields): Fields => {
  const { input } = part;
  const value = typeof input === "string" ? parseJson(input) : undefined;
  return isFields(value) ? { ...part, input: value } : part;
};

const textOf = (stored: Fields): string => {
  const content = textIn(stored, "content") ?? "";
  if (content.trim() !== "") return content;
  return partTexts(stored, "text").join("\n");
};

/** A lone dot is the filler of some clients. */
const reasoningOf = (stored: Fields): string => {
  const text = textIn(stored, "reasoning") ?? partTexts(stored, "reasoning").join("\n");
  return text === "." ? "" : text;
};

const partTexts = (stored: Fields, type: string): readonly string[] =>
  listIn(stored, "parts").flatMap((part) => (textIn(part, "type") === type ? [textIn(part, "text") ?? ""] : []));
