// Server-sent events by the WHATWG rules, from bytes written by hand.
import { describe, expect, test } from "vitest";
import { jsonTemplate } from "../../src/wire/json-template.ts";
import { sseReader, startsLikeSse, type KnownFrame, type SseItem } from "../../src/wire/sse-reader.ts";
import { strayJson } from "../../src/wire/stray-json.ts";
import { splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

function framesOf(packets: readonly (string | Uint8Array)[], maxEvent = 10_000): SseItem[] {
  const reader = sseReader(maxEvent);
  return [...packets.flatMap((packet) => reader.feed(toBytes(packet))), ...reader.end()];
}
const whole = (wire: string): SseItem[] => framesOf([wire]);

describe("R-PROV-2 the rules that every client of this format shares", () => {
  const vectors: readonly (readonly [string, string, readonly SseItem[]])[] = [
    ["one event", "data: a\n\n", [{ data: "a" }]],
    ["CRLF line ends", "event: e\r\ndata: a\r\n\r\n", [{ data: "a", event: "e" }]],
    ["CR line ends", "data: a\rdata: b\r\r", [{ data: "a\nb" }]],
    ["mixed line ends", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\n", [{ data: "a\nb\nc" }, { data: "d" }]],
    ["a comment is ignored", ": hello\n\ndata: a\n: inside\n\n", [{ data: "a" }]],
    ["several data lines are joined", "data: a\ndata:\ndata: b\n\n", [{ data: "a\n\nb" }]],
    [
      "one leading space is stripped",
      "data:a\n\ndata: a\n\ndata:  a\n\n",
      [{ data: "a" }, { data: "a" }, { data: " a" }],
    ],
    ["a tab is no space", "data:\ta\n\n", [{ data: "\ta" }]],
    ["a field without a colon is empty", "data\n\n", [{ data: "" }]],
    ["two bare data lines", "data\ndata\n\n", [{ data: "\n" }]],
    ["unknown fields and retry are ignored", "retry: 5\nfoo: bar\nDATA: no\n data: no\ndata: a\n\n", [{ data: "a" }]],
    ["a blank line without data dispatches nothing", "\n\nevent: e\n\nid: 1\n\ndata: a\n\n", [{ data: "a" }]],
    [
      "the event name does not outlive its event",
      "event: e\ndata: a\n\ndata: b\n\n",
      [{ data: "a", event: "e" }, { data: "b" }],
    ],
    ["the last of two event lines counts", "event: e\nevent: f\ndata: a\n\n", [{ data: "a", event: "f" }]],
    ["an id", "id: 7\ndata: a\n\n", [{ data: "a", id: "7" }]],
    ["an id with NUL is ignored", "id: 7\nid: 8\0\ndata: a\n\n", [{ data: "a", id: "7" }]],
    ["a colon inside the value", "data: a: b:c\n\n", [{ data: "a: b:c" }]],
    ["a line that begins with a colon and looks like data", ":data: a\n\n", []],
    ["[DONE] is data", "data: [DONE]\n\n", [{ data: "[DONE]" }]],
    ["a line separator inside data", "data: a\u2028b\u2029c\u0085d\n\n", [{ data: "a\u2028b\u2029c\u0085d" }]],
    ["a BOM first", "\uFEFFdata: a\n\n", [{ data: "a" }]],
    [
      "a BOM later is part of the field's name",
      "data: a\n\n\uFEFFdata: b\n\ndata: \uFEFFc\n\n",
      [{ data: "a" }, { data: "\uFEFFc" }],
    ],
    ["only comments", ": a\n:\n: b\n\n", []],
    ["nothing", "", []],
  ];
  for (const [name, wire, frames] of vectors) test(name, () => expect(whole(wire)).toEqual(frames));
});

describe("R-PROV-2 what stands after the last blank line is told apart", () => {
  test.each<[string, string, SseItem[]]>([
    ["no line end", "data: a", [{ data: "a", residue: true }]],
    ["a line end, no blank line", "event: e\ndata: a\n", [{ data: "a", event: "e", residue: true }]],
    ["a CR", "data: a\r", [{ data: "a", residue: true }]],
    ["half a field name", "data: a\n\nda", [{ data: "a" }]],
    ["a second data line without an end", "data: a\ndata: b", [{ data: "a\nb", residue: true }]],
    ["a comment", "data: a\n\n: bye", [{ data: "a" }]],
  ])("%s", (_name, wire, frames) => expect(whole(wire)).toEqual(frames));
});

test("R-PROV-3 an error in a field of its own is an error event; any other value of that name is passed over", () => {
  expect(whole('data: a\n\nerror: {"code":500}\n\n')).toEqual([
    { data: "a" },
    { data: '{"code":500}', event: "error" },
  ]);
  expect(whole('error:{"code":500}')).toEqual([{ data: '{"code":500}', event: "error", residue: true }]);
  expect(whole("error: none\nerror\ndata: a\n\n")).toEqual([{ data: "a" }]);
});

test("R-PROV-2 half a character at the end is shown as one", () => {
  expect(framesOf([toBytes("data: 北").subarray(0, 8)])).toEqual([{ data: "\uFFFD", residue: true }]);
});

test("R-PROV-2 an event is given out with the packet that ends it", () => {
  const reader = sseReader(100);
  expect(reader.feed(toBytes("data: a\r\n\r"))).toEqual([{ data: "a" }]);
  expect(reader.feed(toBytes("\ndata: b\n"))).toEqual([]);
  expect(reader.feed(toBytes("\n: comment\ndata: c\n\nd"))).toEqual([{ data: "b" }, { data: "c" }]);
});

// B30, B38
test("R-PROV-2 a cut inside a field name, a line end or a character loses nothing", () => {
  const wire = "event: é\r\ndata: 北\r\ndata: 🎉\r\n\r\ndata: b\r\n\r\n";
  const bytes = toBytes(wire);
  for (let cut = 1; cut < bytes.length; cut++) {
    expect(framesOf(splitBytes(bytes, [cut]))).toEqual([{ data: "北\n🎉", event: "é" }, { data: "b" }]);
  }
  expect(framesOf(["data: B\r", "\n", "data: C\r\n\r\n"])).toEqual([{ data: "B\nC" }]);
});

describe("R-PROV-2 events that a template knows", () => {
  const event = (text: string): string => `data: {"text":"${text}"}\n`;
  const frames = (wire: string): (SseItem | KnownFrame)[] => {
    const template = jsonTemplate();
    template.learn('{"text":"a"}', "text", "a");
    const reader = sseReader(100, { template, event: undefined });
    return [...reader.feed(toBytes(wire)), ...reader.end()];
  };
  const known = (value: string): KnownFrame => ({ key: "text", value });

  test("are given by their value, the others as they are", () => {
    expect(frames(`${event("b")}\n${event("")}\n:c\nid: 1\n${event("c")}\n`)).toEqual([
      known("b"),
      { data: '{"text":""}' },
      known("c"),
    ]);
  });

  test("are given whole when there is more to them: a name, a second line, no end", () => {
    expect(frames(`event: x\n${event("b")}\n`)).toEqual([{ event: "x", data: '{"text":"b"}' }]);
    expect(frames(`${event("b")}event: x\n\n`)).toEqual([{ event: "x", data: '{"text":"b"}' }]);
    expect(frames(`${event("b")}${event("c")}\n`)).toEqual([{ data: '{"text":"b"}\n{"text":"c"}' }]);
    expect(frames(event("b"))).toEqual([{ data: '{"text":"b"}', residue: true }]);
    expect(frames('data: {"text":"b"} \n\n')).toEqual([{ data: '{"text":"b"} ' }]);
  });

  test("are known by all of what was written, also when it came in the same memory one after the other", () => {
    const template = jsonTemplate();
    template.learn('{"text":"a"}', "text", "a");
    const reader = sseReader(100, { template, event: "x" });
    const packet = new Uint8Array(20);
    const feed = (wire: string): (SseItem | KnownFrame)[] => {
      packet.set(toBytes(wire));
      return reader.feed(packet);
    };
    expect([...feed("event: x\n:.........\n"), ...feed('data: {"text":"b"}\n\n')]).toEqual([known("b")]);
    expect(feed('data: {"text":"c"}\n\n')).toEqual([{ data: '{"text":"c"}' }]);
  });

  test("count towards the limit as any other, and when the one before was written alike", () => {
    expect(frames(`${event("b")}\n${event("b".repeat(83))}\n`)).toEqual([known("b"), known("b".repeat(83))]);
    expect(frames(`${event("b")}\n${event("b".repeat(84))}\n`)).toEqual([known("b"), { tooLarge: true }]);
    expect(frames(`${event("b".repeat(83))}\n`)).toEqual([known("b".repeat(83))]);
    expect(frames(`${event("b".repeat(84))}\n`)).toEqual([{ tooLarge: true }]);
    expect(frames(event("b".repeat(60)).repeat(2))).toEqual([{ tooLarge: true }]);
  });
});

describe("R-PROV-3 the limit", () => {
  const tooLarge: SseItem = { tooLarge: true };

  test("a line beyond it ends the reading, once", () => {
    expect(framesOf([`data: a\n\ndata: ${"x".repeat(95)}\n\ndata: b\n\n`, "data: c\n\n"], 100)).toEqual([
      { data: "a" },
      tooLarge,
    ]);
  });
  test("an event of many lines beyond it ends the reading, once", () => {
    expect(framesOf(["data: xxxxxxxxxx\n".repeat(20), "\ndata: b\n\n"], 100)).toEqual([tooLarge]);
  });
  test("an event of exactly the limit passes", () => {
    const wire = `${`data: ${"x".repeat(9)}\n`.repeat(10)}data:x\n\n`;
    expect(framesOf([wire], 101)).toEqual([{ data: `${"xxxxxxxxx\n".repeat(10)}x` }]);
    expect(framesOf([wire], 100)).toEqual([tooLarge]);
  });
  test("empty data lines count: a flood of them has an end", () => {
    expect(framesOf(["data\n".repeat(200)], 100)).toEqual([tooLarge]);
  });
  test("the size starts anew with each event", () => {
    const frames = framesOf([`data: ${"x".repeat(60)}\n\n`.repeat(50)], 100);
    expect(frames).toHaveLength(50);
    expect(frames).not.toContainEqual(tooLarge);
  });
  test("a comment without an end is bounded too", () => {
    expect(framesOf([":".repeat(60), ":".repeat(60)], 100)).toEqual([tooLarge]);
  });
});

// B40, B41
test("R-PROV-2 reading is linear: one event in a packet per byte, in pieces, and as many events", () => {
  const perByte = (size: number) => () => {
    const bytes = toBytes(`data: ${"x".repeat(size)}\r\n\r\n`);
    const reader = sseReader(size + 10);
    let frames: SseItem[] = [];
    for (let index = 0; index < bytes.length; index++)
      frames = [...frames, ...reader.feed(bytes.subarray(index, index + 1))];
    expect(frames).toEqual([{ data: "x".repeat(size) }]);
  };
  const inPieces = (size: number) => () => {
    const bytes = toBytes(`data: ${"x".repeat(size)}\n\n`);
    const pieces = Array.from({ length: size / 1000 + 1 }, (_, index) =>
      bytes.subarray(index * 1000, (index + 1) * 1000),
    );
    expect(framesOf(pieces, size + 10)).toHaveLength(1);
  };
  const events = (count: number) => () => {
    expect(framesOf(["data: a\r\ndata: b\r\n\r\n".repeat(count)], 100)).toHaveLength(count);
  };
  // Sizes that anything quadratic would take hours for.
  perByte(1_000_000)();
  inPieces(16_000_000)();
  events(400_000)();
}, 60_000);

test.each([
  ["<", false],
  ["{", false],
  ["[", false],
  ["d", true],
  [":", true],
  ["e", true],
])("R-PROV-3 a body that starts with %s can be an event stream: %s", (character, expected) => {
  expect(startsLikeSse(character)).toBe(expected);
});

// B19
describe("R-PROV-3 a JSON value that stands bare among the events", () => {
  const read = (wire: string, maxEvent = 1000): SseItem[] => {
    const reader = sseReader(maxEvent, undefined, strayJson());
    return [...reader.feed(toBytes(wire)), ...reader.end()];
  };
  const stray = (data: string): SseItem => ({ data, stray: true });
  test.each<[string, string, SseItem[]]>([
    ["on one line, without an end", 'data: a\n\n{"error":{}}', [{ data: "a" }, stray('{"error":{}}\n')]],
    [
      "over many lines",
      '{\n  "error": {\n    "id: x": "data: {"\n  }\n}\n',
      [stray('{\n  "error": {\n    "id: x": "data: {"\n  }\n}\n')],
    ],
    ["a list", '[{"error":\n{}}]\n', [stray('[{"error":\n{}}]\n')]],
    ["with a comment in it", '{"a":\n: ping\n1}\n', [stray('{"a":\n1}\n')]],
    ["two", "{}\n{}\n", [stray("{}\n"), stray("{}\n")]],
    [
      "right after a data line, which it breaks off",
      "data: a\n{}\ndata: b\n\n",
      [{ data: "a", residue: true }, stray("{}\n"), { data: "b" }],
    ],
    ["unfinished", '{\n"error": {\n', []],
    ["given up for an event", '{"error":\ndata: a\n\n1}\n', [{ data: "a" }]],
    ["not begun by a bracket", 'foo: {}\n"error": {}\n}\ndata: a\n\n', [{ data: "a" }]],
  ])("%s", (_name, wire, items) => expect(read(wire)).toEqual(items));

  test("is passed over where nobody asks for it, as the standard says", () => {
    expect(whole('data: a\n\n{"error":{}}\ndata: b\n\n')).toEqual([{ data: "a" }, { data: "b" }]);
  });
  test("is bounded", () => {
    expect(read(`{\n${'"a":1,\n'.repeat(30)}`, 100)).toEqual([{ tooLarge: true }]);
  });
});
