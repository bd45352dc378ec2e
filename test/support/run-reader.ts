// Reads a run's SSE stream piece by piece, so that a test can act between two events. It never reconnects and asserts nothing.
import { eventsOf, type WireEvent } from "./api.ts";

export interface RunReader {
  readonly response: Response;
  readonly runId: string;
  /** The events received so far. */
  readonly events: readonly WireEvent[];
  /** Every byte received so far, decoded. */
  raw(): string;
  /** The first event that fits, received already or yet to come; rejects when the stream ends without one. */
  until(fits: (event: WireEvent) => boolean): Promise<WireEvent>;
  /** Reads on until the text received so far passes; rejects when the stream ends before. */
  untilRaw(fits: (raw: string) => boolean): Promise<void>;
  /** Reads to the end of the stream; all events. */
  rest(): Promise<readonly WireEvent[]>;
  /** Leaves: closes the connection. */
  leave(): void;
}

export interface FollowOptions {
  /** Starts a run when present, else attaches. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Opens the stream of `POST /v1/runs` or of `GET .../events`. */
export async function follow(url: string, options: FollowOptions = {}): Promise<RunReader> {
  const abort = new AbortController();
  const { body, headers } = options;
  const response = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      accept: "text/event-stream",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: abort.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const events: WireEvent[] = [];
  let raw = "";
  let unread = "";

  const readOn = async (): Promise<boolean> => {
    const read = await reader?.read();
    if (read === undefined || read.done) return false;
    raw += read.value;
    unread += read.value;
    const end = unread.lastIndexOf("\n\n");
    if (end < 0) return true;
    events.push(...eventsOf(unread.slice(0, end)));
    unread = unread.slice(end + 2);
    return true;
  };

  return {
    response,
    runId: response.headers.get("x-run-id") ?? "",
    events,
    raw: () => raw,
    async until(fits) {
      let at = 0;
      for (;;) {
        for (; at < events.length; at++) {
          const event = events[at];
          if (event !== undefined && fits(event)) return event;
        }
        if (!(await readOn())) throw new Error(`the stream ended without the event; received:\n${raw.slice(-2000)}`);
      }
    },
    async untilRaw(fits) {
      while (!fits(raw)) {
        if (!(await readOn())) throw new Error(`the stream ended too early; received:\n${raw.slice(-2000)}`);
      }
    },
    async rest() {
      while (await readOn());
      return events;
    },
    leave: () => abort.abort(),
  };
}

/** True for a content delta with this text. */
export const isDelta =
  (text: string) =>
  ({ type, payload }: WireEvent): boolean =>
    type === "content_delta" && payload["text"] === text;
