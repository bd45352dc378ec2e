// One socket of the scripted provider: reads requests, has each answered by its script, one after another, and notices
// the peer's close at any time, also while a script hangs. It knows no paths and keeps no record of its own.
import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { Closing, ClosedBy } from "./call-log.ts";
import type { Gates } from "./gates.ts";
import { createHttpReader } from "./http-message.ts";
import type { HttpFault, HttpMessage } from "./http-message.ts";
import { playScript } from "./player.ts";
import type { Playback } from "./player.ts";
import type { Script } from "./script.ts";

export const MAX_REQUEST_BODY_BYTES = 8 * 1024 * 1024;
const MAX_WAITING_REQUESTS = 32;

/** What the record of a call needs to know about the connection, live. */
export interface Exchange {
  readonly closed: Promise<Closing>;
  readonly answered: Promise<Playback>;
  bytesWritten(): number;
  closing(): Closing | undefined;
}

export interface ConnectionHost {
  readonly gates: Gates;
  /** Called once per request, when it is complete; returns the answer to play. */
  accept(request: HttpMessage, exchange: Exchange): Script;
  /** Told of an exception that a script or its maker threw. */
  reportFault(fault: unknown): void;
}

export interface Connection {
  /** True while a script is being played. */
  busy(): boolean;
  /** Ends the connection at once, without a reset when nothing is left unread. */
  destroy(): void;
}

const FAULT_STATUS: Readonly<Record<HttpFault, number>> = { malformed: 400, head_too_large: 431, body_too_large: 413 };

/** Serves the socket until it is closed. */
export function serveConnection(socket: Socket, host: ConnectionHost): Connection {
  const requests = createHttpReader({ role: "request", maxBodyBytes: MAX_REQUEST_BODY_BYTES, keepBody: true });
  const waiting: (HttpMessage | HttpFault)[] = [];
  const over = new AbortController();
  const closed = Promise.withResolvers<Closing>();
  let closing: Closing | undefined;
  let busy = false;

  function markClosed(how: ClosedBy): void {
    if (closing !== undefined) return;
    closing = { at: performance.now(), epochMs: Date.now(), how };
    closed.resolve(closing);
    over.abort();
  }

  /** Sends FIN and keeps reading: closing with bytes unread would turn the FIN into a reset. */
  function finish(): void {
    markClosed("local");
    socket.end();
  }

  function reset(): void {
    markClosed("local");
    socket.resetAndDestroy();
  }

  async function answer(request: HttpMessage): Promise<void> {
    const responses = createHttpReader({ role: "response", maxBodyBytes: Number.MAX_SAFE_INTEGER, keepBody: false });
    const answered = Promise.withResolvers<Playback>();
    let bytesWritten = 0;
    let complete: HttpMessage | undefined;
    const exchange = {
      closed: closed.promise,
      answered: answered.promise,
      bytesWritten: () => bytesWritten,
      closing: () => closing,
    };
    let playback: Playback = "cut";
    try {
      playback = await playScript(host.accept(request, exchange), {
        socket,
        gates: host.gates,
        signal: over.signal,
        written(bytes) {
          bytesWritten += bytes.length;
          for (const item of responses.feed(bytes)) complete = item.kind === "message" ? item.message : undefined;
        },
      });
    } catch (fault) {
      host.reportFault(fault);
    } finally {
      answered.resolve(playback);
    }
    if (over.signal.aborted) return;
    if (playback === "rst") reset();
    else if (playback === "played" && complete !== undefined && responses.atBoundary() && keepsAlive(request, complete))
      return;
    else finish();
  }

  async function serveWaiting(): Promise<void> {
    if (busy) return;
    busy = true;
    try {
      while (!over.signal.aborted) {
        const next = waiting.shift();
        if (next === undefined) return;
        if (typeof next === "string") refuse(next);
        else await answer(next);
      }
    } finally {
      busy = false;
    }
  }

  function refuse(fault: HttpFault): void {
    socket.write(`HTTP/1.1 ${FAULT_STATUS[fault]} ${fault}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    finish();
  }

  socket.on("data", (bytes: Buffer) => {
    if (over.signal.aborted) return;
    for (const item of requests.feed(bytes)) waiting.push(item.kind === "message" ? item.message : item.fault);
    if (waiting.length > MAX_WAITING_REQUESTS) reset();
    else serveWaiting().catch(host.reportFault);
  });
  socket.on("end", () => {
    markClosed("fin");
    socket.destroy();
  });
  socket.on("error", () => {
    markClosed("rst");
  });
  socket.on("close", () => {
    markClosed("local");
  });

  return {
    busy: () => busy,
    destroy() {
      markClosed("local");
      socket.destroy();
    },
  };
}

function keepsAlive(request: HttpMessage, response: HttpMessage): boolean {
  return [request, response].every((message) => {
    const connection = message.headers["connection"]?.toLowerCase();
    return message.startLine.includes("HTTP/1.1") && connection !== "close";
  });
}
