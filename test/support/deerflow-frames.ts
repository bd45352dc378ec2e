// DeerFlow's wire read back: frames, and what a client has of them in the end. Asserts nothing.
import { asArray, asRecord } from "../../src/wire/json.ts";

export interface DeerFrame {
  event: string;
  data: unknown;
  id: string | undefined;
  /** As it stands on the wire. */
  text: string;
}

/** Only the exact form of a frame is read: event, one line of data, id. A frame that is not whole is left out. */
export function framesOf(wire: string): DeerFrame[] {
  const texts = wire
    .replace(/^retry: \d+\n/, "")
    .replaceAll(/^: hb\n/gm, "")
    .split("\n\n")
    .slice(0, -1);
  return texts.map((text) => {
    const [, event, data, id] = /^event: ([a-z]+)\ndata: ([^\r\n]+)(?:\nid: (\d+-\d+))?$/.exec(text) ?? [];
    if (event === undefined || data === undefined) throw new Error(`not a frame: ${text}`);
    return { event, data: JSON.parse(data), id, text: `${text}\n\n` };
  });
}

/** The messages that a client shows which puts pieces together by id, and takes a whole state as it comes. */
export function shownBy(frames: readonly DeerFrame[]): Record<string, unknown>[] {
  let messages: Record<string, unknown>[] = [];
  for (const { event, data } of frames) {
    if (event === "values") messages = messagesIn(data);
    if (event !== "messages") continue;
    const piece = asRecord(asArray(data)[0]) ?? {};
    const before = messages.find(({ id }) => id === piece["id"]);
    const joined =
      before?.["type"] === "AIMessageChunk" && piece["type"] === "AIMessageChunk"
        ? { ...before, content: `${String(before["content"])}${String(piece["content"])}` }
        : piece;
    messages = before === undefined ? [...messages, piece] : messages.map((one) => (one === before ? joined : one));
  }
  return messages;
}

export const messagesIn = (values: unknown): Record<string, unknown>[] =>
  asArray(asRecord(values)?.["messages"]).map((one) => asRecord(one) ?? {});

/** What the model has said, by message. */
export const answersIn = (messages: readonly Record<string, unknown>[]): string[] =>
  messages.filter(({ type }) => type === "ai" || type === "AIMessageChunk").map(({ content }) => String(content));
