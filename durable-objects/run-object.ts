// The object of one run: accepts it, finds it again after a restart, answers for it, and forgets it.
import { DurableObject } from "cloudflare:workers";
import type { AttachQuery, OutcomeAnswer, Refusal, StartAnswer } from "../schemas/attach.ts";
import type { RunPlan } from "../schemas/plan.ts";
import type { RunStateView } from "../schemas/run.ts";
import { healthyFirst } from "../src/run/breaker.ts";
import { transition } from "../src/run/machine.ts";
import { decidedFor } from "../src/run/planner.ts";
import { pass } from "./gate.ts";
import { confirm, logOptions, openRun, type OpenRun } from "./open-run.ts";
import { acceptedState, foldLog } from "./run-fold.ts";
import { firstReservation } from "./run-log.ts";
import { runLogStore } from "./run-log-store.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";
import { releaseSlot } from "./run-tenant.ts";
import { handleOf } from "./run-view.ts";
import { entryOf } from "./segment-codec.ts";
import { within } from "./within.ts";

/** While a run is live an alarm stands at most this far ahead, so that a run whose object died is found. */
const LIVE_ALARM_MS = 30_000;
/** How long a recovered run waits before it goes on: the call that woke it may be a cancel, and that comes first. */
const RESUME_WAIT_MS = 20;

export class RunObject extends DurableObject<Env> {
  #store: RunLogStore;
  #run: OpenRun | undefined;
  #starting: Promise<StartAnswer> | undefined;
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

