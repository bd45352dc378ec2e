// The output of an OpenAI Responses stream: pieces, statements and finished items to events. Knows no end of the answer, no usage and no error.
import type { ProviderOutput } from "../../schemas/provider.ts";
import { asCount, asRecord, asText, jsonText, type JsonRecord } from "../wire/json.ts";
import { channels, reasoningOf } from "./openai-responses-channels.ts";
import { messageText, reasoningText, recordsIn } from "./openai-responses-entry.ts";
import {
  MAX_ITEMS,
  outputItems,
  type CallContent,
  type OutputFault,
  type OutputItem,
} from "./openai-responses-items.ts";
import { sealedThoughts } from "./openai-responses-thoughts.ts";
import { matchCalls, wholeText } from "./openai-responses-match.ts";
import type { StatedText } from "./stated-text.ts";
import { inputPiece, toolCallCollector, wholeInput, type ToolCallCollector } from "./tool-calls.ts";

/** UTF-16 units of stated text that is held without having been shown. */
const MAX_HELD = 8_388_608;

export interface ResponsesOutput {
  /** What one wire event shows; nothing for events that are about no item, or about a hosted tool's. */
  take(type: string, event: JsonRecord): ProviderOutput[];
  /** The item list of the finished response: its text counts, and it fills in what no earlier event has said. */
  settle(list: unknown): ProviderOutput[];
  finish: ToolCallCollector["finish"];
  /** The reasoning that goes back with the answer's calls. */
  readonly echo: JsonRecord | undefined;
  /** The whole text, where it was stated. */
  readonly finalText: string | undefined;
  readonly refused: boolean;
  readonly fault: OutputFault | undefined;
}

