// A raw TCP caller for tests: sends bytes as they stand and tells what came back, packet by packet, and how it ended.
// It never parses HTTP and never answers on its own.
import { Buffer } from "node:buffer";
import { connect } from "node:net";

export interface RawClient {
  send(bytes: Uint8Array | string): void;
  /** What arrived so far, one entry per read. */
  readonly pieces: readonly Buffer[];
  /** All of it as UTF-8. */
  text(): string;
  /** Resolves once the text received so far ends with `tail`. */
  receivedUpTo(tail: string): Promise<void>;
  /** How the other side ended the connection. */
  readonly ended: Promise<"fin" | "rst">;
  /** Ends the connection with FIN. */
  close(): void;
  /** Ends the connection with a reset. */
  reset(): void;
}

/** Connects to 127.0.0.1; rejects when nobody listens. */
export async function openRawClient(port: number): Promise<RawClient> {
  const pieces: Buffer[] = [];
  const watchers = new Set<() => void>();
  const ended = Promise.withResolvers<"fin" | "rst">();
  const connected = Promise.withResolvers<void>();
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  const text = (): string => Buffer.concat(pieces).toString("utf8");
  socket.on("connect", connected.resolve);
  socket.on("error", (error) => {
    connected.reject(error);
    ended.resolve("rst");
  });
  socket.on("end", () => {
    ended.resolve("fin");
  });
  socket.on("data", (piece: Buffer) => {
    pieces.push(piece);
    for (const watch of watchers) watch();
  });
  await connected.promise;

  return {
    pieces,
    text,
    ended: ended.promise,
    send(bytes) {
      socket.write(bytes);
    },
    async receivedUpTo(tail) {
      const arrival = Promise.withResolvers<void>();
      const watch = (): void => {
        if (text().endsWith(tail)) arrival.resolve();
      };
      watchers.add(watch);
      try {
        watch();
        await arrival.promise;
      } finally {
        watchers.delete(watch);
      }
    },
    close() {
      socket.destroy();
    },
    reset() {
      socket.resetAndDestroy();
    },
  };
}
