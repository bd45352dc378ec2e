// The log of a live or finished run: reserve ahead, flush behind. A reader sees a number only when it is durably reserved, and what must not be undone only when it is stored.
import type { LogEntry, LogEvent } from "../schemas/event.ts";
import { isFlushFirst, isMilestone, reservation, type Logged, type LogOptions } from "./log-rules.ts";
import { entryOf } from "./segment-codec.ts";
import type { Marks, ProducerPlace, RunLogStore } from "./run-row.ts";
import { nextTurn, type Timer } from "./within.ts";

/**
 * UTF-16 units of payload kept in memory for readers that keep up; older entries are read from storage. Some 13,000 tokens: four
 * times as many let a run with 6 MiB of text raise the process by 20 MiB more.
 */
const TAIL_UNITS = 262_144;
/** UTF-16 units of payload that are flushed without waiting for the clock. */
const FLUSH_UNITS = 32_768;
/** Milliseconds: readers are woken at most once in this time, so that a flood reaches them in few large writes. */
const COALESCE_MS = 4;
/** Milliseconds: many readers are left alone as long as it took to serve them, but not longer than this. */
const COALESCE_MAX_MS = 50;
/** Entries per page: bounds what one reader holds at a time. */
const PAGE_ENTRIES = 1024;

export interface RunLog {
  /** Last sequence that readers may see; -1 for none. */
  readonly visibleTo: number;
  /** The terminal is visible: no more entries will come. */
  readonly sealed: boolean;
  /** What is not in memory can no longer be read: a reader gets the rest if it has kept up, else its stream ends. */
  readonly gone: boolean;
  /** Hands in events, in order. A terminal seals the run. `producer`: where the producer stands with them, stored in the same transaction. */
  append(events: readonly Logged[], producer?: ProducerPlace): void;
  /** Writes at once; resolves when everything handed in so far is on disk. */
  durable(): Promise<void>;
  /** Resolves when everything handed in so far is visible. */
  settled(): Promise<void>;
  /** Visible entries after a cursor, a bounded page of them; or the last sequence of a damaged stretch. */
  page(after: number): { entries: readonly LogEntry[] } | { damagedTo: number };
  /** Resolves when there may be something new to read. */
  changed(): Promise<void>;
  /** The entries were swept or forgotten: ends all waiting. */
  discard(): void;
}

export interface LogHooks {
  /** Resolves when all writes so far are on disk. */
  confirm(): Promise<void>;
  /** A step has finished or a tool has answered, and all up to `through` is on disk. */
  milestone(through: number): void;
  /** The terminal is durable, and readers do not see it yet. */
  beforeEnd(terminal: Extract<LogEvent, { type: "terminal" }>): Promise<void>;
  /** Whether the request outlives this end. */
  keepsRequest(terminal: Extract<LogEvent, { type: "terminal" }>): boolean;
  /** A write failed: the object cannot go on. */
  onFailure(error: unknown): void;
}

