// The log of a live or finished run: numbers in, durable entries out. Flush before deliver: nothing is visible that storage has not confirmed.
import type { LogEntry, LogEvent } from "../schemas/event.ts";
import type { RunLogStore } from "./run-log-store.ts";

/** UTF-16 units of payload kept in memory for readers that keep up; older entries are read from storage. */
const TAIL_UNITS = 1_000_000;

export interface RunLog {
  /** Last sequence that readers may see; -1 for none. */
  readonly durableTo: number;
  /** Last sequence handed in. */
  readonly lastSequence: number;
  /** The terminal is visible: no more entries will come. */
  readonly sealed: boolean;
  /** The entries are no longer there to be read. */
  readonly gone: boolean;
  /** Hands in events, in order. They become visible together, once confirmed. A terminal seals the run. */
  append(events: readonly LogEvent[]): void;
  /** Resolves when everything handed in so far is visible. */
  settled(): Promise<void>;
  /** Visible entries after a cursor, a bounded page of them; empty when the reader has caught up. */
  page(after: number): readonly LogEntry[];
  /** Resolves when there may be something new to read. */
  changed(): Promise<void>;
  /** The entries were swept or forgotten: ends all waiting. */
  discard(): void;
}

export interface LogHooks {
  /** Resolves when all writes so far are on disk. */
  confirm(): Promise<void>;
  /** Called once events are durable and before readers see them. */
  onDurable(events: readonly LogEvent[]): Promise<void>;
  /** A write failed: the object cannot go on. */
  onFailure(error: unknown): void;
}

export function entryOf(event: LogEvent): LogEntry {
  return { sequence: event.sequence, at: event.at, type: event.type, payload: JSON.stringify(event.payload) };
}

export function runLog(
  store: RunLogStore,
  hooks: LogHooks,
  stored: { durableTo: number; sealed: boolean },
): RunLog {
  let { durableTo, sealed } = stored;
  let lastSequence = durableTo;
  let gone = false;
  let pending: LogEvent[] = [];
  let tail: LogEntry[] = [];
  let tailUnits = 0;
  let committing = false;
  let wake = Promise.withResolvers<void>();

  const announce = (): void => {
    const { resolve } = wake;
    wake = Promise.withResolvers<void>();
    resolve();
  };

  const publish = (entries: readonly LogEntry[], terminal: boolean): void => {
    for (const entry of entries) {
      tail.push(entry);
      tailUnits += entry.payload.length;
      durableTo = entry.sequence;
    }
    if (tailUnits > TAIL_UNITS) {
      let dropped = 0;
      while (tailUnits > TAIL_UNITS / 2 && dropped < tail.length - 1) {
        tailUnits -= tail[dropped]?.payload.length ?? 0;
        dropped++;
      }
      tail = tail.slice(dropped);
    }
    if (terminal) sealed = true;
    announce();
  };

  // One committer: while it waits for the disk, the next batch gathers.
  const commit = async (): Promise<void> => {
    while (pending.length > 0) {
      const events = pending;
      pending = [];
      const entries = events.map(entryOf);
      const last = events.at(-1);
      const terminal = last?.type === "terminal" ? last : undefined;
      if (terminal === undefined) store.append(entries);
      else store.seal(entries, terminal.payload.outcome, terminal.at);
      await hooks.confirm();
      await hooks.onDurable(events);
      publish(entries, terminal !== undefined);
    }
    committing = false;
  };

  return {
    get durableTo() {
      return durableTo;
    },
    get lastSequence() {
      return lastSequence;
    },
    get sealed() {
      return sealed;
    },
    get gone() {
      return gone;
    },
    append(events) {
      const last = events.at(-1);
      if (last === undefined) return;
      pending.push(...events);
      lastSequence = last.sequence;
      if (committing) return;
      committing = true;
      commit().catch((error: unknown) => hooks.onFailure(error));
    },
    async settled() {
      const target = lastSequence;
      while (durableTo < target && !gone) await wake.promise;
    },
    page(after) {
      if (after >= durableTo || gone) return [];
      const first = tail[0]?.sequence;
      if (first !== undefined && after + 1 >= first) return tail.slice(after + 1 - first);
      return store.read(after).filter(({ sequence }) => sequence <= durableTo);
    },
    changed: () => wake.promise,
    discard() {
      gone = true;
      announce();
    },
  };
}
