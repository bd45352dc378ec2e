// The messages of a chat as its page shows them: what comes in joins what is stored, and a turn leaves one message. Pure.
import type { DisplayMessage, TurnEnd, TurnFinish } from "../../schemas/chat.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { CallRecord } from "../../schemas/tool.ts";

/** The id under which a run's message is streamed and kept. */
export const messageIdOf = (runId: string): string => `msg_${runId}`;

const isPart = (type: string, toolCallId: unknown) => (part: JsonRecord) =>
  part["type"] === type && part["toolCallId"] === toolCallId;

/**
 * Stored messages with those that come in. A message that is stored stays in its place; new ones follow the stored ones.
 * `same`: what an id that is stored already says. In a client's whole list, and in a turn that is tried again, it is that
 * message. Of new messages only the last one stored can be meant, and any other gets an id of its own.
 */
export function withIncoming(
  stored: readonly DisplayMessage[],
  incoming: readonly DisplayMessage[],
  same: "known" | "last",
): DisplayMessage[] {
  const messages = [...stored];
  const places = new Map(messages.map(({ id }, index) => [id, index]));
  const answers = new Map<string, string>();
  for (const { id, role, content } of stored) if (role === "assistant" && content !== "") answers.set(content, id);
  for (const message of incoming.filter(showsSomething)) {
    // An assistant's message that came without our id.
    const answer = same === "known" && message.role === "assistant" ? answers.get(message.content) : undefined;
    const at = places.get(message.id) ?? (answer === undefined ? undefined : places.get(answer));
    const known = at === undefined ? undefined : messages[at];
    if (at === undefined || known === undefined) {
      places.set(message.id, messages.push(message) - 1);
    } else if (known.role === message.role && (same === "known" || at === stored.length - 1)) {
      messages[at] = known.role === "assistant" ? withNewResults(known, message) : message;
    } else {
      const id = freeId(message.id, places);
      places.set(id, messages.push({ ...message, id }) - 1);
    }
  }
  return messages;
}

function freeId(id: string, taken: ReadonlyMap<string, unknown>): string {
  let number = 2;
  while (taken.has(`${id}.${number}`)) number++;
  return `${id}.${number}`;
}

/** What an answer showed is never taken back by a client's copy of it; that copy may only bring results of the client's tools. */
function withNewResults(known: DisplayMessage, copy: DisplayMessage): DisplayMessage {
  const more = copy.parts.filter(
    (part) =>
      part["type"] === "tool-result" &&
      known.parts.some(isPart("tool-call", part["toolCallId"])) &&
      !known.parts.some(isPart("tool-result", part["toolCallId"])),
  );
  return more.length === 0 ? known : { ...known, parts: [...known.parts, ...more] };
}

/**
 * Stored messages with what a client's messages bring of results for its open calls, and nothing else of them: those in other
 * messages join the message that holds the call, those in messages of their own stay there.
 */
export function withClientParts(
  stored: readonly DisplayMessage[],
  incoming: readonly DisplayMessage[],
  open: readonly string[],
): DisplayMessage[] {
  const messages = [...stored];
  const left = new Set(open);
  for (const part of incoming.flatMap(({ role, parts }) => (role === "tool" ? [] : parts))) {
    const id = part["toolCallId"];
    if (part["type"] !== "tool-result" || typeof id !== "string" || !left.has(id)) continue;
    const at = messages.findLastIndex(({ parts }) => parts.some(isPart("tool-call", id)));
    const holder = messages[at];
    if (holder === undefined) continue;
    left.delete(id);
    messages[at] = { ...holder, parts: [...holder.parts, part] };
  }
  const own = incoming.filter(
    ({ role, parts }) => role === "tool" && [...left].some((id) => parts.some(isPart("tool-result", id))),
  );
  return withIncoming(messages, own, "known");
}