export function responsesOutput(): ResponsesOutput {
  const items = outputItems();
  const calls = toolCallCollector();
  const thoughts = sealedThoughts();
  let held = 0;
  let refused = false;
  let settledText: string | undefined;
  /** Texts that only parts which are done have said something of. */
  const statedByParts = new Set<StatedText>();
  /** Which reasoning was shown last; another one begins a paragraph. */
  let thought: string | undefined;
  let fault: OutputFault | undefined;

  const show = (text: string): ProviderOutput[] => {
    thoughts.text(text);
    return text === "" ? [] : [{ type: "text", text }];
  };

  const reason = (text: string, key: string): ProviderOutput[] => {
    if (text === "") return [];
    const another = thought !== undefined && thought !== key;
    thought = key;
    return [{ type: "reasoning", text: another ? `\n\n${text}` : text }];
  };

  /** `missing` is what the statement `whole` about `text` gave. */
  const stated = (text: StatedText, missing: string, whole: string): string => {
    if (text.differs) held += whole.length;
    if (held > MAX_HELD) fault = { failureClass: "malformed", message: "Statements about a text contradict it." };
    return missing;
  };

  const identify = (content: CallContent, entry: JsonRecord, input?: JsonRecord): ProviderOutput[] => {
    const id = content.callId === undefined ? asText(entry["call_id"]) : undefined;
    const name = content.name === undefined ? asText(entry["name"]) : undefined;
    content.callId ??= id;
    content.name ??= name;
    return calls.add({ index: content.place, id, name, input });
  };

  const inputOf = (entry: JsonRecord): unknown => entry["arguments"] ?? entry["input"];

  const stateCall = (content: CallContent, entry: JsonRecord): ProviderOutput[] => {
    const input = inputPiece(inputOf(entry));
    const text = typeof input === "object" ? jsonText(input) : (input ?? "");
    const events = identify(content, entry);
    if (text === undefined) fault = { failureClass: "malformed", message: "A tool call's input is nested too deeply." };
    return text === undefined || text.trim() === "" ? events : [...events, ...calls.state(content.place, text)];
  };

  const added = ({ content }: OutputItem, entry: JsonRecord): ProviderOutput[] => {
    if (content.kind !== "call") return [];
    return identify(content, entry, wholeInput(inputOf(entry)));
  };

  const piece = ({ index, content }: OutputItem, channel: string, event: JsonRecord): ProviderOutput[] => {
    const delta = asText(event["delta"]);
    if (delta === undefined) return [];
    switch (content.kind) {
      case "message":
        refused ||= channel === "response.refusal";
        content.text.add(asCount(event["content_index"]) ?? 0, delta);
        return show(delta);
      case "reasoning": {
        const { text, part, key } = reasoningOf(index, content, channel, event);
        text.add(part, delta);
        return reason(delta, key);
      }
      case "call":
        return calls.add({ index: content.place, input: delta });
      case "hosted":
        return [];
    }
  };

  const whole = ({ index, content }: OutputItem, channel: string, event: JsonRecord, all: unknown) => {
    if (content.kind === "call") return stateCall(content, event);
    const said = asText(all);
    if (said === undefined || content.kind === "hosted") return [];
    if (content.kind === "message") {
      refused ||= channel === "response.refusal";
      return show(stated(content.text, content.text.state(asCount(event["content_index"]) ?? 0, said), said));
    }
    const { text, part, key } = reasoningOf(index, content, channel, event);
    return reason(stated(text, text.state(part, said), said), key);
  };

  const finished = ({ content, index }: OutputItem, entry: JsonRecord): ProviderOutput[] => {
    switch (content.kind) {
      case "message": {
        const { text, refuses } = messageText(entry);
        refused ||= refuses;
        return text === "" ? [] : show(stated(content.text, content.text.stateAll(text), text));
      }
      case "reasoning":
        thoughts.item(entry, calls.size);
        if (content.summary.length + content.text.length > 0) return [];
        return reason(content.text.stateAll(reasoningText(entry)), String(index));
      case "call":
        return stateCall(content, entry);
      case "hosted":
        return [];
    }
  };

  const settleCalls = (entries: readonly JsonRecord[]): void => {
    const known = items.all.flatMap(({ id, callId, content }) =>
      content.kind === "call" ? [{ id, callId, content }] : [],
    );
    const matches = matchCalls(
      entries.map((entry) => {
        const input = inputPiece(inputOf(entry));
        const text = typeof input === "object" ? jsonText(input) : input?.trim();
        return {
          id: asText(entry["id"]),
          callId: asText(entry["call_id"]),
          name: asText(entry["name"]),
          text: text || "{}",
        };
      }),
      known.map(({ id, callId, content: { callId: own, name, place } }) => {
        return { id, callId: own ?? callId, name, text: calls.inputText(place) };
      }),
    );
    for (const [index, entry] of entries.entries())
      stateCall(known[matches[index] ?? -1]?.content ?? items.lateCall(), entry);
  };

  const settleTexts = (entries: readonly JsonRecord[]): void => {
    const said = entries.map((entry) => ({ id: asText(entry["id"]), ...messageText(entry) }));
    refused ||= said.some(({ refuses }) => refuses);
    if (said.every(({ text }) => text === "")) return;
    settledText = wholeText(
      said,
      messages().map(({ id, text }) => ({ id, text: text.text() })),
    );
  };

  const messages = (): { id: string | undefined; text: StatedText }[] =>
    items.all
      .toSorted((left, right) => left.index - right.index)
      .flatMap(({ id, content }) => (content.kind === "message" ? [{ id, text: content.text }] : []));

  const inChannel = (channel: string, verb: "delta" | "done", event: JsonRecord): ProviderOutput[] => {
    const { item: type, whole: field } = channels[channel] ?? {};
    if (type === undefined || field === undefined) return [];
    const item = items.find(type, event);
    if ("failureClass" in item) fault = item;
    else return verb === "delta" ? piece(item, channel, event) : whole(item, channel, event, event[field]);
    return [];
  };

  /** A part that is done repeats its text. That counts where nothing else has said any of the message's. */
  const inPart = (event: JsonRecord): ProviderOutput[] => {
    const part = asRecord(event["part"]);
    const { text, refuses } = messageText({ content: [part] });
    if (text === "" || (part?.["type"] !== "output_text" && part?.["type"] !== "refusal")) return [];
    const item = items.find("message", event);
    if ("failureClass" in item) {
      fault = item;
      return [];
    }
    if (item.content.kind !== "message") return [];
    const said = item.content.text;
    if (said.length === 0) statedByParts.add(said);
    refused ||= refuses;
    return statedByParts.has(said)
      ? show(stated(said, said.state(asCount(event["content_index"]) ?? 0, text), text))
      : [];
  };

  const inItem = (verb: "added" | "done", event: JsonRecord): ProviderOutput[] => {
    const entry = asRecord(event["item"]);
    const type = asText(entry?.["type"]);
    if (entry === undefined || type === undefined) return [];
    const item = items.describe(type, event, entry, verb === "added");
    if ("failureClass" in item) {
      fault = item;
      return [];
    }
    if (verb === "added") return added(item, entry);
    item.closed = true;
    return finished(item, entry);
  };

  const bound = (): void => {
    if (calls.excessive) fault = { failureClass: "malformed", message: "A tool call is larger than the limit." };
  };

  return {
    take(type, event) {
      const dot = type.lastIndexOf(".");
      const [subject, verb] = [type.slice(0, dot), type.slice(dot + 1)];
      let events: ProviderOutput[] = [];
      if ((verb === "added" || verb === "done") && subject === "response.output_item") events = inItem(verb, event);
      else if ((verb === "delta" || verb === "done") && Object.hasOwn(channels, subject))
        events = inChannel(subject, verb, event);
      else if (type === "response.content_part.done") events = inPart(event);
      bound();
      return events;
    },
    settle(list) {
      const entries = recordsIn(list);
      if (entries.length > MAX_ITEMS) {
        fault = { failureClass: "malformed", message: "An answer has too many items." };
        return [];
      }
      thoughts.settle(entries);
      settleTexts(entries.filter((entry) => entry["type"] === "message"));
      settleCalls(entries.filter((entry) => entry["type"] === "function_call" || entry["type"] === "custom_tool_call"));
      bound();
      if (thought !== undefined) return [];
      return entries.flatMap((entry, index) =>
        entry["type"] === "reasoning" ? reason(reasoningText(entry), String(index)) : [],
      );
    },
    finish(cut) {
      const ended = calls.finish(cut);
      // A call of which not even a name came is none to the collector.
      return { calls: ended.calls, broken: ended.broken || calls.size < items.calls };
    },
    get echo() {
      return thoughts.echo;
    },
    get finalText() {
      if (settledText !== undefined) return settledText;
      const texts = messages();
      return texts.some(({ text }) => text.stated) ? asText(texts.map(({ text }) => text.text()).join("")) : undefined;
    },
    get refused() {
      return refused;
    },
    get fault() {
      return fault;
    },
  };
}
