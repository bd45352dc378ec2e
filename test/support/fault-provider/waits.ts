// Waits that end early when a signal fires, and leave neither timer nor listener behind. They never reject.

/** Resolves after `ms` milliseconds or when the signal fires, whichever comes first. */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await settledOrAborted(
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
      }),
      signal,
    );
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the signal fires. */
export async function aborted(signal: AbortSignal): Promise<void> {
  await settledOrAborted(new Promise<void>(() => {}), signal);
}

/** Resolves when the promise fulfils or when the signal fires, whichever comes first. */
export async function settledOrAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let onAbort = (): void => {};
  try {
    await Promise.race([
      promise,
      new Promise<void>((resolve) => {
        onAbort = resolve;
        signal.addEventListener("abort", onAbort);
      }),
    ]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves in the next turn of the event loop, so that a reader in this process sees what was written so far. */
export async function nextTurn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
