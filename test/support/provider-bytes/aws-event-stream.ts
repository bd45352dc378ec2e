// Bytes of AWS event-stream messages, by the published layout: header values of any type, checksums by zlib. It builds what a
// server sends and never reads it back: the reader under test must not share code with it.
import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";

/** A header's value by its type; a plain string is of type 7. */
export type AwsHeaderValue = string | { readonly type: number; readonly bytes: readonly number[] };

/** One message. */
export function awsMessage(
  headers: Readonly<Record<string, AwsHeaderValue>>,
  payload: string | Uint8Array,
): Uint8Array {
  const table = Buffer.concat(Object.entries(headers).map(([name, value]) => headerBytes(name, value)));
  const content = Buffer.from(payload);
  const message = Buffer.alloc(16 + table.length + content.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(table.length, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  table.copy(message, 12);
  content.copy(message, 12 + table.length);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return new Uint8Array(message);
}

/** The same message with one byte changed; both checksums stay as they were. */
export function withWrongByte(message: Uint8Array, at: number): Uint8Array {
  return message.map((byte, index) => (index === at ? byte ^ 1 : byte));
}

function headerBytes(name: string, value: AwsHeaderValue): Buffer {
  const label = Buffer.from(name);
  const { type, bytes } = typeof value === "string" ? { type: 7, bytes: sized(value) } : value;
  return Buffer.from([label.length, ...label, type, ...bytes]);
}

function sized(text: string): number[] {
  const bytes = Buffer.from(text);
  return [bytes.length >> 8, bytes.length & 0xff, ...bytes];
}
