// Finds where a text stream has met its format's terminal contract, by reading its lines as anybody would: not the adapters'
// code, on purpose.
import { isRecord, parseJson } from "../../../src/wire/json.ts";
import { toBytes } from "../provider-bytes/splits.ts";
import type { CorpusStream } from "./corpus-stream.ts";

/** Byte offset of the end of the first line of SSE at which `met` says so for the JSON objects so far; infinite when it never does. */
export function sseContractMetAt({ wire }: CorpusStream, met: (value: Record<string, unknown>) => boolean): number {
  return metAt(wire, met, (line, event) => (line.startsWith("data:") ? event + line.slice(5) : event));
}

/** The same for NDJSON. */
export function ndjsonContractMetAt({ wire }: CorpusStream, met: (value: Record<string, unknown>) => boolean): number {
  return metAt(wire, met, (line) => line);
}

/** The same for one JSON array: byte offset of the closing bracket, if an element says so. */
export function arrayContractMetAt({ wire }: CorpusStream, met: (value: Record<string, unknown>) => boolean): number {
  if (typeof wire !== "string") return Number.POSITIVE_INFINITY;
  for (let at = wire.indexOf("]"); at !== -1; at = wire.indexOf("]", at + 1)) {
    const value: unknown = parseJson(wire.slice(0, at + 1))?.value;
    if (!Array.isArray(value)) continue;
    return value.some((element) => isRecord(element) && met(element))
      ? toBytes(wire.slice(0, at + 1)).length
      : Number.POSITIVE_INFINITY;
  }
  return Number.POSITIVE_INFINITY;
}

function metAt(
  wire: CorpusStream["wire"],
  met: (value: Record<string, unknown>) => boolean,
  join: (line: string, event: string) => string,
): number {
  if (typeof wire !== "string") return Number.POSITIVE_INFINITY;
  let offset = 0;
  let event = "";
  for (const line of wire.split("\n")) {
    const end = offset + toBytes(line).length;
    offset = end + 1;
    event = line === "" ? "" : join(line, event);
    // [DONE] may be glued to the last value, and a list stands for its elements.
    const last = event.replace(/\[DONE\]$/, "");
    const value: unknown = parseJson(last)?.value;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (values.some((one) => isRecord(one) && met(one))) return end - (event.length - last.length);
  }
  return Number.POSITIVE_INFINITY;
}
