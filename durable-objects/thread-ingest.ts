// Takes what producers push of runs that are carried out elsewhere, and ends those whose producer is lost. Each batch is one transaction, and pushed twice it is kept once.
import type { IngestAnswer, IngestRequest } from "../schemas/thread-ingest.ts";
import type { RecordDraft, ThreadNews, ThreadRunEnd } from "../schemas/thread.ts";
import type { ValidationIssue } from "../schemas/problem.ts";
import { depthOf, MAX_JSON_DEPTH } from "../src/run/canonical.ts";
import { wireIssues } from "../src/run/issues.ts";
import { utf8Length } from "../src/run/utf8.ts";
import { judgeBatch } from "../src/thread/producer.ts";
import { endToldBy, LOST_PRODUCER, TERMINAL, terminalRecord } from "../src/thread/pushed-run.ts";
import { recordCheck } from "../src/thread/record-check.ts";
import { withMessageId } from "../src/thread/state-messages.ts";
import type { ProducerRow, Stage, ThreadProducers } from "./thread-producers.ts";
import type { ThreadRecords } from "./thread-records.ts";
import type { ThreadRunRow, ThreadRunStore } from "./thread-run-store.ts";
import type { ThreadStates } from "./thread-state.ts";
import type { ThreadStore } from "./thread-store.ts";

type Draft = Omit<RecordDraft, "source">;

export interface ThreadIngest {
  take(request: IngestRequest, now: number): IngestAnswer;
  /** When a producer is to be looked after next. */
  due(): number | undefined;
  /** Ends the runs whose producers are lost. */
  expire(now: number): void;
}

interface Parts {
  storage: DurableObjectStorage;
  threadId: string;
  store: ThreadStore;
  runs: ThreadRunStore;
  state: ThreadStates;
  records: ThreadRecords;
  producers: ThreadProducers;
  /** Keeps what a run tells. */
  tell(news: ThreadNews): unknown;
}

export function threadIngest(parts: Parts): ThreadIngest {
  const { storage, threadId, store, runs, state, records, producers, tell } = parts;

  const makeThread = ({ assistantId }: IngestRequest, now: number): void => {
    if (store.thread() !== undefined) return;
    store.addThread({
      createdAt: now,
      updatedAt: now,
      assistantId,
      metadata: {},
      status: "idle",
      activeRun: undefined,
    });
  };

  /** The run is the active one, unless another is: then it is recorded beside it, and is no part of the state. */
  const makeRun = ({ runId, assistantId, metadata }: IngestRequest, now: number): void => {
    const thread = store.thread();
    if (thread === undefined) throw new Error("There is no thread for the run.");
    const active = thread.activeRun ?? runId;
    const parent = state.head()?.id;
    const opened =
      active === runId ? state.add({ parent, runId, source: "input", createdAt: now, changes: [] }) : undefined;
    const version = store.saveThread({ ...thread, activeRun: active, updatedAt: now });
    runs.add({
      runId,
      requestHash: "",
      status: "running",
      pushed: true,
      strategy: "reject",
      assistantId,
      metadata,
      kwargs: {},
      createdAt: now,
      updatedAt: now,
      stopReason: null,
      error: null,
      through: -1,
      opened,
      continues: undefined,
      starters: 0,
      cancel: undefined,
      before: { made: false, updatedAt: thread.updatedAt, version },
    });
  };

  const runOf = (runId: string): ThreadRunRow => {
    const run = runs.run(runId);
    if (run === undefined) throw new Error("There is no such run.");
    return run;
  };

  /** Keeps records of the run, and its end with them. Gives the number of the first. */
  const keep = (runId: string, drafts: readonly Draft[], end: ThreadRunEnd | undefined): number => {
    const { through } = runOf(runId);
    tell({
      runId,
      records: drafts.map((draft, index) => {
        const source = through + 1 + index;
        return { ...withMessageId(draft, runId, source), source };
      }),
      through: through + drafts.length,
      ...(end !== undefined && { end }),
    });
    return records.lastSeq() - drafts.length + 1;
  };

  /** The run is over, and so is its recording: as somebody here has ended it, as its records said, or as lost. */
  const close = (runId: string, producer: ProducerRow, now: number): void => {
    const run = runOf(runId);
    const end = endOf(run) ?? LOST_PRODUCER;
    keep(runId, [terminalRecord(end, now)], isLive(run) ? end : undefined);
    producers.save(runId, { ...producer, stage: "closed" });
  };

  const keepBatch = (request: IngestRequest, known: number, fresh: readonly Draft[], now: number): void => {
    const { runId, epoch, sequence, leaseMs } = request;
    makeThread(request, now);
    if (runs.run(runId)?.pushed !== true) makeRun(request, now);
    const end = request.end === undefined ? endToldBy(fresh) : { ...request.end, interrupts: [] };
    const isLast = request.end !== undefined || fresh.at(-1)?.eventType === TERMINAL;
    const missing = isLast && fresh.at(-1)?.eventType !== TERMINAL && end !== undefined;
    const kept = missing ? [...fresh, terminalRecord(end, now)] : fresh;
    if (kept.length > 0) {
      const first = keep(runId, kept, end);
      const batch = { epoch, sequence: sequence + known, count: fresh.length };
      if (fresh.length > 0) producers.keepBatch(runId, batch, first);
    }
    const before = producers.of(runId);
    const stage: Stage = isLast ? "closed" : end === undefined ? (before?.stage ?? "open") : "ended";
    const next = Math.max(before?.epoch === epoch ? before.next : 0, sequence + request.records.length);
    producers.save(runId, { epoch, next, stage, leaseUntil: now + leaseMs });
  };

  return {
    take(request, now) {
      const { runId, epoch, sequence } = request;
      const exists = store.thread() !== undefined;
      if (!exists && request.ifMissing === "refuse") return { taken: false, refused: "unknown_thread" };
      const run = exists ? runs.run(runId) : undefined;
      if (run !== undefined && !run.pushed) return { taken: false, refused: "not_pushed" };
      const producer = run === undefined ? undefined : producers.of(runId);
      const batch = { epoch, sequence, count: request.records.length };
      const judged = judgeBatch(producer, batch);
      if (!judged.fits) return { taken: false, ...judged.fault };
      const isRepeat = judged.known === batch.count && producer?.epoch === epoch;
      const answer = (): IngestAnswer => ({
        taken: true,
        epoch,
        next: sequence + batch.count,
        seqs: producers.seqs(runId, batch),
      });
      if (run !== undefined && producer !== undefined) {
        if (producer.stage === "open" && !isLive(run)) storage.transactionSync(() => close(runId, producer, now));
        if (producer.stage === "closed" || (producer.stage === "open" && !isLive(run))) {
          const saysMore = batch.count === 0 && request.end?.status !== run.status;
          if (isRepeat && !saysMore) return answer();
          return { taken: false, refused: "ended", status: run.status === "lost" ? "error" : run.status };
        }
      }
      const checked = checkRecords(request, judged.known, threadId, now);
      if (!checked.ok) return { taken: false, refused: "invalid", issues: checked.issues };
      if (checked.bytes > 0 && store.size() + checked.bytes > request.maxThreadBytes) {
        return { taken: false, refused: "full" };
      }
      storage.transactionSync(() => keepBatch(request, judged.known, checked.drafts, now));
      return answer();
    },

    due: () => (store.thread() === undefined ? undefined : producers.due()),

    expire(now) {
      if (store.thread() === undefined) return;
      for (const runId of producers.expired(now)) {
        const producer = producers.of(runId);
        if (producer !== undefined) storage.transactionSync(() => close(runId, producer, now));
      }
    },
  };
}

