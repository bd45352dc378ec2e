// The object of one run: accepts it, finds it again after a restart, answers for it, and forgets it.
import { DurableObject } from "cloudflare:workers";
import type { AttachQuery, OutcomeAnswer, Refusal, StartAnswer } from "../schemas/attach.ts";
import type { Continuation } from "../schemas/continuation.ts";
import type { RunPlan } from "../schemas/plan.ts";
import type { PushAnswer, PushBatch } from "../schemas/push.ts";
import type { RunStateView, RunStatus } from "../schemas/run.ts";
import { transition, type Input } from "../src/run/machine.ts";
import { admit } from "./admission.ts";
import { claimPrevious, continuationOf, runExists, settlePrevious } from "./continuation.ts";
import { pass } from "./gate.ts";
import { firstReservation } from "./log-rules.ts";
import { confirm, logOptions, openRun, type OpenRun } from "./open-run.ts";
import { LIVE_ALARM_MS, liveAlarm, retellAt, retentionTimes } from "./retention.ts";
import { acceptedRow, acceptedState, foldLog } from "./run-fold.ts";
import { runLogStore } from "./run-log-store.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";
import { releaseSlot } from "./run-tenant.ts";
import { handleOf } from "./run-view.ts";
import { entryOf } from "./segment-codec.ts";
import { equip } from "./server-tools.ts";
import { threadBase } from "./thread-base.ts";
import { hearFirst, within } from "./within.ts";

/** How long a recovered run waits before it goes on: the call that woke it may be a cancel, and that comes first. */
const RESUME_WAIT_MS = 20;

/** How long the readers of a run that is deleted have for its end. Milliseconds. */
const LAST_READ_MS = 1000;

type RepeatedRequest = Pick<RunPlan, "requestHash"> & { idempotencyKey?: string | undefined };

export class RunObject extends DurableObject<Env> {
  #store: RunLogStore;
  #run: OpenRun | undefined;
  #starting: Promise<StartAnswer> | undefined;
  /** The run that this one goes on from knows of it. */
  #settled = false;
  /** Resolved when a run is accepted: readers may come before it. */
  #accepted = Promise.withResolvers<void>();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = runLogStore(ctx.storage);
    const row = this.#store.load();
    // Nothing is answered before this is done.
    if (row !== undefined) ctx.blockConcurrencyWhile(() => this.#wake(row));
  }

  /**
   * Starts the run, or answers for the one that already has this name. Concurrent calls see one start. With `query` its
   * events are attached to in the same call.
   */
  async start(plan: RunPlan, maxActiveRuns: number, query?: AttachQuery): Promise<StartAnswer> {
    const answer = await this.#startOnce(plan, maxActiveRuns);
    if (!answer.started || query === undefined) return answer;
    return { ...answer, reading: await this.attach(query) };
  }

