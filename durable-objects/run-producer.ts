// The producer of a pushed run: takes its batches once and in order, answers when they are on disk, and notices when it has fallen silent. Judges no event itself.
import type { LogEntry } from "../schemas/event.ts";
import type { PushAnswer, PushBatch } from "../schemas/push.ts";
import type { Input } from "../src/run/machine.ts";
import { pushedFaults } from "../src/run/pushed-check.ts";
import type { RunState } from "../src/run/state.ts";
import { judgeBatch } from "../src/thread/producer.ts";
import { asRecord, parseJson } from "../src/wire/json.ts";
import type { RunLog } from "./run-log.ts";
import type { ProducerPlace, RunRow } from "./run-row.ts";
import { OFF_MS, type Timer } from "./within.ts";

export interface RunProducer {
  take(batch: PushBatch): Promise<PushAnswer>;
  /** When the producer counts as lost, unless it is heard of; `undefined` for a run that nobody pushes. Unix epoch, milliseconds. */
  readonly lostAt: number | undefined;
  /** The run is over: nobody's silence matters any more. */
  stop(): void;
}

export interface RunProducerOptions {
  row: RunRow;
  log: RunLog;
  state(): RunState;
  /** `placed`: where the producer stands with what came of the input. */
  apply(input: Input, placed?: (state: RunState) => ProducerPlace): void;
}

const nobody: RunProducer = {
  take: () => Promise.resolve({ taken: false, refused: "not_pushed" }),
  lostAt: undefined,
  stop: () => undefined,
};

/** An object that has just been opened hears first whoever woke it. Milliseconds. */
const WAKE_MS = 20;

export function runProducer({ row, log, state, apply }: RunProducerOptions): RunProducer {
  const { push } = row.plan;
  if (push === undefined) return nobody;
  const { leaseMs } = push;
  /** A producer that only says that it lives is written down this often; a restart forgets what came after. */
  const noteMs = leaseMs / 2;
  let place = row.producer;
  let heardAt = place === undefined ? row.startedAt : place.heardAt + noteMs;
  let timer: Timer | undefined;

  function arm(): void {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    if (state().phase === "sealed") return;
    const now = Date.now();
    const wait = Math.max(WAKE_MS, heardAt + leaseMs - now);
    timer = setTimeout(() => fire(now + wait), wait);
  }

  function fire(dueAt: number): void {
    const now = Date.now();
    if (Math.abs(now - dueAt) <= OFF_MS) return apply({ type: "producer_lost", at: now });
    heardAt = now + OFF_MS - leaseMs;
    arm();
  }

  /** The sequence in the log of the producer's event of this number: of an older one it is counted in the log. */
  function sequenceOf(number: number): number {
    if (place === undefined || number < 0) return -1;
    if (number >= place.next - 1 || row.swept) return place.last;
    let counted = -1;
    for (let to = -1; to < log.visibleTo;) {
      const page = log.page(to);
      if ("damagedTo" in page || page.entries.length === 0) break;
      for (const entry of page.entries) {
        to = entry.sequence;
        if (isPushed(entry) && ++counted === number) return to;
      }
    }
    return place.last;
  }

  function refusal(batch: PushBatch): PushAnswer | undefined {
    const judged = judgeBatch(place, { ...batch, count: batch.events.length }, "where it stands");
    if (!judged.fits) return { taken: false, ...judged.fault };
    const fresh = batch.events.slice(judged.known);
    const { outcome } = state();
    if (outcome !== undefined) {
      const isRepeat = batch.events.length > 0 && fresh.length === 0;
      return isRepeat ? undefined : { taken: false, refused: "ended", outcome: outcome.outcome };
    }
    const issues = pushedFaults(state(), fresh, judged.known);
    if (issues.length > 0) return { taken: false, refused: "invalid", issues };
    keep(batch.epoch, fresh);
    return undefined;
  }

  function keep(epoch: number, fresh: PushBatch["events"]): void {
    const at = Date.now();
    const { next, last, ...known } = place ?? { next: 0, last: -1, epoch: -1, heardAt: Number.NEGATIVE_INFINITY };
    heardAt = at;
    if (fresh.length > 0) {
      apply({ type: "pushed", at, events: fresh }, ({ nextSequence }) => {
        place = { epoch, next: next + fresh.length, last: nextSequence - 1, heardAt: at };
        return place;
      });
    } else if (epoch !== known.epoch || at - known.heardAt >= noteMs) {
      place = { epoch, next, last, heardAt: at };
      log.append([], place);
    }
    arm();
  }

  arm();
  return {
    async take(batch) {
      const refused = refusal(batch);
      if (refused !== undefined) return refused;
      await log.durable();
      // The end of a run is visible before anybody is told of it.
      if (state().phase === "sealed") await log.settled();
      if (log.gone && row.terminal === undefined) return { taken: false, refused: "not_found" };
      const { next } = place ?? { next: 0 };
      const nextSequence = batch.events.length === 0 ? next : batch.sequence + batch.events.length;
      return { taken: true, nextSequence, lastSequence: sequenceOf(nextSequence - 1) };
    },
    get lostAt() {
      return heardAt + leaseMs;
    },
    stop() {
      if (timer !== undefined) clearTimeout(timer);
    },
  };
}

/** What came of a producer's event, and what the server has put in between. */
function isPushed({ type, payload }: LogEntry): boolean {
  if (type === "lifecycle" || type === "attempt") return false;
  if (type !== "step" && type !== "content_snapshot" && type !== "diagnostic") return true;
  // Of each type only the field that the server writes: another of its name is the producer's own.
  const { implied, releasedFrom, code } = asRecord(parseJson(payload)?.value) ?? {};
  if (type === "step") return implied !== true;
  return type === "content_snapshot" ? releasedFrom === undefined : code !== "sequence_released";
}
