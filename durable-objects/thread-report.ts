// How a thread reaches the index of its tenant's threads: told until it is acknowledged. Keeps nothing itself.
import type { ThreadView } from "../schemas/thread.ts";
import { pass } from "./gate.ts";
import type { ThreadStore } from "./thread-store.ts";

/** When a thread that could not be told is told again. */
const AGAIN_MS = 30_000;

export interface ThreadReport {
  /** Tells the index how the thread stands, unless it knows. Rejects when the index is not to be reached. */
  tell(): Promise<void>;
  due(now: number): number | undefined;
}

interface Parts {
  ctx: DurableObjectState;
  env: Env;
  tenant: string;
  threadId: string;
  store: ThreadStore;
  view(): ThreadView | undefined;
}

export function threadReport({ ctx, env, tenant, threadId, store, view }: Parts): ThreadReport {
  let telling: Promise<void> | undefined;

  const tellAll = async (): Promise<void> => {
    for (let version = store.untold(); version !== undefined; version = store.untold()) {
      // Anew for each call: a stub whose object has died stays broken.
      await env.THREAD_INDEX.getByName(tenant).tell(threadId, version, view());
      await pass("reported", ctx);
      store.told(version);
    }
  };

  return {
    async tell() {
      telling ??= tellAll().finally(() => {
        telling = undefined;
      });
      await telling;
    },
    due: (now) => (store.untold() === undefined ? undefined : now + AGAIN_MS),
  };
}
