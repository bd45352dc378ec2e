// Tells which output item of an OpenAI Responses stream an event is about, under all the ways servers name (or fail to name) it. Shows nothing.
import { asCount, asText, type JsonRecord } from "../wire/json.ts";
import { statedText, type StatedText } from "./stated-text.ts";

/** Items per answer. */
export const MAX_ITEMS = 1024;

export type ItemContent =
  | { kind: "message"; text: StatedText }
  | { kind: "reasoning"; summary: StatedText; text: StatedText }
  /** `place`: among the calls of the answer. The rest: what of its identity is known. */
  | { kind: "call"; place: number; callId: string | undefined; name: string | undefined }
  /** A tool that the provider runs, or a type that is not known. */
  | { kind: "hosted" };

export type CallContent = Extract<ItemContent, { kind: "call" }>;
export type ReasoningContent = Extract<ItemContent, { kind: "reasoning" }>;

export interface OutputItem {
  readonly type: string;
  /** `output_index`, or the place at which it came when there is none. */
  readonly index: number;
  readonly id: string | undefined;
  callId: string | undefined;
  closed: boolean;
  readonly content: ItemContent;
}

export interface OutputFault {
  failureClass: "malformed" | "protocol";
  message: string;
}

export interface OutputItems {
  /** The item of a delta or a `.done` event of this item type; a new one if there is none yet. */
  find(type: string, event: JsonRecord): OutputItem | OutputFault;
  /** The item that an event describes in `entry`. `opens`: the event says that it begins. */
  describe(type: string, event: JsonRecord, entry: JsonRecord, opens: boolean): OutputItem | OutputFault;
  /** A call that no event before the last one was about. */
  lateCall(): CallContent;
  readonly all: readonly OutputItem[];
  /** Calls so far. */
  readonly calls: number;
}

export function outputItems(): OutputItems {
  const items: OutputItem[] = [];
  const current = new Map<number, OutputItem>();
  let calls = 0;

  const call = (): CallContent => ({ kind: "call", place: calls++, callId: undefined, name: undefined });

  const contentOf = (type: string): ItemContent => {
    switch (type) {
      case "message":
        return { kind: "message", text: statedText() };
      case "reasoning":
        return { kind: "reasoning", summary: statedText(), text: statedText() };
      case "function_call":
      case "custom_tool_call":
        return call();
    }
    return { kind: "hosted" };
  };

  const open = (
    type: string,
    index: number,
    id: string | undefined,
    callId: string | undefined,
  ): OutputItem | OutputFault => {
    if (items.length >= MAX_ITEMS) return { failureClass: "malformed", message: "An answer has too many items." };
    const item = { type, index, id, callId, closed: false, content: contentOf(type) };
    items.push(item);
    current.set(index, item);
    return item;
  };

  /** Without an index, as some gateways have it, the id must do; and without one the order, but for an item that begins. */
  const byId = (type: string, id: string | undefined, opens: boolean): OutputItem | undefined =>
    items.findLast((item) => item.type === type && item.id === id && id !== undefined) ??
    (opens ? undefined : items.findLast((item) => item.type === type && !item.closed));

  const locate = (
    type: string,
    event: JsonRecord,
    id: string | undefined,
    callId: string | undefined,
    opens: boolean,
  ): OutputItem | OutputFault => {
    const index = asCount(event["output_index"]);
    const found = index === undefined ? byId(type, id, opens) : current.get(index);
    if (found === undefined) return open(type, index ?? items.length, id, callId);
    if (found.type !== type) return { failureClass: "protocol", message: "An output item changed its type." };
    // Some gateways put everything at one index.
    const another = callId !== undefined && found.callId !== undefined && callId !== found.callId;
    if (another || (opens && found.closed)) return open(type, found.index, id, callId);
    found.callId ??= callId;
    return found;
  };

  return {
    find: (type, event) => locate(type, event, asText(event["item_id"]), undefined, false),
    describe: (type, event, entry, opens) => locate(type, event, asText(entry["id"]), asText(entry["call_id"]), opens),
    lateCall: call,
    all: items,
    get calls() {
      return calls;
    },
  };
}
