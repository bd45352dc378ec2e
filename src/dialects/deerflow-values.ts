// A thread's state as `values` frames tell it: the messages so far, the newest 2 MiB of them, and the other channels. Written anew for each frame, kept nowhere.
import type { Interrupt, LangMessage, ThreadBase } from "../../schemas/thread.ts";
import { asArray, asRecord, type JsonRecord } from "../wire/json.ts";

/** UTF-8 bytes. */
const MAX_MESSAGES = 2 * 1024 * 1024;

export interface Values {
  add(message: LangMessage): void;
  setTitle(title: string): void;
  /** The whole state as JSON. */
  json(interrupts?: readonly Interrupt[]): string;
}

interface Kept {
  json: string;
  bytes: number;
}

/** What a thread held before a run is the same for all readers of the run: megabytes that they share. */
const written = new WeakMap<ThreadBase, readonly Kept[]>();
const encoder = new TextEncoder();

export function stateValues(base: ThreadBase): Values {
  const { values } = base;
  const inherited = written.get(base) ?? base.messages.map((message) => writtenMessage(withoutHiddenImages(message)));
  written.set(base, inherited);
  const { messages: _, title: before, artifacts = [], ...channels } = values;
  const rest = Object.entries(channels).filter(([name]) => !name.startsWith("__"));
  const kept: Kept[] = [];
  let bytes = 0;
  let title = before;

  function keep(message: Kept): void {
    kept.push(message);
    bytes += message.bytes;
    while (bytes > MAX_MESSAGES && kept.length > 1) bytes -= kept.shift()?.bytes ?? 0;
  }
  for (const message of inherited) keep(message);

  return {
    add: (message) => keep(writtenMessage(message)),
    setTitle(text) {
      title = text;
    },
    json(interrupts = []) {
      const list = kept.map(({ json }) => json).join(",");
      const others = JSON.stringify({
        ...(title !== undefined && { title }),
        artifacts,
        ...Object.fromEntries(rest),
        ...(interrupts.length > 0 && { __interrupt__: interrupts }),
      });
      return `{"messages":[${list}],${others.slice(1)}`;
    },
  };
}

function writtenMessage(message: LangMessage): Kept {
  const json = JSON.stringify(message);
  return { json, bytes: encoder.encode(json).length };
}

/** What is hidden from people need not carry its images to them. */
function withoutHiddenImages(message: LangMessage): LangMessage {
  if (asRecord(message["additional_kwargs"])?.["hide_from_ui"] !== true) return message;
  const { content } = message;
  if (!Array.isArray(content)) return message;
  return { ...message, content: asArray(content).filter((block) => !isEmbedded(asRecord(block) ?? {})) };
}

function isEmbedded({ image_url }: JsonRecord): boolean {
  const url = typeof image_url === "string" ? image_url : asRecord(image_url)?.["url"];
  return typeof url === "string" && url.startsWith("data:");
}