  /** A stream of the run's events, or why there is none. */
  async attach(query: AttachQuery): Promise<Response | Refusal> {
    if (this.#run === undefined) await within(this.#accepted.promise, query.waitMs);
    return this.#run?.attach(query) ?? { refused: "not_found" };
  }

  /** The outcome, waiting at most `waitMs` milliseconds for it. */
  async outcome(waitMs: number): Promise<OutcomeAnswer> {
    return (await this.#run?.outcome(waitMs)) ?? { refused: "not_found" };
  }

  /** How the run stands, as far as readers may know. */
  state(): RunStateView | undefined {
    return this.#run?.view();
  }

  /** Cancels a live run; a finished one stays as it is. Answers with the standing outcome. */
  async cancel(reason: string | undefined): Promise<OutcomeAnswer> {
    const run = this.#run;
    if (run === undefined) return { refused: "not_found" };
    run.apply({ type: "cancel", at: Date.now(), ...(reason !== undefined && { reason }) });
    await run.settled();
    return run.outcome(0);
  }

  /** Forgets the run: a live one is cancelled first. False when there is none. The name is free afterwards. */
  async forget(): Promise<boolean> {
    if (this.#run === undefined) return false;
    await this.cancel("deleted");
    await this.#wipe();
    return true;
  }

  override async alarm(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    const now = Date.now();
    const { row } = run;
    if (row.sealedAt === undefined) {
      const deadline = row.startedAt + row.plan.totalMs;
      if (now >= deadline) run.apply({ type: "deadline", at: now });
      else await this.#store.setAlarm(Math.min(now + LIVE_ALARM_MS, deadline));
      return;
    }
    const [sweepAt, wipeAt] = retentionTimes(row);
    if (now >= wipeAt) return this.#wipe();
    // Too early for retention: the live run's alarm, left standing by an end that was cut short.
    if (now < sweepAt) await releaseSlot(this.env, row);
    else if (!row.swept) {
      this.#store.sweepEvents();
      row.swept = true;
      run.discard();
    }
    await this.#store.setAlarm(row.swept ? wipeAt : sweepAt);
  }

  /** A run found live is recovered, a finished one is only opened. */
  async #wake(row: RunRow): Promise<void> {
    if (row.terminal === undefined) return this.#recover(row);
    const { ctx, env } = this;
    const { state } = foldLog(row, this.#store, row.terminal - 1);
    const marks = this.#store.marks();
    // The object may have died between the seal and the release: then the alarm is still that of the live run.
    const alarm = await ctx.storage.getAlarm();
    if (alarm === null || !retentionTimes(row).includes(alarm)) await releaseSlot(env, row);
    this.#run = openRun({ ctx, env, store: this.#store, row, state, marks, request: undefined });
  }

  /** One transaction holds the run, its first events and its first reservation; only then is a provider called. */
  async #accept(plan: RunPlan, maxActiveRuns: number): Promise<StartAnswer> {
    const { ctx, env } = this;
    const startedAt = Date.now();
    const deadline = startedAt + plan.totalMs;
    const admitted = await env.TENANT.getByName(plan.tenant).admit({
      runId: plan.runId,
      startedAt,
      until: deadline + LIVE_ALARM_MS,
      maxActiveRuns,
      chain: plan.chain.map(({ id, scope }) => ({ id, scope })),
      breaker: plan.breaker,
      hedge: plan.hedge,
    });
    if (!admitted.admitted) return { started: false, refused: "too_many_runs" };
    await pass("acquired", ctx);
    const { benched, hedgeAfterMs } = admitted;
    const chain = healthyFirst(plan.chain, benched);
    const decision = decidedFor(plan.decision, chain);
    const { request, ...kept } = { ...plan, chain, decision, hedgeAfterMs };
    const row: RunRow = {
      plan: kept,
      status: "running",
      startedAt,
      sealedAt: undefined,
      terminal: undefined,
      swept: false,
      recoveries: 0,
      attached: false,
    };
    const first = transition(acceptedState(row), { type: "start", at: startedAt });
    const durableTo = first.state.nextSequence - 1;
    const marks = { durableTo, reservedTo: durableTo + firstReservation(logOptions(row)) };
    this.#store.accept({ ...kept, request }, startedAt, first.events.map(entryOf), marks.reservedTo);
    // Begun in the turn of the accept, so that one commit holds both.
    const alarm = this.#store.setAlarm(Math.min(startedAt + LIVE_ALARM_MS, deadline));
    await Promise.all([alarm, confirm(ctx, "accept")]);
    this.#run = openRun({ ctx, env, store: this.#store, row, state: first.state, marks, request });
    this.#accepted.resolve();
    this.#run.carryOut(first.effects);
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
    const { state, damaged } = foldLog(row, store);
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
    store.recover(step.events.map(entryOf), marks.reservedTo, row.recoveries);
    await store.setAlarm(Math.min(at + LIVE_ALARM_MS, row.startedAt + row.plan.totalMs));
    await confirm(ctx, "recover");
    const run = openRun({ ctx, env, store, row, state: step.state, marks, request: store.request() });
    this.#run = run;
    const { recoveries } = row;
    setTimeout(() => run.apply({ type: "resume", at: Date.now(), recoveries }), RESUME_WAIT_MS);
  }

  async #wipe(): Promise<void> {
    this.#run?.discard();
    this.#run = undefined;
    this.#accepted = Promise.withResolvers<void>();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#store = runLogStore(this.ctx.storage);
  }
}

/** When a finished run's events go, and when the rest. Unix epoch, milliseconds. */
function retentionTimes({ sealedAt = 0, plan }: RunRow): [sweepAt: number, wipeAt: number] {
  const { retentionEventsMs, retentionOutcomeMs } = plan.limits;
  return [sealedAt + retentionEventsMs, sealedAt + retentionOutcomeMs];
}

/** A start under a name that is taken: the same run, or a conflict. */
function repeat(row: RunRow, plan: RunPlan): StartAnswer {
  const { requestHash, idempotencyKey } = row.plan;
  if (requestHash !== plan.requestHash) return { started: false, refused: "conflict", field: "body" };
  if (idempotencyKey !== undefined && plan.idempotencyKey !== undefined && idempotencyKey !== plan.idempotencyKey) {
    return { started: false, refused: "conflict", field: "Idempotency-Key" };
  }
  return { started: true, repeated: true, handle: handleOf(row) };
}
