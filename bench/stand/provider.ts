// The provider of the bench: raw TCP on loopback, packets made beforehand, one socket write each, no faster than the peer
// takes them. It scripts no faults: its cost per packet must stay far below what is measured.
import { Buffer } from "node:buffer";
import { createServer, type Socket } from "node:net";
import { createHttpReader } from "../../test/support/fault-provider/http-message.ts";
import { nextTurn } from "../../test/support/fault-provider/waits.ts";

/** One answer in progress. */
export interface Stream {
  /** Counts the calls since the answer was set, from 0. */
  readonly index: number;
  /** The peer has closed the connection. */
  gone(): boolean;
  /** Writes each packet by itself; resolves when the kernel has the last, or the peer has gone. */
  send(packets: readonly Buffer[]): Promise<void>;
}

/** Sends a whole body; its end follows when the promise resolves. */
export type Answer = (stream: Stream) => Promise<void>;

export interface Provider {
  /** What a target of the product has as its `baseUrl`. */
  readonly baseUrl: string;
  /** Where an `openai-chat` target sends its requests. */
  readonly url: string;
  /** Sets the answer for the calls to come. */
  answer(answer: Answer): void;
  /** The body of the last request; empty before the first. */
  asked(): string;
  stop(): Promise<void>;
}

const HEAD = Buffer.from(
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n",
);
const END = Buffer.from("0\r\n\r\n");
const MAX_REQUEST_BYTES = 1_048_576;
/** The readers live in the same process: they get a turn after this many writes. */
const WRITES_PER_TURN = 64;

/** The events in pieces of chunked transfer coding, `perPacket` events each. */
export function packetsOf(events: readonly string[], perPacket = 1): Buffer[] {
  const packets: Buffer[] = [];
  for (let at = 0; at < events.length; at += perPacket) {
    const content = Buffer.from(events.slice(at, at + perPacket).join(""));
    packets.push(Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from("\r\n")]));
  }
  return packets;
}

export async function startProvider(): Promise<Provider> {
  let current: Answer = async () => undefined;
  let calls = 0;
  let asked: Uint8Array = new Uint8Array();
  const sockets = new Set<Socket>();

  const respond = async (socket: Socket): Promise<void> => {
    const answer = current;
    const index = calls++;
    await write(socket, HEAD);
    await answer({
      index,
      gone: () => socket.destroyed,
      async send(packets) {
        for (const [sent, packet] of packets.entries()) {
          if (socket.destroyed) return;
          await write(socket, packet);
          if (sent % WRITES_PER_TURN === WRITES_PER_TURN - 1) await nextTurn();
        }
      },
    });
    await write(socket, END);
  };

  const server = createServer({ noDelay: true }, (socket) => {
    const requests = createHttpReader({ role: "request", maxBodyBytes: MAX_REQUEST_BYTES, keepBody: true });
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A peer that has enough resets the connection: what it missed is for its reader to notice.
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => {
      for (const item of requests.feed(bytes)) {
        if (item.kind === "message") {
          asked = item.message.body;
          respond(socket).catch(() => socket.destroy());
        } else socket.destroy();
      }
    });
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");

  const baseUrl = `http://127.0.0.1:${address.port}`;
  return {
    baseUrl,
    url: `${baseUrl}/chat/completions`,
    answer(answer) {
      current = answer;
      calls = 0;
    },
    asked: () => new TextDecoder().decode(asked),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** One write, one system call: what the kernel does not take at once is waited for, so that nothing gathers behind it. */
async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed) return;
  const taken = Promise.withResolvers<void>();
  socket.write(bytes, () => taken.resolve());
  if (socket.writableLength > 0) await taken.promise;
}
