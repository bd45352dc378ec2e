// How the records of a run reach the object of its thread: told in order, until they are acknowledged, from what is on disk. Numbers no record itself.
import type { ThreadNews } from "../schemas/thread.ts";
import { damagedRecording, emptyRecording, record, type Recording } from "../src/thread/records.ts";
import { eventOf } from "../src/wire/log-entry.ts";
import { pass } from "./gate.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";
import { answersWithin, END_WAIT_MS } from "./within.ts";

/** UTF-16 units of records that are told at once; those of one event are never told apart. */
const NEWS_UNITS = 2_000_000;
/** How long the run's tools wait to hear that the thread knows the run. Milliseconds. */
const KNOWN_WAIT_MS = 5000;
/** The thread, or the run in it, is gone: there is nothing left to tell. */
const ALL = Number.MAX_SAFE_INTEGER;

export interface ThreadDelivery {
  /** The log is on disk up to here: its records are told in the background. */
  reach(through: number): void;
  /** Tells the thread, in the background, what it has not acknowledged. */
  remind(): void;
  /** Tells all up to here that the thread has not acknowledged. False when it has not done so in time. */
  tell(through: number): Promise<boolean>;
  /** Tells what a live run has to tell when it is opened. Resolves when the thread knows the run, or does not answer in time. */
  begin(): Promise<void>;
}

export interface ThreadDeliveryOptions {
  ctx: DurableObjectState;
  env: Env;
  store: RunLogStore;
  row: RunRow;
  /** Last sequence on disk. */
  durableTo: number;
  /** The thread does not know the run: nobody wants it. */
  onUnknown(): void;
}

const noThread: ThreadDelivery = {
  reach: () => undefined,
  remind: () => undefined,
  tell: () => Promise.resolve(true),
  begin: () => Promise.resolve(),
};

export function threadDelivery({ ctx, env, store, row, durableTo, onUnknown }: ThreadDeliveryOptions): ThreadDelivery {
  const { thread, tenant, runId, chain, agent } = row.plan;
  if (thread === undefined) return noThread;
  const { threadId } = thread;
  let reached = durableTo;
  /** How far the log was read, and what it said so far. Read anew after every failure: nothing is kept for a thread that does not answer. */
  let read: { to: number; recording: Recording } | undefined;
  let telling = Promise.resolve();

  function firstReading(): { to: number; recording: Recording } {
    const models = Object.fromEntries(
      chain.flatMap(({ id, target: { model } }) => (model === undefined ? [] : [[id, model]])),
    );
    const run = { runId, models, carried: agent?.carried ?? [], chain: thread?.chain ?? null, ...store.opening() };
    return { to: -1, recording: emptyRecording(run) };
  }

  /** The next records that the thread has not acknowledged; `undefined` when there are none. */
  function nextNews(): ThreadNews | undefined {
    const news: ThreadNews = { runId, records: [], through: row.projected };
    if (row.projected >= reached) return undefined;
    let { to, recording } = read ?? firstReading();
    let units = 0;
    while (to < reached && units < NEWS_UNITS) {
      const page = store.read(to);
      if ("damagedTo" in page) {
        to = page.damagedTo;
        recording = damagedRecording(recording);
        continue;
      }
      if (page.entries.length === 0) break;
      for (const entry of page.entries) {
        if (entry.sequence > reached || units >= NEWS_UNITS) break;
        to = entry.sequence;
        const event = eventOf(entry);
        if (event === undefined) continue;
        const { records, end, ...next } = record(recording, event);
        recording = next.recording;
        if (to <= row.projected) continue;
        news.records.push(...records);
        if (end !== undefined) news.end = end;
        if (records.length > 0) units += entry.payload.length + JSON.stringify(records).length;
      }
    }
    read = { to, recording };
    news.through = to;
    if (news.records.length > 0) return news;
    // Of a damaged log not even the end may be left.
    if (row.terminal !== undefined && to >= row.terminal) row.projected = to;
    return undefined;
  }

  async function tellOn(): Promise<void> {
    try {
      for (let news = nextNews(); news !== undefined; news = nextNews()) {
        await pass("telling", ctx);
        // Anew for each call: a stub whose object has died stays broken.
        const { known } = await env.THREAD.getByName(`${tenant}/${threadId}`).take(news);
        await pass("projected", ctx);
        row.projected = known ? news.through : ALL;
        store.markProjected(row.projected);
        if (!known) onUnknown();
      }
    } catch (error) {
      read = undefined;
      throw error;
    }
  }

  /** One call at a time: what comes while one is under way is told after it. */
  function tellInTurn(): Promise<void> {
    telling = telling.catch(() => undefined).then(tellOn);
    return telling;
  }

  const inBackground = (): void => ctx.waitUntil(tellInTurn().catch(() => undefined));

  return {
    reach(through) {
      reached = Math.max(reached, through);
      inBackground();
    },
    remind: inBackground,
    async tell(through) {
      reached = Math.max(reached, through);
      if (row.projected < through) await answersWithin(tellInTurn(), END_WAIT_MS);
      return row.projected >= through;
    },
    async begin() {
      const told = tellInTurn().catch(() => undefined);
      if (row.projected < 0) await answersWithin(told, KNOWN_WAIT_MS);
    },
  };
}
