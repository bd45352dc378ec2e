// Asks again and again, after pauses that grow, until there is nothing more to read. It knows nothing of what is asked.

/** Milliseconds. `silence`: without a byte, not even a heartbeat, the connection counts as lost. */
export type Pauses = { readonly first: number; readonly longest: number; readonly silence: number };

export const usualPauses: Pauses = { first: 500, longest: 15_000, silence: 75_000 };

export type Attempt = {
  /** Aborted when nobody reads any more, and after a silence. */
  readonly signal: AbortSignal;
  /** A byte came. */
  readonly alive: () => void;
  /** Something came that counts: the pauses begin anew. */
  readonly heard: () => void;
};

/** `tryOnce` is true when there is nothing more to read. */
export const keepAsking = async (
  tryOnce: (attempt: Attempt) => Promise<boolean>,
  lost: (retryInMs: number) => void,
  closed: AbortSignal,
  pauses: Pauses,
): Promise<void> => {
  let failures = 0;
  const heard = (): void => {
    failures = 0;
  };
  while (!closed.aborted) {
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(), pauses.silence);
    const alive = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), pauses.silence);
    };
    try {
      if (await tryOnce({ signal: AbortSignal.any([closed, silent.signal]), alive, heard })) return;
    } finally {
      clearTimeout(timer);
    }
    if (closed.aborted) return;
    const retryInMs = Math.min(pauses.first * 2 ** failures, pauses.longest);
    failures += 1;
    lost(retryInMs);
    await pause(retryInMs, closed);
  }
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
    if (signal.aborted) finish();
  });
