// A provider on loopback whose every byte is scripted: raw TCP, so that it can cut, reset, stall and stay silent where an
// HTTP library would tidy up. It never invents a response byte, apart from the 404 of a path without a script.
import { createServer } from "node:net";
import { createCallLog } from "./call-log.ts";
import type { ProviderCall } from "./call-log.ts";
import { MAX_REQUEST_BODY_BYTES, serveConnection } from "./connection.ts";
import type { Connection, ConnectionHost } from "./connection.ts";
import { createGates } from "./gates.ts";
import type { Script } from "./script.ts";

export { MAX_REQUEST_BODY_BYTES };
export type { ProviderCall } from "./call-log.ts";

/** Makes the answer to one call; `index` counts the calls of the path from 0. */
export type ScriptMaker = (call: ProviderCall, index: number) => Script;

export interface FaultProviderOptions {
  /** 0, the default, lets the system choose. */
  readonly port?: number;
  /** Called for every request, before its script begins. */
  readonly onCall?: (call: ProviderCall) => void;
}

export interface FaultProvider {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  readonly port: number;
  /** Sets the answer of a path (exact, without query); a later one replaces it for calls still to come. */
  on(path: string, answer: Script | ScriptMaker): void;
  /** The calls of one path, or of all paths, also those without a script, in order of arrival. */
  calls(path?: string): readonly ProviderCall[];
  /** Resolves with the `count`-th call (default 1) of the path; rejects after `timeoutMs` (default 5,000). */
  waitForCall(path: string, count?: number, timeoutMs?: number): Promise<ProviderCall>;
  /** Opens a gate for the scripts that stand at it and for those that come later, until `reset`. */
  open(gate: string): void;
  /** Resolves once a script has come to the gate. */
  reached(gate: string): Promise<void>;
  /** Number of connections that are open now. */
  connections(): number;
  /** Forgets scripts, calls and gates, and ends the connections on which a script is still being played. */
  reset(): void;
  /** Ends every connection and frees the port. Rejects when a script or its maker threw. */
  stop(): Promise<void>;
}

/** Listens on 127.0.0.1; rejects when the port is taken. */
export async function startFaultProvider(options: FaultProviderOptions = {}): Promise<FaultProvider> {
  const gates = createGates();
  const log = createCallLog();
  const answers = new Map<string, Script | ScriptMaker>();
  const open = new Set<Connection>();
  const faults: unknown[] = [];
  let accepted = 0;

  function hostOf(ordinal: number): ConnectionHost {
    return {
      gates,
      reportFault(fault) {
        faults.push(fault);
      },
      accept(request, exchange) {
        const [method = "", url = ""] = request.startLine.split(" ");
        const mark = url.indexOf("?");
        const path = mark < 0 ? url : url.slice(0, mark);
        const call: ProviderCall = {
          index: log.calls(path).length,
          connection: ordinal,
          at: performance.now(),
          epochMs: Date.now(),
          method,
          path,
          query: mark < 0 ? "" : url.slice(mark),
          headers: request.headers,
          body: new TextDecoder().decode(request.body),
          get bytesWritten() {
            return exchange.bytesWritten();
          },
          get closing() {
            return exchange.closing();
          },
          closed: exchange.closed,
          answered: exchange.answered,
        };
        log.add(call);
        options.onCall?.(call);
        const answer = answers.get(path);
        if (answer === undefined) return unknownPath(path);
        return typeof answer === "function" ? answer(call, call.index) : answer;
      },
    };
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = serveConnection(socket, hostOf(accepted));
    accepted += 1;
    open.add(connection);
    socket.once("close", () => open.delete(connection));
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(options.port ?? 0, "127.0.0.1", listening.resolve);
  await listening.promise;
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");

  return {
    origin: `http://127.0.0.1:${address.port}`,
    port: address.port,
    on(path, answer) {
      answers.set(path, answer);
    },
    calls: log.calls,
    waitForCall(path, count = 1, timeoutMs = 5_000) {
      return log.waitForCall(path, count, timeoutMs);
    },
    open: gates.open,
    reached: gates.reached,
    connections: () => open.size,
    reset() {
      answers.clear();
      for (const connection of open) if (connection.busy()) connection.destroy();
      log.clear();
      gates.reset();
    },
    async stop() {
      const stopped = Promise.withResolvers<void>();
      server.close(() => {
        stopped.resolve();
      });
      for (const connection of open) connection.destroy();
      await stopped.promise;
      if (faults.length > 0) throw new AggregateError(faults, "a script of the fault provider threw");
    },
  };
}

function unknownPath(path: string): Script {
  const body = JSON.stringify({ error: { message: `no script for ${path}`, type: "not_found", code: "no_script" } });
  const headers = {
    "content-type": "application/json",
    "content-length": String(new TextEncoder().encode(body).length),
  };
  return [
    { step: "head", status: 404, headers },
    { step: "write", bytes: body },
  ];
}
