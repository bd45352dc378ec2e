// The text of documents that a visitor hands over, inside workerd: what is read, what is refused, and that the limits hold.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { mint, withToken } from "../support/sveda.ts";
import { exchange } from "./house.ts";

const MIB = 1024 * 1024;

let server: Holdfast;
let url: string;
let headers: Record<string, string>;

beforeAll(async () => {
  server = await startBare({
    config: { targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] } },
  });
  url = `${server.origin}/sveda/documents/extract`;
  headers = withToken((await mint(server.origin)).token);
});
afterAll(() => server.stop());

interface Sent {
  content: string | Uint8Array<ArrayBuffer>;
  filename: string;
  type?: string;
  field?: string;
}

async function extract(files: readonly Sent[]): Promise<unknown[]> {
  const form = new FormData();
  for (const { content, filename, type = "", field = "files" } of files) {
    form.append(field, new Blob([content], { type }), filename);
  }
  const response = await fetch(url, { method: "POST", headers, body: form });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const answer: { items: unknown[] } = JSON.parse(text);
  expect(Object.keys(answer)).toEqual(["items"]);
  return answer.items;
}

test("R-SVH-13 every part whose name begins with files is read, in order, whatever its type says", async () => {
  const items = await extract([
    { content: "one\n", filename: "a.txt", field: "files" },
    { content: "\uFEFFzwei é 🎉", filename: "ü.csv", field: "files[]", type: "application/pdf" },
    { content: "passed over", filename: "x.txt", field: "other" },
    { content: "", filename: "empty.bin", field: "files[0]" },
    { content: '{"a":1}', filename: "c.json", field: "filesystem" },
  ]);
  expect(items).toEqual([
    { filename: "a.txt", ok: true, text: "one\n" },
    { filename: "ü.csv", ok: true, text: "zwei é 🎉" },
    { filename: "empty.bin", ok: true, text: "" },
    { filename: "c.json", ok: true, text: '{"a":1}' },
  ]);
});

test("R-SVH-13 HTML becomes text", async () => {
  const html =
    "<html><head><title>T</title><style>p{}</style></head><body><h1>Big news</h1><script>alert(1)</script>" +
    '<p>Two &amp; <b>three</b></p><ul><li>x</li></ul><img src="a.png" alt="picture"><a href="https://e.example/">link</a></body></html>';
  const [item, byName] = await extract([
    { content: html, filename: "page", type: "text/html; charset=utf-8" },
    { content: "<p>hi</p>", filename: "PAGE.HTM" },
  ]);
  expect(item).toEqual({
    filename: "page",
    ok: true,
    text: "Big news\n\nTwo & three\n\n * x\n\nlink [https://e.example/]",
  });
  expect(byName).toEqual({ filename: "PAGE.HTM", ok: true, text: "hi" });
});

test("R-SVH-13 HTML that is nested deeply, or broken, is text all the same", { timeout: 15_000 }, async () => {
  const content = `<p>top</p>${"<div>".repeat(200_000)}<a href=x>${"<b><a href=x>".repeat(70_000)}end`;
  const deep = await extract(["1", "2", "3", "4", "5"].map((name) => ({ content, filename: `${name}.html` })));
  for (const item of deep) expect(item).toMatchObject({ ok: true, text: "top\n\nend [x]" });
  const [cut] = await extract([{ content: "<p>hello<table><tr><td>cell", filename: "cut.html" }]);
  expect(cut).toMatchObject({ ok: true, text: "hello\n\ncell" });
});

test("R-SVH-14 a page may hold more markup than text", async () => {
  const content = `<p>top</p><img src="data:image/png;base64,${"A".repeat(4 * MIB)}"><p>end</p>`;
  expect(await extract([{ content, filename: "page.html" }])).toEqual([
    { filename: "page.html", ok: true, text: "top\n\nend" },
  ]);
});

