// Plays one script on one socket, each write as its own packet. It never reads the socket and never decides
// what happens to the connection after the last step.
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { Gates } from "./gates.ts";
import type { Bytes, Script } from "./script.ts";
import { aborted, delay, nextTurn, settledOrAborted } from "./waits.ts";

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  413: "Content Too Large",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  529: "Overloaded",
};

/** `played`: all steps done; `fin`, `rst`: the script ended the connection; `cut`: the peer or the server ended it before. */
export type Playback = "played" | "fin" | "rst" | "cut";

export interface Stage {
  readonly socket: Socket;
  readonly gates: Gates;
  /** Fires when the connection is over. */
  readonly signal: AbortSignal;
  /** Told of the bytes of each write once the kernel has them. */
  written(bytes: Uint8Array): void;
}

/** Plays the steps in order and says how it ended. `fin` and `rst` are reported before they are carried out. */
export async function playScript(script: Script, stage: Stage): Promise<Playback> {
  for (const step of script) {
    if (stage.signal.aborted) return "cut";
    switch (step.step) {
      case "write":
        await writePacket(toBuffer(step.bytes), stage);
        break;
      case "head":
        await writePacket(toBuffer(headText(step.status, step.headers ?? {})), stage);
        break;
      case "chunk":
        await writePacket(chunkBytes(step.bytes), stage);
        break;
      case "lastChunk":
        await writePacket(toBuffer("0\r\n\r\n"), stage);
        break;
      case "delay":
        await delay(step.ms, stage.signal);
        break;
      case "gate":
        await settledOrAborted(stage.gates.passed(step.name), stage.signal);
        break;
      case "hang":
        await aborted(stage.signal);
        break;
      case "fin":
        return "fin";
      case "rst":
        return "rst";
    }
  }
  return stage.signal.aborted ? "cut" : "played";
}

async function writePacket(bytes: Buffer, stage: Stage): Promise<void> {
  if (bytes.length === 0) return;
  const flushed = Promise.withResolvers<void>();
  stage.socket.write(bytes, (error) => {
    if (!error) stage.written(bytes);
    flushed.resolve();
  });
  await settledOrAborted(flushed.promise, stage.signal);
  await nextTurn();
}

function headText(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${REASONS[status] ?? "Scripted"}\r\n${lines.join("")}\r\n`;
}

function chunkBytes(bytes: Bytes): Buffer {
  const content = toBuffer(bytes);
  if (content.length === 0) return content;
  return Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from("\r\n")]);
}

function toBuffer(bytes: Bytes): Buffer {
  return typeof bytes === "string"
    ? Buffer.from(bytes, "utf8")
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
