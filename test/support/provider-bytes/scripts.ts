// Turns bytes into scripts of the fault provider: framing, pace, gates and endings. It never looks into the bytes it sends.
import type { Bytes, Step } from "../fault-provider/script.ts";
import { gzipPieces } from "./gzip.ts";
import type { Answer } from "./framing.ts";
import { joinBytes, toBytes } from "./splits.ts";

export { joinBytes, seededSplits, splitBytes } from "./splits.ts";

export interface Gate {
  /** Index of the event (not packet) before which the script waits; a packet never reaches across a gate. */
  readonly index: number;
  readonly name: string;
}

/**
 * How a stream ends. `clean`: in the regular way of its framing. `fin`: the connection closes without the end of the body
 * (with `until-close` that is the regular way). `rst`: reset. `hang`: silence until the peer closes.
 */
export type StreamEnd = "clean" | "fin" | "rst" | "hang";

export interface StreamOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Events per packet; default 1. */
  readonly perPacket?: number;
  /** Pause before every packet but the first, in milliseconds. */
  readonly delayMs?: number;
  readonly end?: StreamEnd;
  readonly gateBefore?: Gate | readonly Gate[];
  /** Waits at this gate after the last event, before the ending. */
  readonly gateAtEnd?: string;
  /** Default `chunked`. A `length` that does not end clean promises one byte more than it sends. */
  readonly framing?: "chunked" | "length" | "until-close";
  /** Compresses packet by packet and says so. */
  readonly gzip?: boolean;
}

/** A response whose body is the events in order. */
export function streamScript(
  contentType: string,
  events: readonly Bytes[],
  options: StreamOptions = {},
): readonly Step[] {
  const { end = "clean", framing = "chunked", status = 200, delayMs } = options;
  const gates = [options.gateBefore ?? []].flat();
  const groups = groupEvents(events, options.perPacket ?? 1, gates);
  const plain = groups.map((group) => joinBytes(group.events));
  const pieces = options.gzip === true ? gzipPieces(plain) : plain;
  const sent = options.gzip === true && end !== "clean" ? pieces.slice(0, -1) : pieces;
  const total = sent.reduce((sum, piece) => sum + piece.length, 0);
  const coding = options.gzip === true ? { "content-encoding": "gzip" } : {};
  const headers = {
    "content-type": contentType,
    ...framingHeaders(framing, total, end),
    ...coding,
    ...options.headers,
  };
  const steps: Step[] = [{ step: "head", status, headers }];
  for (const [position, bytes] of sent.entries()) {
    if (position > 0 && position < groups.length && delayMs !== undefined) steps.push({ step: "delay", ms: delayMs });
    for (const name of groups[position]?.gates ?? []) steps.push({ step: "gate", name });
    steps.push({ step: framing === "chunked" ? "chunk" : "write", bytes });
  }
  for (const gate of gates) if (gate.index >= events.length) steps.push({ step: "gate", name: gate.name });
  if (options.gateAtEnd !== undefined) steps.push({ step: "gate", name: options.gateAtEnd });
  return [...steps, ...endSteps(framing, end)];
}

/** A whole answer with `content-length`; the type is JSON unless a header says otherwise. */
export function errorScript(status: number, headers: Readonly<Record<string, string>>, body: Bytes): readonly Step[] {
  const bytes = toBytes(body);
  const all = {
    "content-type": "application/json",
    ...lowerCaseNames(headers),
    "content-length": String(bytes.length),
  };
  return [
    { step: "head", status, headers: all },
    { step: "write", bytes },
  ];
}

/** The same for what `openAiError`, `anthropicError` and `ollamaError` return. */
export function answerScript(answer: Answer): readonly Step[] {
  return errorScript(answer.status, answer.headers, answer.body);
}

interface Group {
  readonly gates: readonly string[];
  readonly events: Bytes[];
}

function groupEvents(events: readonly Bytes[], perPacket: number, gates: readonly Gate[]): readonly Group[] {
  const groups: Group[] = [];
  for (const [index, event] of events.entries()) {
    const names = gates.filter((gate) => gate.index === index).map((gate) => gate.name);
    const last = groups.at(-1);
    if (last === undefined || names.length > 0 || last.events.length >= perPacket)
      groups.push({ gates: names, events: [event] });
    else last.events.push(event);
  }
  return groups;
}

function framingHeaders(
  framing: "chunked" | "length" | "until-close",
  total: number,
  end: StreamEnd,
): Readonly<Record<string, string>> {
  switch (framing) {
    case "chunked":
      return { "transfer-encoding": "chunked" };
    case "length":
      return { "content-length": String(end === "clean" ? total : total + 1) };
    case "until-close":
      return { connection: "close" };
  }
}

function endSteps(framing: "chunked" | "length" | "until-close", end: StreamEnd): readonly Step[] {
  switch (end) {
    case "clean":
      if (framing === "chunked") return [{ step: "lastChunk" }];
      return framing === "until-close" ? [{ step: "fin" }] : [];
    case "fin":
    case "rst":
    case "hang":
      return [{ step: end }];
  }
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
