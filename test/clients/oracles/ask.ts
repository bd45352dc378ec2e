// One attempt at a target, as the product makes it: our request, fetch, our reading. The runtime is Node's, all else is ours.
import type { Target } from "../../../schemas/config.ts";
import type { ProviderEvent } from "../../../schemas/provider.ts";
import type { StartRequest } from "../../../schemas/run.ts";
import { startAttempt } from "../../../durable-objects/attempt.ts";
import { adapters } from "../../../src/providers/index.ts";
import { sumUp, type Reading } from "../../support/corpus/reading.ts";

const ms = 5000;
const clocks = { headersMs: ms, firstOutputMs: ms, idleMs: ms, progressMs: ms, minBytesPerSecond: 0 };

/** All that the attempt told, summed up. */
export async function ask(
  target: Target,
  request: Omit<StartRequest, "schemaVersion" | "task">,
  key?: string,
): Promise<Reading> {
  const told = Promise.withResolvers<readonly ProviderEvent[]>();
  const events: ProviderEvent[] = [];
  startAttempt({
    adapter: adapters[target.adapter],
    planned: { clocks, target },
    request: { schemaVersion: "1.0", task: { kind: "text_to_text" }, ...request },
    key,
    bindings: {},
    now: () => Date.now(),
    emit(batch) {
      events.push(...batch);
      if (batch.at(-1)?.type === "verdict") told.resolve(events);
    },
  });
  return sumUp(await told.promise);
}