/** `newest`: the last stored entries, as far as they are at hand: readers are served from memory then. */
export function runLog(
  store: RunLogStore,
  hooks: LogHooks,
  { newest = [], ...marks }: Marks & { newest?: readonly LogEntry[] },
  options: LogOptions,
): RunLog {
  let { durableTo, reservedTo } = marks;
  let reservedFrom = durableTo;
  let visibleTo = durableTo;
  /** What was visible when readers were last woken. */
  let shownTo = durableTo;
  let lastSequence = durableTo;
  let { sealed } = options;
  let gone = false;
  let tail: LogEntry[] = [...newest];
  let tailUnits = newest.reduce((sum, { payload }) => sum + payload.length, 0);
  let unflushed: LogEntry[] = [];
  let unflushedUnits = 0;
  let terminal: Extract<LogEvent, { type: "terminal" }> | undefined;
  /** Sequences of flush-first events that are not durable yet. */
  let barriers: number[] = [];
  let reached = false;
  /** Where the producer stands, when that is not stored yet. */
  let place: ProducerPlace | undefined;
  /** What was handed in, counted, and how much of that is on disk. */
  let handed = 0;
  let stored = 0;
  let written = Promise.withResolvers<void>();
  let committing = false;
  let due = false;
  let flushTimer: Timer | undefined;
  let wake = Promise.withResolvers<void>();
  let wakeTimer: Timer | undefined;
  let lastWake = 0;
  /** Readers that wait for the next wake, those of the last one that are not back yet, and when the last one came back. */
  let waiting = 0;
  let unserved = 0;
  let lastServed = 0;
  let lastFlush = Date.now();

  const wakeNow = (): void => {
    if (wakeTimer !== undefined) clearTimeout(wakeTimer);
    wakeTimer = undefined;
    lastWake = Date.now();
    shownTo = visibleTo;
    unserved = waiting;
    waiting = 0;
    const { resolve } = wake;
    wake = Promise.withResolvers<void>();
    resolve();
  };

  const announce = (): void => {
    // Half of the thread belongs to the provider: else each of its packets waits for all readers, and brings one token.
    const servingMs = Math.min(lastServed - lastWake, COALESCE_MAX_MS);
    const wait = Math.max(lastWake + COALESCE_MS, lastServed + servingMs) - Date.now();
    // More than that is left only when the time was set back.
    if (wait <= 0 || sealed) wakeNow();
    else wakeTimer ??= setTimeout(wakeNow, Math.min(wait, COALESCE_MAX_MS));
  };

  const refresh = (): void => {
    const [barrier] = barriers;
    const limit = Math.min(lastSequence, Math.max(reservedTo, durableTo), (barrier ?? Number.POSITIVE_INFINITY) - 1);
    if (limit <= visibleTo) return;
    visibleTo = limit;
    announce();
  };

  const trim = (): void => {
    if (tailUnits <= TAIL_UNITS) return;
    let dropped = 0;
    for (const { payload, sequence } of tail) {
      // What readers have not been woken for yet is about to be read: the terminal above all, which may be large.
      if (tailUnits <= TAIL_UNITS / 2 || sequence > durableTo || sequence > shownTo) break;
      tailUnits -= payload.length;
      dropped++;
    }
    tail = tail.slice(dropped);
  };

  const write = (): number => {
    const entries = unflushed;
    unflushed = [];
    unflushedUnits = 0;
    const last = entries.at(-1)?.sequence ?? durableTo;
    const flushedAt = Date.now();
    const taken = { taken: entries.length, elapsedMs: flushedAt - lastFlush, before: reservedTo - reservedFrom };
    lastFlush = flushedAt;
    // Never less than before: a number beyond the new block may already have been seen.
    const reserved = Math.max(reservedTo, last + reservation(taken, options));
    if (terminal === undefined) store.flush(entries, reserved, place);
    else store.seal(entries, terminal.payload.outcome, terminal.at, hooks.keepsRequest(terminal), place);
    place = undefined;
    return reserved;
  };

  // One committer, apart from whoever appends: it alone awaits the disk and moves the marks.
  const commit = async (): Promise<void> => {
    while (due && (unflushed.length > 0 || place !== undefined) && !gone) {
      due = false;
      const writing = handed;
      if (flushTimer !== undefined) clearTimeout(flushTimer);
      flushTimer = undefined;
      const last = unflushed.at(-1)?.sequence ?? durableTo;
      const ending = terminal;
      const milestone = reached;
      reached = false;
      const reserved = write();
      await hooks.confirm();
      stored = writing;
      written.resolve();
      written = Promise.withResolvers<void>();
      durableTo = last;
      reservedFrom = last;
      reservedTo = ending === undefined ? reserved : last;
      barriers = barriers.filter((barrier) => barrier > last || barrier === ending?.sequence);
      if (ending !== undefined) {
        // Readers need not wait for the rest of what the end waits for, nor for the disk once more.
        refresh();
        await nextTurn();
        await hooks.beforeEnd(ending);
        barriers = [];
        sealed = true;
      } else if (milestone) hooks.milestone(last);
      trim();
      refresh();
    }
    committing = false;
    if (unflushed.length > 0) arm();
  };

  const flush = (): void => {
    due = true;
    if (committing) return;
    committing = true;
    commit().catch((error: unknown) => hooks.onFailure(error));
  };

  const arm = (): void => {
    flushTimer ??= setTimeout(flush, options.flushMs);
  };

  const mustFlush = (): boolean =>
    options.strict ||
    barriers.length > 0 ||
    unflushedUnits >= FLUSH_UNITS ||
    (lastSequence - reservedFrom) * 2 >= reservedTo - reservedFrom;

  return {
    get visibleTo() {
      return visibleTo;
    },
    get sealed() {
      return sealed;
    },
    get gone() {
      return gone;
    },
    append(events, producer) {
      place = producer ?? place;
      if (events.length > 0 || producer !== undefined) handed++;
      for (const event of events) {
        const entry = entryOf(event);
        tail.push(entry);
        unflushed.push(entry);
        tailUnits += entry.payload.length;
        unflushedUnits += entry.payload.length;
        lastSequence = entry.sequence;
        // A bare text is none of these.
        if (entry.text !== undefined) continue;
        if (isFlushFirst(event)) barriers.push(entry.sequence);
        if (event.type === "terminal") terminal = event;
        reached ||= isMilestone(event);
      }
      if (events.length === 0) return;
      if (mustFlush()) flush();
      else if (!committing) arm();
      refresh();
    },
    async durable() {
      const target = handed;
      flush();
      while (stored < target && !gone) await written.promise;
    },
    async settled() {
      const target = lastSequence;
      while (visibleTo < target && !gone) await wake.promise;
    },
    page(after) {
      if (after >= visibleTo) return { entries: [] };
      const first = tail[0]?.sequence;
      if (first === undefined || after + 1 < first) {
        if (gone) return { entries: [] };
        const page = store.read(after);
        return "entries" in page ? { entries: page.entries.filter(({ sequence }) => sequence <= visibleTo) } : page;
      }
      const from = after + 1 - first;
      return { entries: tail.slice(from, Math.min(from + PAGE_ENTRIES, visibleTo - first + 1)) };
    },
    changed() {
      waiting++;
      if (unserved > 0) {
        unserved--;
        lastServed = Date.now();
      }
      return wake.promise;
    },
    discard() {
      gone = true;
      written.resolve();
      if (flushTimer !== undefined) clearTimeout(flushTimer);
      wakeNow();
    },
  };
}
