// The network as the MCP client sees it: bounded, without redirects, without a standing stream, and such that every request has an
// answer. The client waits for a message with the request's id however the body ended, so each body ends with one that says so.
import { asRecord, parseJson } from "../../src/wire/json.ts";
import { sseReader } from "../../src/wire/sse-reader.ts";
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
  /** By the last place that a broken stream has named: the request whose answer is to be fetched from there. */
  const places = new Map<string, RequestId>();
  /** Places where the answer could not be fetched at the first try. */
  const refused = new Set<string>();

  /** Nobody else tells the client that an answer which it goes back for will not come. */
  const resume = async (place: string, id: RequestId, ask: () => Promise<Response>): Promise<Response> => {
    const isLast = refused.has(place);
    refused.add(place);
    try {
      const response = await ask();
      if (isEvents(response)) {
        refused.delete(place);
        return response;
      }
      // The client comes once more after an error of the server.
      if (response.status >= 500 && !isLast) return response;
      await response.body?.cancel();
    } catch (error) {
      if (!isLast) throw error;
    }
    return new Response(noAnswerEvent(id), { headers: { "content-type": EVENTS } });
  };

  return async (url, init = {}) => {
    const { id: sent, cancelled } = sentMessage(init.body);
    if (cancelled !== undefined) open.get(cancelled)?.abort();
    const place = init.method === "GET" ? new Headers(init.headers).get("last-event-id") : null;
    // A GET without a place to go on from would stand open for as long as the run, for messages that nobody needs.
    if (init.method === "GET" && !(waiting() > 0 && place !== null)) return new Response(null, { status: 204 });
    const resumed = place === null ? undefined : places.get(place);
    const id = sent ?? resumed;
    const abort = new AbortController();
    const signal = AbortSignal.any([
      abort.signal,
      ...(init.signal === undefined || init.signal === null ? [] : [init.signal]),
    ]);
    if (id !== undefined) open.set(id, abort);
    const done = (): void => {
      if (id !== undefined) open.delete(id);
    };
    const ask = (): Promise<Response> => fetch(url, { ...init, redirect: "manual", signal });
    try {
      const response = place === null || resumed === undefined ? await ask() : await resume(place, resumed, ask);
      // Nobody waits for what comes back to a message that asks for nothing.
      if (response.ok && id === undefined && init.method !== "GET") {
        await response.body?.cancel();
        return new Response(null, { status: response.status, headers: response.headers });
      }
      return await guarded(response, id, signal, (named) => {
        done();
        if (id !== undefined && named !== undefined) places.set(named, id);
      });
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

const EVENTS = "text/event-stream";

const mediaTypeOf = ({ headers }: Response): string | undefined =>
  headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();

const isEvents = (response: Response): boolean =>
  response.ok && response.body !== null && mediaTypeOf(response) === EVENTS;

/** Called when nothing more is read. `place`: the last one that the server has named. */
type Done = (place?: string) => void;

async function guarded(
  response: Response,
  id: RequestId | undefined,
  signal: AbortSignal,
  done: Done,
): Promise<Response> {
  const { status, headers, body } = response;
  const mediaType = mediaTypeOf(response);
  if (body !== null && isEvents(response)) {
    return new Response(endedStream(body, id === undefined ? "" : noAnswerEvent(id), signal, done), { headers });
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

/** An event of its own, whatever the stream broke off in. */
const noAnswerEvent = (id: RequestId): string => `\n\ndata: ${JSON.stringify(noAnswer(id))}\n\n`;

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
  done: Done,
): ReadableStream<Uint8Array> {
  const reader = bodyReader(body);
  const events = sseReader(MAX_ANSWER_BYTES);
  let size = 0;
  let place: string | undefined;
  const release = (): void => {
    signal.removeEventListener("abort", release);
    reader.cancel().catch(() => undefined);
    done(place);
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
        // Of an event that is not whole the client sees no id.
        for (const item of events.feed(piece)) if ("id" in item && item.id !== "") place = item.id;
        return controller.enqueue(piece);
      }
      if (piece !== undefined) place = undefined;
      release();
      if (place === undefined) controller.enqueue(new TextEncoder().encode(tail));
      controller.close();
    },
    cancel: release,
  });
}
