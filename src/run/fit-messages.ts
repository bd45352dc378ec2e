// A conversation made to fit into a size: long outputs are cut first, then long inputs, then the oldest messages go. Pure.
import type { Message } from "../../schemas/run.ts";
import { outputText, shortInput, SHORT_OUTPUT } from "./short-call.ts";
import { cutText } from "./tool-output.ts";
import { utf8Length } from "./utf8.ts";

/**
 * The newest of a conversation within `maxBytes` of UTF-8, as JSON. System messages stay, and so do the newest message with what
 * belongs to it and the last one of a user, whatever their size. No result stands without its call, and it begins with a user's
 * message if there is one. The list itself when it fits.
 */
export function fitMessages(messages: Message[], maxBytes: number): Message[] {
  let fitting = messages;
  const sizes = messages.map(sizeOf);
  const isWithin = (): boolean => sizes.reduce((sum, size) => sum + size, 0) <= maxBytes;
  if (isWithin()) return messages;
  const cut = (shorten: (message: Message, index: number) => Message): void => {
    let bytes = sizes.reduce((sum, size) => sum + size, 0);
    fitting = fitting.map((message, index) => {
      if (bytes <= maxBytes) return message;
      const shorter = shorten(message, index);
      if (shorter === message) return message;
      const size = sizeOf(shorter);
      bytes -= (sizes[index] ?? 0) - size;
      sizes[index] = size;
      return shorter;
    });
  };
  const made = madeCalls(messages);
  cut(withShortOutput);
  cut((message, index) => withShortInputs(message, (id) => made[index]?.has(id) === true));
  if (isWithin()) return fitting;
  const isKept = keptOf(fitting, sizes, maxBytes);
  for (const index of fitting.keys()) if (!isKept(index)) sizes[index] = 0;
  // What is to be called is told elsewhere: here a model reads of it.
  cut((message, index) => (isKept(index) ? withShortInputs(message, () => true) : message));
  return fitting.filter((_, index) => isKept(index));
}

/** An output as text that is cut, when it is long. */
function withShortOutput(message: Message): Message {
  if (message.role !== "tool") return message;
  const { output, outputJson, ...rest } = message;
  const text = outputText({ output, outputJson });
  return utf8Length(text) <= SHORT_OUTPUT ? message : { ...rest, output: cutText(text, SHORT_OUTPUT) };
}

function withShortInputs(message: Message, isMeant: (toolCallId: string) => boolean): Message {
  if (message.role !== "assistant" || message.toolCalls === undefined) return message;
  const toolCalls = message.toolCalls.map((call) => {
    if (!isMeant(call.toolCallId)) return call;
    const { inputJson, ...rest } = call;
    const input = shortInput({ input: call.input, inputJson });
    return input === call.input ? call : { ...rest, input };
  });
  return toolCalls.every((call, index) => call === message.toolCalls?.[index]) ? message : { ...message, toolCalls };
}

/** By message: those of its calls that have a result. Ids may come again in later turns. */
function madeCalls(messages: readonly Message[]): ReadonlySet<string>[] {
  const answered = new Set<string>();
  return messages
    .toReversed()
    .map((message) => {
      if (message.role === "tool") answered.add(message.toolCallId);
      const ids = message.role === "assistant" ? (message.toolCalls ?? []).map(({ toolCallId }) => toolCallId) : [];
      const made = new Set(ids.filter((id) => answered.has(id)));
      for (const id of ids) answered.delete(id);
      return made;
    })
    .toReversed();
}

function keptOf(messages: readonly Message[], sizes: readonly number[], maxBytes: number): (index: number) => boolean {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const always = (index: number): boolean => index === asked || messages[index]?.role === "system";
  let room = maxBytes;
  for (const [index, size] of sizes.entries()) if (always(index)) room -= size;
  let kept = messages.length;
  let user: number | undefined;
  for (let index = messages.length - 1; index >= 0; index--) {
    const { role } = messages[index] ?? {};
    if (role === "system") continue;
    if (!always(index)) room -= sizes[index] ?? 0;
    if (room < 0 && kept < messages.length) break;
    if (role === "tool") continue;
    kept = index;
    if (role === "user") user = index;
  }
  const from = user ?? kept;
  return (index) => index >= from || always(index);
}

const sizeOf = (message: Message): number => utf8Length(JSON.stringify(message));
