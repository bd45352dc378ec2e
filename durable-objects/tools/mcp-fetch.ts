// The network as the MCP client sees it: bounded, without redirects, without a standing stream, and such that every request has an
// answer. The client waits for a message with the request's id however the body ended, so each body ends with one that says so.
import { asRecord, parseJson } from "../../src/wire/json.ts";
import { bodyReader } from "../body-reader.ts";
import { boundedText } from "./bounded-text.ts";

/** Bytes of one answer. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Bytes of an error answer that are read for its message. */
const MAX_ERROR_BYTES = 65_536;

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;
type RequestId = string | number;

/** `waiting`: requests of the client that have no answer yet. */
export function mcpFetch(waiting: () => number): Fetch {
  const open = new Map<RequestId, AbortController>();
  return async (url, init = {}) => {
    const { id, cancelled } = sentMessage(init.body);
    if (cancelled !== undefined) open.get(cancelled)?.abort();
    // A GET without a place to go on from would stand open for as long as the run, for messages that nobody needs.
    if (init.method === "GET" && !(waiting() > 0 && new Headers(init.headers).has("last-event-id"))) {
      return new Response(null, { status: 204 });
    }
    const abort = new AbortController();
    const signal = AbortSignal.any([
      abort.signal,
      ...(init.signal === undefined || init.signal === null ? [] : [init.signal]),
    ]);
    if (id !== undefined) open.set(id, abort);
    const done = (): void => {
      if (id !== undefined) open.delete(id);
    };
    try {
      const response = await fetch(url, { ...init, redirect: "manual", signal });
      // Nobody waits for what comes back to a message that asks for nothing.
      if (response.ok && id === undefined && init.method !== "GET") {
        await response.body?.cancel();
        return new Response(null, { status: response.status, headers: response.headers });
      }
      return await guarded(response, id, signal, done);
    } catch (error) {
      done();
      throw error;
    }
  };
}

/** What of a message that goes out matters here: the id of a request, or the request that it calls off. */
function sentMessage(body: unknown): { id?: RequestId; cancelled?: RequestId } {
  const message = typeof body === "string" ? asRecord(parseJson(body)?.value) : undefined;
  if (message === undefined) return {};
  if (message["method"] === "notifications/cancelled") {
    const cancelled = requestId(asRecord(message["params"])?.["requestId"]);
    return cancelled === undefined ? {} : { cancelled };
  }
  const id = message["method"] === undefined ? undefined : requestId(message["id"]);
  return id === undefined ? {} : { id };
}

const requestId = (value: unknown): RequestId | undefined =>
  typeof value === "string" || typeof value === "number" ? value : undefined;

/** `done` is called when nothing more is read. */
async function guarded(
  response: Response,
  id: RequestId | undefined,
  signal: AbortSignal,
  done: () => void,
): Promise<Response> {
  const { status, headers } = response;
  const mediaType = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (response.ok && mediaType === "text/event-stream" && response.body !== null) {
    const tail = id === undefined ? "" : `\n\ndata: ${JSON.stringify(noAnswer(id))}\n\n`;
    return new Response(endedStream(response.body, tail, signal, done), { headers });
  }
  try {
    if (!response.ok || id === undefined) {
      const { text } = await boundedText(response, MAX_ERROR_BYTES, signal);
      return new Response(text === "" ? null : text, { status, headers });
    }
    const { text, cut } = await boundedText(response, MAX_ANSWER_BYTES, signal);
    const answer = cut ? undefined : parseJson(text);
    // What is no JSON is the client's to refuse, by its type.
    if (mediaType !== undefined && mediaType !== "application/json") return new Response(text, { headers });
    const messages = answer === undefined ? [] : Array.isArray(answer.value) ? answer.value : [answer.value];
    return Response.json([...messages, noAnswer(id)], { headers: withoutBody(headers) });
  } finally {
    done();
  }
}

/** Counts only when the request has no answer yet. */
const noAnswer = (id: RequestId) => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32_000, message: NO_ANSWER },
});

const NO_ANSWER = "The server's answer ended without a result; whether the call took effect is not known.";

/** The headers but those that speak of the bytes. */
function withoutBody(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of ["content-type", "content-length", "content-encoding"]) kept.delete(name);
  return kept;
}

/** The same events, then `tail`; but not when the server has named a place from which the client can go on with a GET. */
function endedStream(
  body: ReadableStream<Uint8Array>,
  tail: string,
  signal: AbortSignal,
  done: () => void,
): ReadableStream<Uint8Array> {
  const reader = bodyReader(body);
  const lineStarts = new TextDecoder();
  let size = 0;
  let lastLine = "";
  let resumable = false;
  const release = (): void => {
    signal.removeEventListener("abort", release);
    reader.cancel().catch(() => undefined);
    done();
  };
  signal.addEventListener("abort", release);
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      return (await reader.read())?.slice();
    } catch {
      return undefined;
    }
  };
  return new ReadableStream({
    async pull(controller) {
      const piece = await next();
      size += piece?.byteLength ?? 0;
      if (piece !== undefined && size <= MAX_ANSWER_BYTES) {
        const seen = lastLine + lineStarts.decode(piece, { stream: true });
        resumable ||= /(^|[\r\n])id:/.test(seen);
        lastLine = seen.slice(-4);
        return controller.enqueue(piece);
      }
      release();
      if (!resumable || piece !== undefined) controller.enqueue(new TextEncoder().encode(tail));
      controller.close();
    },
    cancel: release,
  });
}
