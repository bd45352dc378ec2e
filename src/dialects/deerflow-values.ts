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

export function stateValues({ messages, values }: ThreadBase): Values {
  const encoder = new TextEncoder();
  const { messages: _, title: before, artifacts = [], ...channels } = values;
  const rest = Object.entries(channels).filter(([name]) => !name.startsWith("__"));
  const kept: { json: string; bytes: number }[] = [];
  let bytes = 0;
  let title = before;

  function add(message: LangMessage): void {
    const json = JSON.stringify(message);
    const size = encoder.encode(json).length;
    kept.push({ json, bytes: size });
    bytes += size;
    while (bytes > MAX_MESSAGES && kept.length > 1) bytes -= kept.shift()?.bytes ?? 0;
  }
  for (const message of messages) add(withoutHiddenImages(message));

  return {
    add,
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