  async #startOnce(plan: RunPlan, maxActiveRuns: number): Promise<StartAnswer> {
    while (this.#starting !== undefined) await this.#starting;
    if (this.#run !== undefined) return repeat(this.#run.row, plan);
    this.#starting = this.#accept(plan, maxActiveRuns);
    try {
      return await this.#starting;
    } finally {
      this.#starting = undefined;
    }
  }

  /** Answers as a repeat of the start that the run had; `undefined` when there is no run. */
  async repeat(request: RepeatedRequest, query?: AttachQuery): Promise<StartAnswer | undefined> {
    if (!(await this.exists()) || this.#run === undefined) return undefined;
    const answer = repeat(this.#run.row, request);
    if (!answer.started || query === undefined) return answer;
    return { ...answer, reading: await this.attach(query) };
  }

  /** Whether there is a run; one that is just being started is waited for. */
  async exists(): Promise<boolean> {
    while (this.#starting !== undefined) await this.#starting.catch(() => undefined);
    return this.#run !== undefined;
  }

  /** What a run needs that goes on from this one, or why none can. */
  continuation(): Continuation {
    return this.#run === undefined
      ? { found: false, refused: "not_found" }
      : continuationOf(this.#run.row, this.#store);
  }

  /** The run `runId` is about to go on from here. False when another one does: the first wins, as long as it exists. */
  async claim(runId: string): Promise<boolean> {
    const { ctx, env } = this;
    for (;;) {
      const row = this.#run?.row;
      if (row?.terminal === undefined || this.#store.request() === undefined) return false;
      const holder = row.continuedBy;
      if (holder === undefined || holder === runId) {
        this.#store.markContinued(runId);
        row.continuedBy = runId;
        await confirm(ctx, "claim");
        return row.continuedBy === runId;
      }
      if (await runExists(env, row.plan.tenant, holder)) this.settleClaim(holder);
      else if (row.continuedBy === holder) row.continuedBy = undefined;
    }
  }

  /** The run that has claimed this one was accepted: nothing else can go on from here. */
  settleClaim(runId: string): void {
    if (this.#run?.row.continuedBy === runId && this.#store.request() !== undefined) this.#store.eraseRequest();
  }

  /** A stream of the run's events, or why there is none. */
  async attach(query: AttachQuery): Promise<Response | Refusal> {
    if (this.#run === undefined) await within(this.#accepted.promise, query.waitMs);
    const run = this.#run;
    const base = run === undefined ? undefined : await threadBase(this.env, run.row, query);
    return run !== undefined && run === this.#run ? run.attach(query, base) : { refused: "not_found" };
  }

  /** The outcome, waiting at most `waitMs` milliseconds for it. */
  async outcome(waitMs: number): Promise<OutcomeAnswer> {
    return (await this.#run?.outcome(waitMs)) ?? { refused: "not_found" };
  }

  /** How the run stands, as far as readers may know. */
  state(): RunStateView | undefined {
    return this.#run?.view();
  }

  /** The thread that the run is of. */
  threadId(): string | undefined {
    return this.#run?.row.plan.thread?.threadId;
  }

  /** How the run stands, in a word; `undefined` when there is none. */
  word(): RunStatus | "swept" | undefined {
    const row = this.#run?.row;
    return row?.swept === true ? "swept" : row?.status;
  }

  /** Takes what the producer of a pushed run says; answers once that is on disk. */
  async push(batch: PushBatch): Promise<PushAnswer> {
    // What keeps documents is told by their collection alone.
    if (this.#run?.row.plan.ingest !== undefined) return { taken: false, refused: "not_pushed" };
    return this.pushIngest(batch);
  }

  /** As `push`, for the collection that keeps the run's documents. */
  async pushIngest(batch: PushBatch): Promise<PushAnswer> {
    return (await this.#run?.push(batch)) ?? { taken: false, refused: "not_found" };
  }

  /** Cancels a live run; a finished one stays as it is. Answers with the standing outcome. */
  async cancel(reason: string | undefined): Promise<OutcomeAnswer> {
    const run = this.#run;
    if (run === undefined) return { refused: "not_found" };
    run.apply({ type: "cancel", at: Date.now(), ...(reason !== undefined && { reason }) });
    await run.settled();
    return run.outcome(0);
  }

  /**
   * Forgets the run: a live one is cancelled first, and its readers have a moment to read the end. The name is free afterwards.
   * `untold`: its thread has not acknowledged its records yet, or its collection has not said what is kept, and the run stays.
   */
  async forget(): Promise<"forgotten" | "unknown" | "untold"> {
    const run = this.#run;
    if (run === undefined) return "unknown";
    await this.cancel("deleted");
    if (run.row.sealedAt === undefined) return "untold";
    if (run.row.plan.thread !== undefined && !(await run.tellEnd())) return "untold";
    await run.unread(LAST_READ_MS);
    // Others may have forgotten it meanwhile, and another run have its name.
    if (this.#run === run) await this.#wipe(run.row);
    return "forgotten";
  }

  override async alarm(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    const { row } = run;
    if (row.sealedAt === undefined) await hearFirst(run.lostAt);
    if (this.#run !== run) return;
    const now = Date.now();
    if (row.sealedAt === undefined) {
      if (now >= row.startedAt + row.plan.totalMs) return this.#end(run, { type: "deadline", at: now });
      if (run.lostAt !== undefined && now >= run.lostAt) return this.#end(run, { type: "producer_lost", at: now });
      run.remind();
      await this.#store.setAlarm(liveAlarm(row, now));
      return this.#settlePrevious(row);
    }
    const [sweepAt, wipeAt] = retentionTimes(row);
    // What the run's chat or thread does not know yet must not go.
    const told = await run.tellEnd();
    if (now >= wipeAt && (told || row.plan.thread === undefined)) return this.#wipe(row);
    // Too early for retention: the live run's alarm, left standing by an end that was cut short.
    if (now < sweepAt) await releaseSlot(this.env, row);
    else if (told && !row.swept) {
      this.#store.sweepEvents();
      row.swept = true;
      run.discard();
    }
    await this.#store.setAlarm(told ? (row.swept ? wipeAt : sweepAt) : retellAt(row, now));
  }

  /** An end that waits for somebody's word may have to be asked for again. */
  async #end(run: OpenRun, input: Input): Promise<void> {
    run.apply(input);
    if (run.row.plan.ingest === undefined) return;
    await run.settled();
    if (run.row.sealedAt === undefined) await this.#store.setAlarm(Date.now() + LIVE_ALARM_MS);
  }

  /** A run found live is recovered, a finished one is only opened. */
  async #wake(row: RunRow): Promise<void> {
    if (row.terminal === undefined) return this.#recover(row);
    const { ctx, env } = this;
    const { state } = foldLog(row, this.#store, row.terminal - 1);
    const marks = this.#store.marks();
    // The object may have died between the seal and what comes before the end: then the alarm is still that of the live run.
    const alarm = await ctx.storage.getAlarm();
    const run = openRun({ ctx, env, store: this.#store, row, state, marks, request: undefined });
    if (alarm === null || !retentionTimes(row).includes(alarm)) {
      await releaseSlot(env, row);
      await run.tellEnd();
    }
    this.#run = run;
  }

  /** One transaction holds the run, its first events and its first reservation; only then is a provider called. */
  async #accept(plan: RunPlan, maxActiveRuns: number): Promise<StartAnswer> {
    const { ctx, env } = this;
    const startedAt = Date.now();
    const [admitted, { plan: equipped, unavailable, unsupported }] = await Promise.all([
      admit(env, plan, startedAt, maxActiveRuns),
      equip(env, plan),
    ]);
    if (admitted === undefined) return { started: false, refused: "too_many_runs" };
    await pass("acquired", ctx);
    const accepted = { ...equipped, ...admitted };
    const { request, ...kept } = accepted;
    const row = acceptedRow(kept, startedAt);
    if (plan.continues !== undefined) {
      if (!(await claimPrevious(env, plan))) {
        await releaseSlot(env, row);
        return { started: false, refused: "conflict", field: "previousRunId" };
      }
      await pass("claimed", ctx);
    }
    const first = transition(acceptedState(row, request), { type: "start", at: startedAt, unavailable, unsupported });
    // A run that only carries calls on may be over at once: its end is sealed like any other.
    const opening = first.events.filter(({ type }) => type !== "terminal");
    const durableTo = opening.at(-1)?.sequence ?? -1;
    const marks = { durableTo, reservedTo: durableTo + firstReservation(logOptions(row)) };
    const newest = opening.map(entryOf);
    this.#store.accept(accepted, startedAt, newest, marks.reservedTo);
    // Begun in the turn of the accept, so that one commit holds both.
    const alarm = this.#store.setAlarm(liveAlarm(row, startedAt));
    await Promise.all([alarm, confirm(ctx, "accept")]);
    this.#run = openRun({ ctx, env, store: this.#store, row, state: first.state, marks, newest, request });
    this.#accepted.resolve();
    this.#run.carryOut(first.effects);
    ctx.waitUntil(this.#run.log(first.events.slice(opening.length)));
    ctx.waitUntil(this.#settlePrevious(row).catch(() => undefined));
    return { started: true, repeated: false, handle: handleOf(row) };
  }

  /**
   * One transaction voids every number that a reader may have seen and storage does not have, restates the text, and
   * counts the recovery. A log that cannot be read whole ends the run instead.
   */
  async #recover(row: RunRow): Promise<void> {
    const { ctx, env } = this;
    const store = this.#store;
    const stored = store.marks();
    const request = store.request();
    const { state, damaged } = foldLog(row, store, -1, request);
    const at = Date.now();
    const { reservedTo } = stored;
    const known = { ...state, nextSequence: stored.durableTo + 1 };
    const step = transition(known, { type: "recover", at, reservedTo, damaged });
    if (damaged) {
      this.#run = openRun({ ctx, env, store, row, state: step.state, marks: stored, request: undefined });
      return this.#run.log(step.events);
    }
    row.recoveries++;
    const durableTo = step.state.nextSequence - 1;
    const marks = { durableTo, reservedTo: durableTo + firstReservation(logOptions(row)) };
    const newest = step.events.map(entryOf);
    store.recover(newest, marks.reservedTo, row.recoveries);
    await store.setAlarm(liveAlarm(row, at));
    await confirm(ctx, "recover");
    const run = openRun({ ctx, env, store, row, state: step.state, marks, newest, request });
    this.#run = run;
    const { recoveries } = row;
    setTimeout(() => run.apply({ type: "resume", at: Date.now(), recoveries }), RESUME_WAIT_MS);
    ctx.waitUntil(this.#settlePrevious(row).catch(() => undefined));
  }

  /** Until the run that this one goes on from knows that it was accepted, it must not be forgotten. */
  async #settlePrevious({ plan }: RunRow): Promise<void> {
    if (this.#settled) return;
    await settlePrevious(this.env, plan);
    this.#settled = true;
  }

  async #wipe(row: RunRow): Promise<void> {
    await this.#settlePrevious(row);
    this.#run?.discard();
    this.#run = undefined;
    this.#settled = false;
    this.#accepted = Promise.withResolvers<void>();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#store = runLogStore(this.ctx.storage);
  }
}

/** A start under a name that is taken: the same run, or a conflict. */
function repeat(row: RunRow, plan: RepeatedRequest): StartAnswer {
  const { requestHash, idempotencyKey } = row.plan;
  if (requestHash !== plan.requestHash) return { started: false, refused: "conflict", field: "body" };
  if (idempotencyKey !== undefined && plan.idempotencyKey !== undefined && idempotencyKey !== plan.idempotencyKey) {
    return { started: false, refused: "conflict", field: "Idempotency-Key" };
  }
  return { started: true, repeated: true, handle: handleOf(row) };
}
