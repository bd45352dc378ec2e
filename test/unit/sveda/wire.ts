// A log as Sveda's wire, and the wire read back. Asserts nothing.
import * as v from "valibot";
import type { LogEntry } from "../../../schemas/event.ts";
import { svedaSse } from "../../../src/dialects/sveda.ts";
import { sseReader } from "../../../src/wire/sse-reader.ts";
import { toBytes } from "../../support/provider-bytes/splits.ts";
import { turnRun } from "./turns.ts";

export const wireOf = (log: readonly LogEntry[], run = turnRun): string => log.map(svedaSse.encoder(run)).join("");

export function framesOf(wire: string): { id?: string | undefined; data: string }[] {
  const reader = sseReader(10_000_000);
  return [...reader.feed(toBytes(wire)), ...reader.end()].map((frame) => {
    if (!("data" in frame)) throw new Error("a frame is too large");
    return frame;
  });
}

/** Without the end mark. */
export const eventsOf = (wire: string): Record<string, unknown>[] =>
  framesOf(wire)
    .filter(({ data }) => data !== "[DONE]")
    .map(({ data }) => v.parse(v.record(v.string(), v.unknown()), JSON.parse(data)));
