// The record of every request that reached the scripted provider, and waiting for one. It never touches a socket.

/** How a connection ended: the peer sent FIN, the peer reset it, or this side ended it. */
export type ClosedBy = "fin" | "rst" | "local";

export interface Closing {
  /** `performance.now()` of this process, in milliseconds. */
  readonly at: number;
  /** `Date.now()`, in milliseconds. */
  readonly epochMs: number;
  readonly how: ClosedBy;
}

export interface ProviderCall {
  /** 0 for the first call of its path. */
  readonly index: number;
  /** Ordinal of the connection that carried it; equal numbers mean a reused connection. */
  readonly connection: number;
  /** When the last byte of the request had been read: `performance.now()` and `Date.now()`, in milliseconds. */
  readonly at: number;
  readonly epochMs: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Bytes of the response that the kernel has taken so far. */
  readonly bytesWritten: number;
  /** Undefined while the connection is open. */
  readonly closing: Closing | undefined;
  /** Resolves when the connection that carried the call ends, however long after the response. */
  readonly closed: Promise<Closing>;
  /** Resolves when the script is over: whole (`played`), by its own `fin` or `rst`, or `cut` by the other side. */
  readonly answered: Promise<"played" | "fin" | "rst" | "cut">;
}

export interface CallLog {
  add(call: ProviderCall): void;
  /** The calls of one path in order of arrival, or of all paths. */
  calls(path?: string): readonly ProviderCall[];
  /** Resolves with the `count`-th call of the path; rejects after `timeoutMs`, naming what came instead. */
  waitForCall(path: string, count: number, timeoutMs: number): Promise<ProviderCall>;
  clear(): void;
}

/** Makes an empty log. */
export function createCallLog(): CallLog {
  let all: ProviderCall[] = [];
  const watchers = new Set<() => void>();

  function calls(path?: string): readonly ProviderCall[] {
    return path === undefined ? [...all] : all.filter((call) => call.path === path);
  }

  return {
    calls,
    add(call) {
      all.push(call);
      for (const watch of watchers) watch();
    },
    async waitForCall(path, count, timeoutMs) {
      const arrival = Promise.withResolvers<ProviderCall>();
      const watch = (): void => {
        const call = calls(path)[count - 1];
        if (call !== undefined) arrival.resolve(call);
      };
      const timer = setTimeout(() => {
        const seen = all.map((call) => `${call.method} ${call.path}`).join(", ");
        arrival.reject(
          new Error(`call ${count} of ${path} did not come within ${timeoutMs} ms; seen: ${seen || "none"}`),
        );
      }, timeoutMs);
      watchers.add(watch);
      try {
        watch();
        return await arrival.promise;
      } finally {
        clearTimeout(timer);
        watchers.delete(watch);
      }
    },
    clear() {
      all = [];
    },
  };
}
