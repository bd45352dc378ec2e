// A conversation made to fit into a size: long tool outputs are cut first, then the oldest messages go. Pure.
import type { Message } from "../../schemas/run.ts";
import { cutText } from "./tool-output.ts";
import { utf8Length } from "./utf8.ts";

/** UTF-8 bytes that are left of an output that is cut. */
export const SHORT_OUTPUT = 2048;

/**
 * The newest of a conversation within `maxBytes` of UTF-8, as JSON. System messages stay, and so does the newest message with
 * what belongs to it, whatever their size. No result stands without its call, and where it can it begins with a user's message.
 * The list itself when it fits.
 */
export function fitMessages(messages: Message[], maxBytes: number): Message[] {
  const sizes = messages.map(sizeOf);
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= maxBytes) return messages;
  const fitting = messages.map((message, index) => {
    if (bytes <= maxBytes) return message;
    const shorter = shortened(message);
    const size = sizeOf(shorter);
    bytes -= (sizes[index] ?? 0) - size;
    sizes[index] = size;
    return shorter;
  });
  const from = bytes <= maxBytes ? 0 : firstKept(fitting, sizes, maxBytes);
  return fitting.filter(({ role }, index) => index >= from || role === "system");
}

/** An output as text that is cut, when it is long. */
function shortened(message: Message): Message {
  if (message.role !== "tool") return message;
  const { output, outputJson, ...rest } = message;
  const text = typeof output === "string" ? output : (outputJson ?? JSON.stringify(output) ?? "null");
  return utf8Length(text) <= SHORT_OUTPUT ? message : { ...rest, output: cutText(text, SHORT_OUTPUT) };
}

function firstKept(messages: readonly Message[], sizes: readonly number[], maxBytes: number): number {
  let room = maxBytes;
  for (const [index, { role }] of messages.entries()) if (role === "system") room -= sizes[index] ?? 0;
  let kept = messages.length;
  let user: number | undefined;
  for (let index = messages.length - 1; index >= 0; index--) {
    const { role } = messages[index] ?? {};
    if (role === "system") continue;
    room -= sizes[index] ?? 0;
    if (room < 0 && kept < messages.length) break;
    if (role === "tool") continue;
    kept = index;
    if (role === "user") user = index;
  }
  return user ?? kept;
}

const sizeOf = (message: Message): number => utf8Length(JSON.stringify(message));
