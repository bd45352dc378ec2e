// The event-stream reader and its checksum: any split gives the same messages, no wrong byte passes, and nothing grows without bound.
import { crc32 as zlibCrc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { awsEventReader, type AwsItem } from "../../src/wire/aws-event-stream.ts";
import { crc32 } from "../../src/wire/crc32.ts";
import { awsMessage, withWrongByte, type AwsHeaderValue } from "../support/provider-bytes/aws-event-stream.ts";
import { joinBytes, splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

const event = { ":event-type": "e" };

function read(packets: readonly Uint8Array[], maxMessage = 1_000_000): AwsItem[] {
  const reader = awsEventReader(maxMessage);
  return [...packets.flatMap((packet) => reader.feed(packet)), ...reader.end()];
}

/** Headers as an object, so that they can be compared. */
const plain = (items: readonly AwsItem[]): unknown[] =>
  items.map((item) => ("fault" in item ? item : { headers: Object.fromEntries(item.headers), payload: item.payload }));

describe("R-PROV-2 the checksum", () => {
  test("is the published one of the digits", () => expect(crc32(toBytes("123456789"))).toBe(0xcbf43926));
  test("of nothing is 0", () => expect(crc32(new Uint8Array(0))).toBe(0));
  test("agrees with another implementation, for any bytes and any part of them", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(300), (bytes, one, other) => {
        const [start, end] = [one % (bytes.length + 1), other % (bytes.length + 1)];
        const from = Math.min(start, end);
        const to = Math.max(start, end);
        expect(crc32(bytes, from, to)).toBe(zlibCrc32(bytes.subarray(from, to)));
      }),
    );
  });
});

test("R-PROV-2 any messages in any split are read as they were written", () => {
  const headers = fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.string({ maxLength: 40 }), {
    maxKeys: 4,
    noNullPrototype: true,
  });
  const message = fc.record({ headers, payload: fc.string({ unit: "grapheme", maxLength: 200 }) });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 5 }), fc.array(fc.nat(3000), { maxLength: 12 }), (messages, cuts) => {
      const bytes = joinBytes(messages.map((one) => awsMessage(one.headers, one.payload)));
      expect(plain(read(splitBytes(bytes, cuts)))).toEqual(messages);
      expect(plain(read(Array.from(bytes, (byte) => Uint8Array.of(byte))))).toEqual(messages);
    }),
    { numRuns: 300 },
  );
});

test("R-PROV-3 one wrong byte anywhere is never a message", () => {
  const message = awsMessage(
    { ":event-type": "contentBlockDelta", ":message-type": "event" },
    '{"delta":{"text":"é"}}',
  );
  for (let at = 0; at < message.length; at++) {
    for (const item of read([withWrongByte(message, at), new Uint8Array(70_000)])) expect(item).toHaveProperty("fault");
  }
});

describe("R-PROV-3 faults", () => {
  const fault = (bytes: Uint8Array, maxMessage?: number): unknown => read([bytes], maxMessage).at(-1);
  const prelude = (total: number, headers: number): Uint8Array => {
    const bytes = new Uint8Array(40);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, total);
    view.setUint32(4, headers);
    view.setUint32(8, zlibCrc32(bytes.subarray(0, 8)));
    return bytes;
  };

  test("a message of the limit's size is read, one byte more is not", () => {
    const message = awsMessage(event, "x".repeat(100));
    expect(fault(message, message.length)).toHaveProperty("payload");
    expect(fault(message, message.length - 1)).toEqual({ fault: "too large" });
  });
  test("a length beyond the limit is refused by the prelude alone", () => {
    expect(fault(prelude(0xffffffff, 0).subarray(0, 12))).toEqual({ fault: "too large" });
  });
  test.each([
    ["shorter than its own frame", 15, 0],
    ["of nothing", 0, 0],
    ["shorter than its headers", 40, 25],
    ["with headers beyond all", 40, 0xffffffff],
  ])("a message %s", (_name, total, headers) => {
    expect(fault(prelude(total, headers))).toEqual({ fault: "impossible length" });
  });
  test.each<[string, Record<string, AwsHeaderValue>]>([
    ["a type that is none", { a: { type: 10, bytes: [] } }],
    ["a string beyond the table", { a: { type: 7, bytes: [255, 255] } }],
    ["half of a string's length", { a: { type: 7, bytes: [0] } }],
    ["a number that is cut", { a: { type: 5, bytes: [0, 0] } }],
    ["a name beyond the table", { a: { type: 0, bytes: [200, 65] } }],
    ["a name without a value", { a: { type: 0, bytes: [1, 65] } }],
  ])("%s", (_name, headers) => {
    expect(fault(awsMessage(headers, "{}"))).toEqual({ fault: "broken headers" });
  });
  test("nothing is read after a fault", () => {
    const wrong = withWrongByte(awsMessage(event, "a"), 20);
    expect(read([wrong, awsMessage(event, "b")])).toEqual([{ fault: "wrong checksum" }]);
    expect(read([joinBytes([wrong, awsMessage(event, "b")])])).toEqual([{ fault: "wrong checksum" }]);
  });
  test("R-PROV-1 what is left of a message is nothing", () => {
    const message = awsMessage(event, "abc");
    for (let cut = 0; cut < message.length; cut++) expect(read([message.subarray(0, cut)])).toEqual([]);
  });
});

test("R-PROV-3 a message over many packets is copied a bounded number of times", () => {
  const message = awsMessage(event, "x".repeat(1_000_000));
  const set = Uint8Array.prototype.set;
  let copied = 0;
  Uint8Array.prototype.set = function counting(source, at) {
    copied += source.length;
    set.call(this, source, at);
  };
  try {
    const reader = awsEventReader(2_000_000);
    const items: AwsItem[] = [];
    for (let at = 0; at < message.length; at += 7) items.push(...reader.feed(message.subarray(at, at + 7)));
    expect(items).toHaveLength(1);
  } finally {
    Uint8Array.prototype.set = set;
  }
  expect(copied).toBeLessThan(message.length * 4);
});
