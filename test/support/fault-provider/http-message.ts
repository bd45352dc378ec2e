// Cuts a byte stream into HTTP/1.1 messages: requests of the peer, or the responses that a script writes.
// It never writes, never decodes content, and answers every violation with a fault instead of guessing.
import { Buffer } from "node:buffer";

const MAX_HEAD_BYTES = 65_536;
const MAX_LINE_BYTES = 8_192;

export interface HttpMessage {
  readonly startLine: string;
  /** Names in lower case; repeated headers joined with a comma and a space. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export type HttpFault = "malformed" | "head_too_large" | "body_too_large";

export type HttpItem =
  | { readonly kind: "message"; readonly message: HttpMessage }
  | { readonly kind: "fault"; readonly fault: HttpFault };

export interface HttpReader {
  /** Takes bytes, returns what they completed. After a fault it returns nothing more. */
  feed(bytes: Uint8Array): readonly HttpItem[];
  /** True when no byte of a further message has been taken. */
  atBoundary(): boolean;
}

export interface HttpReaderOptions {
  readonly role: "request" | "response";
  /** Longest body in bytes, as it is after chunked transfer coding is undone. */
  readonly maxBodyBytes: number;
  /** False leaves `body` empty; the bytes are counted and dropped. */
  readonly keepBody: boolean;
}

interface Head {
  readonly startLine: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "until-close" }
  | { readonly kind: "interim" }
  | { readonly kind: "bad" };

type Phase =
  | { readonly at: "head" }
  | { readonly at: "length"; readonly head: Head; readonly remaining: number }
  | { readonly at: "size"; readonly head: Head }
  | { readonly at: "piece"; readonly head: Head; readonly remaining: number }
  | { readonly at: "pieceEnd"; readonly head: Head }
  | { readonly at: "trailers"; readonly head: Head }
  | { readonly at: "untilClose" }
  | { readonly at: "faulted" };

/** Reads messages of one connection and one direction, whatever the cuts between the fed pieces. */
export function createHttpReader(options: HttpReaderOptions): HttpReader {
  let phase: Phase = { at: "head" };
  let pending: Buffer = Buffer.alloc(0);
  let body: Buffer[] = [];
  let bodyBytes = 0;
  let items: HttpItem[] = [];

  function fail(fault: HttpFault): false {
    phase = { at: "faulted" };
    pending = Buffer.alloc(0);
    body = [];
    items.push({ kind: "fault", fault });
    return false;
  }

  function finish(head: Head): true {
    items.push({ kind: "message", message: { ...head, body: Buffer.concat(body) } });
    body = [];
    bodyBytes = 0;
    phase = { at: "head" };
    return true;
  }

  /** Takes a line without its CRLF; undefined when it is not there yet. */
  function takeLine(): string | undefined {
    const end = pending.indexOf("\r\n");
    if (end < 0) return undefined;
    const line = pending.toString("latin1", 0, end);
    pending = pending.subarray(end + 2);
    return line;
  }

  /** Moves up to `remaining` bytes into the body and returns how many are still to come. */
  function takeBody(remaining: number): number {
    const piece = pending.subarray(0, remaining);
    pending = pending.subarray(piece.length);
    if (options.keepBody && piece.length > 0) body.push(piece);
    return remaining - piece.length;
  }

  function readHead(): boolean {
    while (pending[0] === 13 && pending[1] === 10) pending = pending.subarray(2);
    const end = pending.indexOf("\r\n\r\n");
    if (end > MAX_HEAD_BYTES || (end < 0 && pending.length > MAX_HEAD_BYTES)) return fail("head_too_large");
    if (end < 0) return false;
    const head = parseHead(pending.toString("latin1", 0, end));
    pending = pending.subarray(end + 4);
    if (head === undefined) return fail("malformed");
    const framing = framingOf(head, options.role);
    switch (framing.kind) {
      case "bad":
        return fail("malformed");
      case "interim":
        return true;
      case "none":
        return finish(head);
      case "length":
        if (framing.bytes > options.maxBodyBytes) return fail("body_too_large");
        phase = { at: "length", head, remaining: framing.bytes };
        return true;
      case "chunked":
        phase = { at: "size", head };
        return true;
      case "until-close":
        phase = { at: "untilClose" };
        return true;
    }
  }

  function readSize(head: Head): boolean {
    const line = takeLine();
    if (line === undefined) return pending.length > MAX_LINE_BYTES ? fail("malformed") : false;
    const digits = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i.exec(line)?.[1];
    if (digits === undefined) return fail("malformed");
    const size = Number.parseInt(digits, 16);
    bodyBytes += size;
    if (bodyBytes > options.maxBodyBytes) return fail("body_too_large");
    phase = size === 0 ? { at: "trailers", head } : { at: "piece", head, remaining: size };
    return true;
  }

  /** One move; false when more bytes are needed or nothing more will come of them. */
  function advance(): boolean {
    switch (phase.at) {
      case "head":
        return readHead();
      case "length": {
        const remaining = takeBody(phase.remaining);
        if (remaining === 0) return finish(phase.head);
        phase = { ...phase, remaining };
        return false;
      }
      case "size":
        return readSize(phase.head);
      case "piece": {
        const remaining = takeBody(phase.remaining);
        phase = remaining === 0 ? { at: "pieceEnd", head: phase.head } : { ...phase, remaining };
        return remaining === 0;
      }
      case "pieceEnd":
        if (pending.length < 2) return false;
        if (pending[0] !== 13 || pending[1] !== 10) return fail("malformed");
        pending = pending.subarray(2);
        phase = { at: "size", head: phase.head };
        return true;
      case "trailers": {
        const line = takeLine();
        if (line === undefined) return pending.length > MAX_LINE_BYTES ? fail("malformed") : false;
        return line === "" ? finish(phase.head) : true;
      }
      case "untilClose":
      case "faulted":
        pending = Buffer.alloc(0);
        return false;
    }
  }

  return {
    feed(bytes) {
      const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      pending = pending.length === 0 ? view : Buffer.concat([pending, view]);
      items = [];
      let moving = true;
      while (moving) moving = advance();
      return items;
    },
    atBoundary() {
      return phase.at === "head" && pending.length === 0;
    },
  };
}

function parseHead(text: string): Head | undefined {
  const [startLine, ...lines] = text.split("\r\n");
  if (startLine === undefined || !/^(?:[A-Z]+ \S+ HTTP\/1\.[01]|HTTP\/1\.[01] \d{3}(?: .*)?)$/.test(startLine))
    return undefined;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = /^([!#$%&'*+\-.^_`|~\w]+):[ \t]*(.*?)[ \t]*$/.exec(line);
    const [, name, value] = match ?? [];
    if (name === undefined || value === undefined) return undefined;
    const key = name.toLowerCase();
    const earlier = headers.get(key);
    headers.set(key, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  return { startLine, headers: Object.fromEntries(headers) };
}

function framingOf(head: Head, role: "request" | "response"): Framing {
  const status = role === "response" ? Number(head.startLine.slice(9, 12)) : undefined;
  if (status !== undefined && status < 200 && status !== 101) return { kind: "interim" };
  if (status === 204 || status === 304) return { kind: "none" };
  const coding = head.headers["transfer-encoding"];
  if (coding !== undefined) return coding.toLowerCase() === "chunked" ? { kind: "chunked" } : { kind: "bad" };
  const length = head.headers["content-length"];
  if (length !== undefined)
    return /^\d{1,12}$/.test(length) ? { kind: "length", bytes: Number(length) } : { kind: "bad" };
  return role === "request" ? { kind: "none" } : { kind: "until-close" };
}