const isLive = ({ status }: ThreadRunRow): boolean => status === "pending" || status === "running";

/** `undefined` while a run has none. */
function endOf({ status, stopReason, error }: ThreadRunRow): ThreadRunEnd | undefined {
  if (status === "pending" || status === "running") return undefined;
  return { status: status === "lost" ? "error" : status, stopReason, error, interrupts: [] };
}

type Checked = { ok: true; drafts: Draft[]; bytes: number } | { ok: false; issues: ValidationIssue[] };

/** The records that are new. The path of a fault begins at the request. */
function checkRecords(request: IngestRequest, known: number, threadId: string, now: number): Checked {
  const check = recordCheck(threadId, request.runId);
  const drafts: Draft[] = [];
  const issues: ValidationIssue[] = [];
  let bytes = 0;
  const refuse = (path: string, message: string, keyword: string): unknown => issues.push({ path, message, keyword });
  for (const [index, value] of request.records.entries()) {
    if (index < known) continue;
    const at = `/records/${index}`;
    if (depthOf(value, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
      refuse(at, `is nested deeper than ${MAX_JSON_DEPTH} levels`, "maxDepth");
      continue;
    }
    const checked = check(value);
    if (!checked.ok) {
      issues.push(...wireIssues(checked.issues).map((issue) => ({ ...issue, path: `${at}${issue.path}` })));
      continue;
    }
    const { event_type: eventType, category, content, metadata, created_at: created, user_id: user } = checked.record;
    const time = created === undefined ? now : timeOf(created);
    if (Number.isNaN(time)) refuse(`${at}/created_at`, "is no time that there is", "format");
    if (drafts.at(-1)?.eventType === TERMINAL) refuse(at, "follows the end of the run", "order");
    drafts.push({ eventType, category, content, metadata, at: time, userId: user ?? request.userId });
    bytes += utf8Length(JSON.stringify(value));
  }
  const told = drafts.at(-1)?.eventType === TERMINAL ? endToldBy(drafts.slice(-1)) : undefined;
  if (told !== undefined && request.end !== undefined && request.end.status !== told.status) {
    refuse("/end/status", "is not the one of the last record", "const");
  }
  return issues.length > 0 ? { ok: false, issues: issues.slice(0, MAX_ISSUES) } : { ok: true, drafts, bytes };
}

const MAX_ISSUES = 20;

const FIRST_MS = Date.parse("0000-01-01T00:00:00Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** In milliseconds, down to the microsecond. Of a day that no calendar has there is none, nor outside of the years that four digits write. */
function timeOf(text: string): number {
  const day = text.slice(0, "2026-01-01".length);
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const time = Date.parse(text);
  const isThere = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
  const micros = Number((/\.(\d+)/.exec(text)?.[1] ?? "").padEnd(6, "0").slice(3, 6));
  return isThere && time >= FIRST_MS && time <= LAST_MS ? time + micros / 1000 : Number.NaN;
}
