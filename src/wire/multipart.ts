// Reads a multipart/form-data body (RFC 7578) as it comes, part by part. Never keeps a part: a form may be larger than memory.
import type { Stage } from "./stage.ts";

/** `part` begins a part, `bytes` are its content, `end` ends it. `closed`: the form is whole. After `broken` nothing follows. */
export type FormItem =
  | { type: "part"; name: string; filename: string | undefined; mediaType: string | undefined }
  | { type: "bytes"; bytes: Uint8Array }
  | { type: "end" }
  | { type: "closed" }
  | { type: "broken" };

/** Bytes of the headers of a part. */
const MAX_HEADERS = 16_384;
const CR = 13;
const LF = 10;
const DASH = 45;

type Place = "preamble" | "delimiter" | "headers" | "content" | "over";

/** The boundary that a Content-Type names; `undefined` when it is not that of a form. */
export function formBoundary(contentType: string): string | undefined {
  const [type = ""] = contentType.split(";");
  if (type.trim().toLowerCase() !== "multipart/form-data") return undefined;
  const boundary = parametersOf(contentType).get("boundary");
  return boundary !== undefined && /^[\x20-\x7e]{1,70}$/.test(boundary) ? boundary : undefined;
}

export function multipartReader(boundary: string): Stage<Uint8Array, FormItem> {
  const mark = new TextEncoder().encode(`\r\n--${boundary}`);
  let place: Place = "preamble";
  // A form may begin with its boundary: then the line end before it is here.
  let kept: Uint8Array = new Uint8Array([CR, LF]);

  /** One step forward, or `undefined` when more bytes are needed. */
  const step = (): FormItem[] | undefined => {
    switch (place) {
      case "preamble":
      case "content":
        return toMark(place === "content");
      case "delimiter":
        return afterMark();
      case "headers":
        return headers();
      case "over":
        return undefined;
    }
  };

  const toMark = (inPart: boolean): FormItem[] | undefined => {
    const at = indexOf(kept, mark);
    // What may be the beginning of the mark stays.
    const end = at >= 0 ? at : Math.max(0, kept.length - mark.length + 1);
    const content = kept.slice(0, end);
    const items: FormItem[] = inPart && content.length > 0 ? [{ type: "bytes", bytes: content }] : [];
    kept = kept.subarray(at >= 0 ? at + mark.length : end);
    if (at < 0) return content.length > 0 ? items : undefined;
    place = "delimiter";
    return inPart ? [...items, { type: "end" }] : items;
  };

  const afterMark = (): FormItem[] | undefined => {
    let at = 0;
    while (kept[at] === 32 || kept[at] === 9) at++;
    if (kept.length < at + 2) return kept.length > MAX_HEADERS ? broken() : undefined;
    if (at === 0 && kept[0] === DASH && kept[1] === DASH) {
      place = "over";
      return [{ type: "closed" }];
    }
    if (kept[at] !== CR || kept[at + 1] !== LF) return broken();
    // The line end stays: headers end with an empty line, also when there are none.
    kept = kept.subarray(at);
    place = "headers";
    return [];
  };

  const headers = (): FormItem[] | undefined => {
    const end = indexOf(kept, emptyLine);
    if (end > MAX_HEADERS || (end < 0 && kept.length > MAX_HEADERS)) return broken();
    if (end < 0) return undefined;
    const lines = new TextDecoder().decode(kept.subarray(0, end)).split("\r\n");
    kept = kept.subarray(end + emptyLine.length);
    place = "content";
    return [partOf(lines)];
  };

  const broken = (): FormItem[] => {
    place = "over";
    return [{ type: "broken" }];
  };

  return {
    feed(input) {
      if (place === "over") return [];
      kept = kept.length === 0 ? input : concat(kept, input);
      const items: FormItem[] = [];
      for (let more = step(); more !== undefined; more = step()) items.push(...more);
      kept = kept.slice();
      return items;
    },
    end: () => (place === "over" ? [] : broken()),
  };
}

const emptyLine = new Uint8Array([CR, LF, CR, LF]);

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array): number {
  const first = wanted[0] ?? 0;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (at + wanted.length > bytes.length) return -1;
    let same = 1;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
    if (same === wanted.length) return at;
  }
  return -1;
}

function partOf(lines: readonly string[]): FormItem {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const parameters = parametersOf(fields.get("content-disposition") ?? "");
  return {
    type: "part",
    name: parameters.get("name") ?? "",
    filename: parameters.get("filename"),
    mediaType: fields.get("content-type")?.split(";")[0]?.trim().toLowerCase(),
  };
}

const parameter = /;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:\\["\\]|[^"])*)"|([^\s;]*))/g;

function parametersOf(header: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", quoted, plain] of header.matchAll(parameter)) {
    found.set(name.toLowerCase(), quoted === undefined ? (plain ?? "") : unescaped(quoted));
  }
  return found;
}

/** Browsers write a quote and line ends in a name as %22, %0D and %0A, others a quote as \". */
const unescaped = (text: string): string =>
  text.replace(/%22|%0D|%0A|\\(["\\])/gi, (found, escaped: string | undefined) => {
    if (escaped !== undefined) return escaped;
    return String.fromCharCode(Number.parseInt(found.slice(1), 16));
  });
