// The end of a run that keeps documents, when its collection has not told it: the collection is asked first, since only it knows whether they are kept. Decides nothing itself.
import type { Input } from "../src/run/machine.ts";
import type { RunRow } from "./run-row.ts";
import { within } from "./within.ts";

/** A collection that does not answer is asked again. Milliseconds. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5000;
/** How long a call waits for the answer. Milliseconds. */
const ANSWER_MS = 5000;

export interface IngestEnd {
  /** True when the input waits for the collection's word: then it is applied later, or never. */
  defers(input: Input): boolean;
  /** Resolves when nothing is deferred any more, or it takes too long. */
  settled(): Promise<void>;
}

export interface IngestEndOptions {
  ctx: DurableObjectState;
  env: Env;
  row: RunRow;
  /** Aborted when the run is over. */
  over: AbortSignal;
  apply(input: Input): void;
}

const nothing: IngestEnd = { defers: () => false, settled: () => Promise.resolve() };

export function ingestEnd({ ctx, env, row, over, apply }: IngestEndOptions): IngestEnd {
  const { ingest, tenant, runId } = row.plan;
  if (ingest === undefined) return nothing;
  let asking: Promise<void> | undefined;

  /** The first of them wins. */
  async function ask(input: Input): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; !over.aborted; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      try {
        // Anew for each call: a stub whose object has died stays broken. Where the documents are kept, it has pushed the end.
        const word = await env.COLLECTION.getByName(`${tenant}/${ingest?.collection}`).stopIngest(runId);
        if (word === "stopped") apply(input);
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  return {
    defers(input) {
      if (input.type !== "cancel" && input.type !== "deadline" && input.type !== "producer_lost") return false;
      if (asking === undefined) {
        asking = ask(input);
        ctx.waitUntil(asking);
      }
      return true;
    },
    async settled() {
      if (asking !== undefined) await within(asking, ANSWER_MS);
    },
  };
}
