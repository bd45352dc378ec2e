// Lines from bytes: every line end, everywhere it can be cut, and the limit.
import { expect, test } from "vitest";
import { lineReader, type Line } from "../../src/wire/line-reader.ts";
import { splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

function linesOf(packets: readonly Uint8Array[], maxLine = 1000): { lines: Line[]; rest: string } {
  const reader = lineReader(maxLine);
  const lines = packets.flatMap((packet) => reader.feed(packet));
  return { lines: [...lines, ...reader.end()], rest: reader.rest() };
}
const texts = (...lines: readonly string[]): Line[] => lines.map((text) => ({ text }));
const tooLong: Line = { tooLong: true };

test.each([
  ["LF", "a\nb\n"],
  ["CRLF", "a\r\nb\r\n"],
  ["CR", "a\rb\r"],
  ["LF, then CR", "a\nb\r"],
  ["CRLF, then CR", "a\r\nb\r"],
])("R-PROV-2 a line ends with %s", (_name, wire) => {
  expect(linesOf([toBytes(wire)])).toEqual({ lines: texts("a", "b"), rest: "" });
});

test("R-PROV-2 blank lines of mixed ends are counted right", () => {
  expect(linesOf([toBytes("a\n\r\n\r\rb\n\rc")])).toEqual({ lines: texts("a", "", "", "", "b", ""), rest: "c" });
});

// B30
test("R-PROV-2 a CR at a packet's end is delivered at once, and the LF of the next packet is swallowed", () => {
  const reader = lineReader(100);
  expect(reader.feed(toBytes("a\r"))).toEqual(texts("a"));
  expect(reader.feed(new Uint8Array())).toEqual([]);
  expect(reader.feed(toBytes("\n"))).toEqual([]);
  expect(reader.feed(toBytes("\nb\r"))).toEqual(texts("", "b"));
  expect(reader.feed(toBytes("\r\n"))).toEqual(texts(""));
  expect([...reader.end(), reader.rest()]).toEqual([""]);
});

test("R-PROV-2 only one LF belongs to a CR", () => {
  expect(linesOf([toBytes("a\r"), toBytes("\n\n"), toBytes("b")])).toEqual({ lines: texts("a", ""), rest: "b" });
});

test.each(["\u2028", "\u2029", "\u0085", "\v", "\f", "\0"])("R-PROV-2 %j is no line end", (character) => {
  expect(linesOf([toBytes(`a${character}b\n`)]).lines).toEqual(texts(`a${character}b`));
});

// B31
test.each([[[]], [[1]], [[2]], [[1, 2]], [[0, 1]]])("R-PROV-2 a leading BOM cut at %j is passed over", (cuts) => {
  const packets = [new Uint8Array(), ...splitBytes("\uFEFFa\n\uFEFFb\n", cuts)];
  expect(linesOf(packets).lines).toEqual(texts("a", "\uFEFFb"));
});

test("R-PROV-2 a second BOM right after the first is data", () => {
  expect(linesOf([toBytes("\uFEFF\uFEFFa\n")]).lines).toEqual(texts("\uFEFFa"));
});

// B34, B35, T80
test("R-PROV-2 characters of two, three and four bytes survive a cut at every byte", () => {
  const bytes = toBytes("é北🎉\n");
  expect(linesOf(Array.from(bytes, (byte) => Uint8Array.of(byte))).lines).toEqual(texts("é北🎉"));
  for (let cut = 1; cut < bytes.length; cut++) expect(linesOf(splitBytes(bytes, [cut])).lines).toEqual(texts("é北🎉"));
});

test("R-PROV-2 a character that the body leaves unfinished is shown as one, not lost", () => {
  expect(linesOf([toBytes("北").subarray(0, 2)])).toEqual({ lines: [], rest: "\uFFFD" });
  expect(linesOf([Uint8Array.of(0x61, 0xff, 0x0a)]).lines).toEqual(texts("a\uFFFD"));
});

test("R-PROV-3 a line of exactly the limit passes, one more ends the reading, however it is cut", () => {
  for (const cuts of [[], [3], [1, 5], [10], [11]]) {
    expect(linesOf(splitBytes(`${"x".repeat(10)}\n`, cuts), 10).lines).toEqual(texts("x".repeat(10)));
    expect(linesOf(splitBytes(`a\n${"x".repeat(11)}\nb\n`, cuts), 10)).toEqual({
      lines: [...texts("a"), tooLong],
      rest: "",
    });
  }
});

// T70
test("R-PROV-3 a line without an end is given up at the limit, once, and nothing is kept of it", () => {
  const reader = lineReader(100);
  const lines = Array.from({ length: 50 }, () => reader.feed(toBytes("x".repeat(30)))).flat();
  expect([...lines, ...reader.feed(toBytes("\nb\n")), ...reader.end()]).toEqual([tooLong]);
  expect(reader.rest()).toBe("");
});