/** An assistant's message without text, calls or anything else is a client's place for an answer that never came. */
function showsSomething(message: DisplayMessage): boolean {
  if (message.role !== "assistant" || message.content.trim() !== "") return true;
  return message.parts.some(({ type, text }) => {
    if (type === "reasoning") return typeof text === "string" && text.trim() !== "" && text.trim() !== ".";
    return type !== "text" || (typeof text === "string" && text.trim() !== "");
  });
}

/** Results of earlier calls go to the message that holds the call, the rest is the turn's own message, if there is anything to show. */
export function withTurn(stored: readonly DisplayMessage[], end: TurnEnd): DisplayMessage[] {
  const messages = [...stored];
  const own = messageIdOf(end.runId);
  const homeless: CallRecord[] = [];
  for (const call of end.carried) {
    const holds = isPart("tool-call", call.toolCallId);
    const at = messages.findLastIndex(({ id, parts }) => id !== own && parts.some(holds));
    const holder = messages[at];
    if (holder === undefined) homeless.push(call);
    else if (call.result !== undefined && !holder.parts.some(isPart("tool-result", call.toolCallId))) {
      messages[at] = { ...holder, parts: [...holder.parts, ...resultParts(call)] };
    }
  }
  const message = turnMessage(end, homeless);
  if (message.parts.length === 0) return messages;
  // A client may have brought its own copy before the end was known.
  const at = messages.findIndex(({ id }) => id === message.id);
  return at < 0 ? [...messages, message] : messages.with(at, message);
}

/** How a turn ended, as its page is told. */
export const finishOfTurn = ({ outcome, finish }: Pick<TurnEnd, "outcome" | "finish">): TurnFinish =>
  finish ?? { finishReason: outcome === "completed" ? "stop" : outcome };

function turnMessage(end: TurnEnd, homeless: readonly CallRecord[]): DisplayMessage {
  const { runId, text, reasoning, steps } = end;
  const calls = [...homeless, ...steps.flatMap((step) => step.calls)];
  return {
    id: messageIdOf(runId),
    role: "assistant",
    content: text,
    parts: [
      ...(reasoning === "" ? [] : [{ type: "reasoning", text: reasoning }]),
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...calls.map(callPart),
      ...calls.flatMap(resultParts),
    ],
    ...(reasoning !== "" && { reasoning }),
    ...finishOfTurn(end),
  };
}

function callPart({ toolCallId, toolName, input, execution, confirmation }: CallRecord): JsonRecord {
  const target = execution === "server" ? "backend" : "frontend";
  return {
    type: "tool-call",
    toolCallId,
    toolName,
    target,
    input,
    ...(confirmation !== undefined && { confirmation }),
  };
}

function resultParts({ toolCallId, toolName, result }: CallRecord): JsonRecord[] {
  if (result === undefined) return [];
  const { output, renderHint, renderData } = result;
  return [
    {
      type: "tool-result",
      toolCallId,
      toolName,
      output: output ?? null,
      ...(renderHint !== undefined && { renderHint }),
      ...(renderData !== undefined && { renderData }),
    },
  ];
}

/** The ids of all calls that the page shows. */
export const shownCallIds = (messages: readonly DisplayMessage[]): string[] =>
  messages.flatMap(({ parts }) =>
    parts.flatMap(({ type, toolCallId }) =>
      type === "tool-call" && typeof toolCallId === "string" ? [toolCallId] : [],
    ),
  );

/** The calls that have no result in the same message or in a later one. Calls of clients may repeat an id, so a call is known by its part. */
export function openCallParts(messages: readonly DisplayMessage[]): ReadonlySet<JsonRecord> {
  const open = new Set<JsonRecord>();
  const answered = new Set<unknown>();
  for (const { parts } of messages.toReversed()) {
    const calls = parts.filter(({ type }) => type === "tool-call");
    for (const { type, toolCallId } of parts) if (type === "tool-result") answered.add(toolCallId);
    for (const call of calls) if (!answered.has(call["toolCallId"])) open.add(call);
    for (const { toolCallId } of calls) answered.delete(toolCallId);
  }
  return open;
}
