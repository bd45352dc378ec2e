// What an ingest tells its run, in order, one push at a time: progress gathers while a push is under way. Decides nothing.
import type { IngestRun } from "../schemas/collection.ts";
import type { ProgressLine } from "../schemas/dialects/kebab-documents.ts";
import type { PushAnswer, PushedEvent } from "../schemas/push.ts";
import { progressEvents, type IngestTask } from "../src/kebab/ingest-events.ts";
import type { Timer } from "./within.ts";

/** Milliseconds between two pushes of progress. */
const PUSH_MS = 200;
/** A push that gets no answer is made again: the run's object may have died. */
const TRIES = 5;
const RETRY_MS = 100;

/** `taken`: the run has it. `over`: there is no such run any more, or it has ended. */
export type Heard = "taken" | "over" | "unreachable";

export interface IngestTeller {
  /** Progress, whenever it fits. `fraction`: of the whole ingest. */
  progress(task: IngestTask, fraction: number, lines: readonly ProgressLine[]): void;
  /** These events and all progress before them. */
  push(events: readonly PushedEvent[]): Promise<Heard>;
  stop(): void;
}

/** `onOver`: nothing more will be heard. */
export function ingestTeller(env: Env, run: IngestRun, onOver: () => void): IngestTeller {
  // A producer that comes after one that died is a later one, and goes on where that one stood.
  const epoch = Date.now();
  let next: number | undefined;
  let heard: Heard = "taken";
  let pending: PushedEvent[] = [];
  let lines: ProgressLine[] = [];
  let latest: { task: IngestTask; fraction: number } = { task: "scan", fraction: 0 };
  let sending = Promise.resolve();
  let timer: Timer | undefined;
  let saidAt = Number.NEGATIVE_INFINITY;
  const lease = setInterval(() => {
    if (Date.now() - saidAt >= run.leaseMs / 3) sendSoon();
  }, run.leaseMs / 3);

  const gather = (): void => {
    pending.push(...progressEvents(latest.task, latest.fraction, lines));
    lines = [];
  };

  async function deliver(): Promise<void> {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    gather();
    const events = pending;
    pending = [];
    saidAt = Date.now();
    if (next === undefined) await say([]);
    await say(events);
  }

  async function say(events: PushedEvent[]): Promise<void> {
    if (heard !== "taken") return;
    const answer = await pushed(env, run, { epoch, sequence: next ?? 0, events });
    if (answer?.taken === true) {
      next = answer.nextSequence;
      return;
    }
    heard = answer === undefined ? "unreachable" : "over";
    onOver();
  }

  const send = (): Promise<void> => (sending = sending.then(deliver));
  const sendSoon = (): void => {
    send().catch(onOver);
  };

  return {
    progress(task, fraction, more) {
      if (latest.task !== task) gather();
      latest = { task, fraction };
      lines.push(...more);
      timer ??= setTimeout(sendSoon, Math.max(0, saidAt + PUSH_MS - Date.now()));
    },
    async push(events) {
      gather();
      pending.push(...events);
      await send();
      return heard;
    },
    stop() {
      clearInterval(lease);
      if (timer !== undefined) clearTimeout(timer);
    },
  };
}

/** `undefined` when the run's object does not answer. */
async function pushed(
  env: Env,
  { tenant, runId }: IngestRun,
  batch: { epoch: number; sequence: number; events: PushedEvent[] },
): Promise<PushAnswer | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      // Anew for each call: a stub whose object has died stays broken.
      return await env.RUN.getByName(`${tenant}/${runId}`).pushIngest(batch);
    } catch {
      if (tries === TRIES) return undefined;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS * tries));
    }
  }
}