test("R-SVH-13 what is no text is refused by itself", async () => {
  expect(
    await extract([
      { content: new Uint8Array([80, 75, 3, 4, 0, 0]), filename: "a.docx" },
      { content: new Uint8Array([0xc3, 0x28]), filename: "latin1.txt" },
      { content: new Uint8Array([0xff, 0xfe, 104, 0]), filename: "utf16.txt" },
      { content: "%PDF-1.7\n%âãÏÓ", filename: "a.pdf" },
      { content: "fine", filename: "fine.txt" },
    ]),
  ).toEqual([
    { filename: "a.docx", ok: false, error: "unsupported binary file" },
    { filename: "latin1.txt", ok: false, error: "file is not valid utf-8" },
    { filename: "utf16.txt", ok: false, error: "unsupported binary file" },
    { filename: "a.pdf", ok: false, error: "unsupported binary file" },
    { filename: "fine.txt", ok: true, text: "fine" },
  ]);
});

test("R-SVH-14 five files are read, of 10 MiB at most, and 150,000 characters of them all", async () => {
  const items = await extract([
    { content: "🎉".repeat(100_000), filename: "1" },
    { content: "x".repeat(10 * MIB + 1), filename: "2" },
    { content: "é".repeat(5 * MIB), filename: "3" },
    { content: "nothing is left", filename: "4" },
    { content: "<p>nor here</p>", filename: "5.html" },
    { content: "sixth", filename: "6" },
    { content: "seventh", filename: "7" },
  ]);
  expect(items).toEqual([
    { filename: "1", ok: true, text: "🎉".repeat(100_000) },
    { filename: "2", ok: false, error: "file too large" },
    { filename: "3", ok: true, text: "é".repeat(50_000) },
    { filename: "4", ok: true, text: "" },
    { filename: "5.html", ok: true, text: "" },
    { filename: "6", ok: false, error: "too many files" },
    { filename: "7", ok: false, error: "too many files" },
  ]);
});

test("R-SVH-14 five files of 10 MiB are read; a larger body is 413, announced or not", async () => {
  const whole = { content: "y".repeat(10 * MIB), filename: "y" };
  const items = await extract([whole, whole, whole, whole, whole]);
  expect(items).toHaveLength(5);
  for (const item of items) expect(item).toMatchObject({ ok: true });
  const type = { ...headers, "content-type": "multipart/form-data; boundary=b" };
  const announced = await fetch(url, { method: "POST", headers: type, body: "z".repeat(52 * MIB) });
  expect([announced.status, await announced.json()]).toEqual([413, { message: expect.any(String) }]);
  const head = '--b\r\ncontent-disposition: form-data; name="files"; filename="a"\r\n\r\n';
  const pieces = [head, ...Array.from({ length: 52 }, () => "z".repeat(MIB)), "\r\n--b--\r\n"];
  const unannounced = await exchange(server.port, "/sveda/documents/extract", {
    method: "POST",
    headers: type,
    body: pieces,
  });
  expect([unannounced.status, JSON.parse(unannounced.text)]).toEqual([413, { message: expect.any(String) }]);
});

test("R-SVH-15 a body that is no whole form is 422 with a message, an empty form has no items", async () => {
  const send = async (body: string, type: string) => {
    const response = await fetch(url, { method: "POST", headers: { ...headers, "content-type": type }, body });
    return [response.status, await response.json()];
  };
  const form = "multipart/form-data; boundary=b";
  const refused = [422, { message: "The body is not a whole multipart form." }];
  expect(await send("--b--\r\n", form)).toEqual([200, { items: [] }]);
  const part = '--b\r\ncontent-disposition: form-data; name="files"\r\n\r\nno name\r\n--b--';
  expect(await send(part, form)).toEqual([200, { items: [{ filename: "file", ok: true, text: "no name" }] }]);
  expect(await send("", form)).toEqual(refused);
  expect(await send("{}", "application/json")).toEqual(refused);
  expect(await send("--b--\r\n", "multipart/form-data")).toEqual(refused);
  expect(await send('--b\r\ncontent-disposition: form-data; name="files"\r\n\r\ncut', form)).toEqual(refused);
  const many = Array.from({ length: 200 }, () => '--b\r\ncontent-disposition: form-data; name="files"\r\n\r\n\r\n');
  expect(await send(`${many.join("")}--b--`, form)).toEqual(refused);
});
