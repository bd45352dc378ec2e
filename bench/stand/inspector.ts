// Asks the Worker's isolate, through wrangler's inspector, to collect its garbage, so that what is still resident is in use.

const WAIT_MS = 10_000;
const COLLECT_ID = 1;
/** The isolate only gets to it while it serves something. */
const NUDGE_MS = 20;

/** Resolves when the garbage is collected; `serve` makes the Worker do something small. */
export async function collectGarbage(inspectorPort: number, serve: () => Promise<unknown>): Promise<void> {
  // The proxy refuses a connection without a local origin.
  const socket = new WebSocket(`ws://127.0.0.1:${inspectorPort}/ws`, { headers: { origin: "http://localhost" } });
  const collected = Promise.withResolvers<void>();
  let done = false;
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ id: COLLECT_ID, method: "HeapProfiler.collectGarbage" }));
  });
  socket.addEventListener("error", () => collected.reject(new Error("the inspector could not be reached")));
  socket.addEventListener("message", ({ data }) => {
    if (JSON.parse(String(data)).id === COLLECT_ID) collected.resolve();
  });
  const timer = setTimeout(() => collected.reject(new Error("garbage was not collected in time")), WAIT_MS);
  try {
    const waiting = collected.promise.finally(() => (done = true));
    const nudging = nudge();
    await waiting;
    await nudging;
  } finally {
    clearTimeout(timer);
    done = true;
    socket.close();
  }

  async function nudge(): Promise<void> {
    while (!done) {
      await serve();
      await new Promise((resolve) => setTimeout(resolve, NUDGE_MS));
    }
  }
}
