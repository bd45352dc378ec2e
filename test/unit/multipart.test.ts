// The reader of forms: what it finds in them, for any cut of the same bytes, and that a form without its end is none.
import fc from "fast-check";
import { expect, test } from "vitest";
import { formBoundary, multipartReader, type FormItem } from "../../src/wire/multipart.ts";
import { splitBytes } from "../support/provider-bytes/splits.ts";

const encoder = new TextEncoder();

interface Part {
  name: string;
  filename: string | undefined;
  mediaType: string | undefined;
  content: string;
}

/** The parts with their content joined, and how the form ended. */
function read(packets: readonly Uint8Array[], boundary = "b"): { parts: Part[]; ending: string } {
  const reader = multipartReader(boundary);
  const items: FormItem[] = [...packets.flatMap((packet) => reader.feed(packet)), ...reader.end()];
  const parts: Part[] = [];
  let bytes: Uint8Array[] = [];
  let ending = "";
  for (const item of items) {
    const last = parts.at(-1);
    if (item.type === "part") {
      const { name, filename, mediaType } = item;
      parts.push({ name, filename, mediaType, content: "" });
      bytes = [];
    } else if (item.type === "bytes") bytes.push(item.bytes);
    else if (item.type === "end" && last !== undefined) last.content = Buffer.concat(bytes).toString("utf8");
    else ending = item.type;
  }
  return { parts, ending };
}

const whole = (text: string) => read([encoder.encode(text)]);

test("R-SVH-15 reads parts, their names and types, with preamble, epilogue and padding passed over", () => {
  const form =
    'before\r\n--b  \r\ncontent-disposition: form-data; name="a"\r\n\r\none\r\n--b\r\nContent-Type: Text/HTML; charset=utf-8\r\n' +
    'Content-Disposition: form-data; name=files; filename="x %22y%22 \\"z\\".html"\r\n\r\n\r\n\r\n--b\r\n\r\n\r\n--b--\r\nafter';
  expect(whole(form)).toEqual({
    parts: [
      { name: "a", filename: undefined, mediaType: undefined, content: "one" },
      { name: "files", filename: 'x "y" "z".html', mediaType: "text/html", content: "\r\n" },
      { name: "", filename: undefined, mediaType: undefined, content: "" },
    ],
    ending: "closed",
  });
});

test.each([
  ["empty", ""],
  ["no boundary", "hello"],
  ["cut in the headers", '--b\r\ncontent-disposition: form-data; name="a"'],
  ["cut in the content", '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\none'],
  ["cut before the end's dashes", "--b\r\n\r\none\r\n--b"],
  ["no line end after the boundary", "--bx\r\n\r\none\r\n--b--"],
  ["endless headers", `--b\r\n${"x".repeat(40_000)}`],
])("R-SVH-15 a form that is not whole is broken: %s", (_name, text) => {
  expect(whole(text).ending).toBe("broken");
});

test.each([
  ["multipart/form-data; boundary=abc", "abc"],
  ['Multipart/Form-Data; charset=utf-8; BOUNDARY="a b;c"', "a b;c"],
  ["multipart/form-data", undefined],
  ["application/json; boundary=abc", undefined],
  [`multipart/form-data; boundary=${"x".repeat(71)}`, undefined],
])("R-SVH-15 the boundary of %s", (type, boundary) => {
  expect(formBoundary(type)).toBe(boundary);
});

test("R-SVH-15 any cut of a form gives the same parts, and they are those that the platform writes", async () => {
  const content = fc.array(fc.constantFrom("\r", "\n", "\r\n", "-", "--", "--b", "\r\n--", "b", "é", "🎉"), {
    maxLength: 30,
  });
  const files = fc.array(fc.tuple(fc.constantFrom("a.txt", 'b".txt', "ü.txt"), content), {
    minLength: 1,
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(files, fc.array(fc.integer({ min: 0, max: 2000 }), { maxLength: 40 }), async (parts, cuts) => {
      const form = new FormData();
      for (const [filename, pieces] of parts) form.append("files", new Blob([pieces.join("")]), filename);
      const response = new Response(form);
      const bytes = new Uint8Array(await response.arrayBuffer());
      const boundary = formBoundary(response.headers.get("content-type") ?? "") ?? "";
      const once = read([bytes], boundary);
      expect(once.ending).toBe("closed");
      expect(once.parts.map(({ filename, content: text }) => [filename, text])).toEqual(
        parts.map(([filename, pieces]) => [filename, pieces.join("")]),
      );
      expect(read(splitBytes(bytes, cuts), boundary)).toEqual(once);
      expect(
        read(
          [...bytes].map((byte) => new Uint8Array([byte])),
          boundary,
        ),
      ).toEqual(once);
    }),
  );
});
