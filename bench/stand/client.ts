// Requests over kept-alive connections, read as raw pieces with the time each arrived. It parses nothing while it reads, so that
// reading costs the same whatever the body means.
import { Buffer } from "node:buffer";
import { Agent, request, type IncomingMessage, type RequestOptions } from "node:http";

export interface Piece {
  /** `performance.now()` of its arrival, milliseconds. */
  readonly at: number;
  readonly bytes: Buffer;
}

export interface Reading {
  /** When the request was made and when the body ended, `performance.now()`. */
  readonly sentAt: number;
  readonly endedAt: number;
  readonly pieces: readonly Piece[];
}

export interface OpenReading {
  readonly runId: string;
  /** Bytes read so far. */
  received(): number;
  /** Resolves when these words have come. */
  arrival(words: string): Promise<void>;
  /** Reads on after a stall. */
  resume(): void;
  /** The whole body; rejects when it was cut. */
  readonly whole: Promise<Reading>;
}

export interface Call {
  path: string;
  /** A POST when there is one. */
  body?: unknown;
  /** Of a body that is text as it stands; without it the body is sent as JSON. */
  type?: string;
  accept?: string;
  /** Leaves the body unread until `resume`. */
  stalled?: boolean;
}

export interface Client {
  /** Resolves with the response's headers; rejects unless the status is 2xx. */
  open(call: Call): Promise<OpenReading>;
  read(call: Call): Promise<Reading>;
  readText(call: Call): Promise<string>;
  /** Closes all connections. */
  close(): void;
}

export function clientOf(port: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  const open = async ({ path, body, type, accept = "*/*", stalled = false }: Call): Promise<OpenReading> => {
    const text = type !== undefined ? String(body) : body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept,
      ...(text !== undefined && {
        "content-type": type ?? "application/json",
        "content-length": Buffer.byteLength(text),
      }),
    };
    const options = { agent, host: "127.0.0.1", port, path, headers, method: text === undefined ? "GET" : "POST" };
    const { response, sentAt } = await send(options, text);
    if (response.statusCode === undefined || response.statusCode >= 300) {
      response.resume();
      throw new Error(`${path} answered ${response.statusCode}`);
    }
    return bodyOf(response, path, sentAt, stalled);
  };

  const read = async (call: Call): Promise<Reading> => (await open(call)).whole;
  return {
    open,
    read,
    readText: async (call) => textOf((await read(call)).pieces),
    close: () => agent.destroy(),
  };
}

/** A kept connection that the server has closed meanwhile did not take the request: the next one does. */
async function send(
  options: RequestOptions,
  text: string | undefined,
): Promise<{ response: IncomingMessage; sentAt: number }> {
  for (;;) {
    const answered = Promise.withResolvers<IncomingMessage>();
    const sentAt = performance.now();
    const call = request(options);
    call.once("response", answered.resolve);
    call.once("error", answered.reject);
    call.end(text);
    try {
      return { response: await answered.promise, sentAt };
    } catch (fault) {
      if (!call.reusedSocket) throw fault;
    }
  }
}

export const textOf = (pieces: readonly Piece[]): string =>
  Buffer.concat(pieces.map(({ bytes }) => bytes)).toString("utf8");

function bodyOf(response: IncomingMessage, path: string, sentAt: number, stalled: boolean): OpenReading {
  const pieces: Piece[] = [];
  let received = 0;
  let watch: (bytes: Buffer) => void = () => undefined;
  const whole = Promise.withResolvers<Reading>();
  // Whoever waits for it sees the fault; a reader that nobody waits for must not end the process.
  whole.promise.catch(() => undefined);
  const take = (bytes: Buffer): void => {
    pieces.push({ at: performance.now(), bytes });
    received += bytes.length;
    watch(bytes);
  };
  response.once("end", () => whole.resolve({ sentAt, endedAt: performance.now(), pieces }));
  const cut = (): void => {
    const seconds = ((performance.now() - sentAt) / 1000).toFixed(1);
    whole.reject(new Error(`${path} was cut after ${seconds} s and ${received} bytes`));
  };
  response.once("error", cut);
  response.once("close", cut);
  const resume = (): void => {
    response.on("data", take);
  };
  if (!stalled) resume();
  const arrival = async (words: string): Promise<void> => {
    const arrived = Promise.withResolvers<void>();
    let tail = "";
    const search = (bytes: Buffer): void => {
      tail += bytes.toString("latin1");
      if (tail.includes(words)) arrived.resolve();
      tail = tail.slice(-words.length);
    };
    for (const { bytes } of pieces) search(bytes);
    watch = search;
    // Rejects when the body ends before.
    await Promise.race([
      arrived.promise,
      whole.promise.then(() => Promise.reject(new Error(`"${words}" did not come`))),
    ]);
  };
  const { "x-run-id": runId = "" } = response.headers;
  return { runId: String(runId), received: () => received, arrival, resume, whole: whole.promise };
}
