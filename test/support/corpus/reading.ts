// Drives a provider's reader over packets and sums up what came out. It judges nothing.
import type { ProviderEvent, Verdict } from "../../../schemas/provider.ts";
import type { Usage } from "../../../schemas/usage.ts";
import { adapters } from "../../../src/providers/index.ts";
import type { ExpectedCall, StreamFormat } from "./corpus-stream.ts";

const MAX_EVENT = 1_000_000;

/** All events of one body in these packets. */
export function readPackets(
  format: StreamFormat,
  packets: readonly Uint8Array[],
  maxEvent: number = MAX_EVENT,
): ProviderEvent[] {
  const reader = adapters[format].reader({ maxEvent });
  const events: ProviderEvent[] = [];
  for (const packet of packets) for (const event of reader.feed(packet)) events.push(event);
  for (const event of reader.end()) events.push(event);
  return events;
}

/** All events of one body in one packet. */
export function readWhole(format: StreamFormat, wire: string | readonly string[]): ProviderEvent[] {
  const text = typeof wire === "string" ? wire : wire.join("");
  return readPackets(format, [new TextEncoder().encode(text)]);
}

export interface Reading {
  text: string;
  reasoning: string;
  calls: ExpectedCall[];
  /** Input text per tool call id, as it was shown in pieces. */
  progress: Record<string, string>;
  usage: Usage | undefined;
  models: string[];
  diagnostics: string[];
  verdicts: Verdict[];
  last: ProviderEvent | undefined;
}

export function sumUp(events: readonly ProviderEvent[]): Reading {
  const reading: Reading = {
    text: "",
    reasoning: "",
    calls: [],
    progress: {},
    usage: undefined,
    models: [],
    diagnostics: [],
    verdicts: [],
    last: events.at(-1),
  };
  for (const event of events) {
    switch (event.type) {
      case "text":
        reading.text += event.text;
        break;
      case "snapshot":
        reading.text = event.text;
        break;
      case "reasoning":
        reading.reasoning += event.text;
        break;
      case "tool_call":
        reading.calls.push({
          toolCallId: event.toolCallId,
          toolName: event.toolName,
          input: event.input,
          ...(event.echo !== undefined && { echo: event.echo }),
        });
        break;
      case "tool_call_delta":
        reading.progress[event.toolCallId] = (reading.progress[event.toolCallId] ?? "") + event.inputText;
        break;
      case "usage":
        reading.usage = event.usage;
        break;
      case "model":
        reading.models.push(event.model);
        break;
      case "diagnostic":
        reading.diagnostics.push(event.code);
        break;
      case "verdict":
        reading.verdicts.push(event);
        break;
      case "finishing":
        break;
    }
  }
  return reading;
}

/** Reads a whole body and sums it up. */
export const read = (format: StreamFormat, wire: string | readonly string[]): Reading => sumUp(readWhole(format, wire));
