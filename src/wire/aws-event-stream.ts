// Bytes to messages of AWS's event stream (application/vnd.amazon.eventstream): two lengths, their checksum, headers, payload,
// a checksum of all. Linear in the input, bounded per message. Never parses a payload.
import { crc32 } from "./crc32.ts";
import type { Stage } from "./stage.ts";

export interface AwsMessage {
  /** Headers whose value is a string, by name; values of other types are passed over. */
  headers: ReadonlyMap<string, string>;
  /** Decoded as UTF-8. */
  payload: string;
}

/** Why nothing follows: a message larger than the limit, or bytes that are no message. */
export type AwsStreamFault = "too large" | "impossible length" | "wrong checksum" | "broken headers";

export type AwsItem = AwsMessage | { fault: AwsStreamFault };

/** Total length, length of the headers, and the checksum of both: big-endian, 4 bytes each. */
const PRELUDE = 12;
const CHECKSUM = 4;

/** `maxMessage` is in bytes, all parts counted. What is left of a message at the end of the input yields nothing. */
export function awsEventReader(maxMessage: number): Stage<Uint8Array, AwsItem> {
  const decoder = new TextDecoder();
  let held = new Uint8Array(1024);
  let size = 0;
  /** Of the message that is being gathered, once its prelude is there. */
  let total: number | undefined;
  let dead = false;

  /** Copies what `bytes` has of the part that ends at `target`; doubling keeps a message over many packets linear. */
  const gather = (bytes: Uint8Array, at: number, target: number): number => {
    const taken = Math.min(target - size, bytes.length - at);
    if (size + taken > held.length) {
      const grown = new Uint8Array(Math.max(size + taken, Math.min(held.length * 2, maxMessage)));
      grown.set(held.subarray(0, size));
      held = grown;
    }
    held.set(bytes.subarray(at, at + taken), size);
    size += taken;
    return taken;
  };

  const view = (): DataView => new DataView(held.buffer, 0, size);

  const prelude = (): number | AwsStreamFault => {
    const length = view().getUint32(0);
    const headers = view().getUint32(4);
    if (length > maxMessage) return "too large";
    if (length < PRELUDE + CHECKSUM || headers > length - PRELUDE - CHECKSUM) return "impossible length";
    return crc32(held, 0, 8) === view().getUint32(8) ? length : "wrong checksum";
  };

  const message = (): AwsItem => {
    const end = size - CHECKSUM;
    if (crc32(held, 0, end) !== view().getUint32(end)) return { fault: "wrong checksum" };
    const payloadAt = PRELUDE + view().getUint32(4);
    const headers = readHeaders(held.subarray(PRELUDE, payloadAt), decoder);
    if (headers === undefined) return { fault: "broken headers" };
    return { headers, payload: decoder.decode(held.subarray(payloadAt, end)) };
  };

  const fail = (items: AwsItem[], fault: AwsStreamFault): AwsItem[] => {
    dead = true;
    held = new Uint8Array(0);
    items.push({ fault });
    return items;
  };

  return {
    feed(bytes) {
      const items: AwsItem[] = [];
      for (let at = 0; at < bytes.length && !dead;) {
        const target = total ?? PRELUDE;
        at += gather(bytes, at, target);
        if (size < target) break;
        if (total === undefined) {
          const length = prelude();
          if (typeof length === "string") return fail(items, length);
          total = length;
          continue;
        }
        const item = message();
        if ("fault" in item) return fail(items, item.fault);
        items.push(item);
        size = 0;
        total = undefined;
      }
      return items;
    },
    end: () => [],
  };
}

/** `undefined` when the table is broken. */
function readHeaders(table: Uint8Array, decoder: TextDecoder): Map<string, string> | undefined {
  const headers = new Map<string, string>();
  const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
  for (let at = 0; at < table.length;) {
    const nameEnd = at + 1 + view.getUint8(at);
    if (nameEnd >= table.length) return undefined;
    const type = view.getUint8(nameEnd);
    const prefix = type === BYTES || type === STRING ? 2 : 0;
    const valueAt = nameEnd + 1 + prefix;
    if (valueAt > table.length) return undefined;
    const length = prefix === 2 ? view.getUint16(nameEnd + 1) : fixedLengths[type];
    if (length === undefined || valueAt + length > table.length) return undefined;
    if (type === STRING) {
      headers.set(
        decoder.decode(table.subarray(at + 1, nameEnd)),
        decoder.decode(table.subarray(valueAt, valueAt + length)),
      );
    }
    at = valueAt + length;
  }
  return headers;
}

const BYTES = 6;
const STRING = 7;
/** Bytes of a value by its type: true, false, byte, short, integer, long, (bytes, string: by their prefix), timestamp, UUID. */
const fixedLengths = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];
