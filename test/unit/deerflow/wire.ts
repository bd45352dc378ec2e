// A log as DeerFlow's wire, and the wire read back: frames, and what a client has of them in the end. Asserts nothing.
import { entryOf } from "../../../durable-objects/segment-codec.ts";
import type { LogEntry, LogEvent } from "../../../schemas/event.ts";
import type { LangMessage, StreamMode } from "../../../schemas/thread.ts";
import { deerflowSse } from "../../../src/dialects/deerflow.ts";
import type { DialectRun, Seen } from "../../../src/dialects/dialect.ts";
import { asArray, asRecord } from "../../../src/wire/json.ts";
import { EPOCH } from "../scenarios/drive.ts";

const human: LangMessage = {
  content: "Which courses? Привет",
  additional_kwargs: {},
  response_metadata: {},
  type: "human",
  name: null,
  id: "h1",
};

export const inThread = (...modes: StreamMode[]): DialectRun => ({
  runId: "run-1",
  startedAt: EPOCH,
  models: { p1: "m1", p2: "m2" },
  maxAttempts: 2,
  thread: { threadId: "t1", modes, base: { messages: [human], values: { title: "Old" } } },
});

export const everything = inThread("values", "messages-tuple", "updates", "custom");

export const entriesOf = (events: readonly LogEvent[]): LogEntry[] => events.map(entryOf);

export function wireOf(
  entries: readonly LogEntry[],
  run: DialectRun = everything,
  seen: Seen = "nothing",
  end = entries.length - 1,
): string {
  const { opening, encode } = deerflowSse.follow(run, seen, end);
  return opening + entries.map(encode).join("");
}

export interface DeerFrame {
  event: string;
  data: unknown;
  id: string | undefined;
  /** As it stands on the wire. */
  text: string;
}

/** Only the exact form of a frame is read: event, one line of data, id. */
export function framesOf(wire: string): DeerFrame[] {
  const texts = wire.split("\n\n").slice(0, -1);
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
