// The shell of one run: turns the machine's effects into fetches, writes and timers, and their results back into inputs. It holds no rules of its own.
import { DurableObject } from "cloudflare:workers";
import type { AttachQuery, OutcomeAnswer, Refusal, StartAnswer } from "../schemas/attach.ts";
import type { LogEvent } from "../schemas/event.ts";
import type { PlannedTarget, RunPlan } from "../schemas/plan.ts";
import type { RunStateView } from "../schemas/run.ts";
import { dialects, isDialectId } from "../src/dialects/index.ts";
import { adapters } from "../src/providers/index.ts";
import { transition, type Effect, type Input } from "../src/run/machine.ts";
import { evolve, type RunState } from "../src/run/state.ts";
import type { Telemetry } from "../src/run/telemetry.ts";
import { startAttempt, type Attempt } from "./attempt.ts";
import { acceptedState, foldLog } from "./run-fold.ts";
import { entryOf, runLog, type RunLog } from "./run-log.ts";
import { runLogStore, type RunLogStore, type RunRow } from "./run-log-store.ts";
import { handleOf, positionOf, stateOf } from "./run-view.ts";
import { viewerStream } from "./viewer.ts";
import { within } from "./within.ts";

/** While a run is live an alarm stands at most this far ahead, so that a run whose object died is found. */
const LIVE_ALARM_MS = 30_000;
/** How long the tenant's slot may hold up the end of a run. */
const RELEASE_WAIT_MS = 2000;

/** All that exists once a run was accepted. */
interface Run {
  row: RunRow;
  log: RunLog;
  /** Everything decided so far. */
  state: RunState;
  /** Everything confirmed so far: what readers may be told. */
  durable: RunState;
}

export class RunObject extends DurableObject<Env> {
  #store: RunLogStore;
  #run: Run | undefined;
  #request: RunPlan["request"] | undefined;
  #attempt: Attempt | undefined;
  #starting: Promise<StartAnswer> | undefined;
  /** Resolved when a run is accepted: readers may come before it. */
  #accepted = Promise.withResolvers<void>();
  #viewers = 0;
  #totalTimer: number | null = null;
  #graceTimer: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = runLogStore(ctx.storage);
    void ctx.blockConcurrencyWhile(() => this.#wake());
  }

  /** Starts the run, or answers for the one that already has this name. Concurrent calls see one start. */
  async start(plan: RunPlan, maxActiveRuns: number): Promise<StartAnswer> {
    while (this.#starting !== undefined) await this.#starting;
    if (this.#run !== undefined) return this.#repeat(this.#run, plan);
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
    const run = this.#run;
    if (run === undefined || !isDialectId(query.dialect)) return { refused: "not_found" };
    const { row, log } = run;
    if (row.swept) return { refused: "gone" };
    const position = positionOf(row, run.durable, query.from, Date.now());
    if (position.cursor > log.durableTo) return { refused: "cursor_ahead" };
    if (log.sealed && position.cursor === log.durableTo) return new Response(null, { status: 204 });
    const dialect = dialects[query.dialect][query.framing];
    this.#viewers++;
    if (this.#graceTimer !== null) clearTimeout(this.#graceTimer);
    const stream = viewerStream({
      runId: row.plan.runId,
      log,
      dialect,
      ...position,
      heartbeatMs: row.plan.limits.heartbeatMs,
      onClose: () => this.#viewerLeft(),
    });
    return new Response(stream, { headers: { "content-type": dialect.contentType } });
  }

  /** The outcome, waiting at most `waitMs` milliseconds for it. */
  async outcome(waitMs: number): Promise<OutcomeAnswer> {
    const run = this.#run;
    if (run === undefined) return { refused: "not_found" };
    const deadline = Date.now() + waitMs;
    while (!run.log.sealed && Date.now() < deadline) await within(run.log.changed(), deadline - Date.now());
    return this.#standing(run);
  }

  /** How the run stands, as far as readers may know. */
  state(): RunStateView | undefined {
    const run = this.#run;
    if (run === undefined) return undefined;
    return stateOf(run.row, run.durable, run.log.durableTo, this.#store.cost());
  }

  /** Cancels a live run; a finished one stays as it is. Answers with the standing outcome. */
  async cancel(reason: string | undefined): Promise<OutcomeAnswer> {
    const run = this.#run;
    if (run === undefined) return { refused: "not_found" };
    this.#apply(run, { type: "cancel", at: Date.now(), ...(reason !== undefined && { reason }) });
    await run.log.settled();
    return this.#standing(run);
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
      if (now >= row.startedAt + row.plan.totalMs) this.#apply(run, { type: "deadline", at: now });
      else await this.#store.setAlarm(Math.min(now + LIVE_ALARM_MS, row.startedAt + row.plan.totalMs));
      return;
    }
    const { retentionEventsMs, retentionOutcomeMs } = row.plan.limits;
    if (now >= row.sealedAt + retentionOutcomeMs) {
      await this.#wipe();
      return;
    }
    if (now >= row.sealedAt + retentionEventsMs && !row.swept) {
      this.#store.sweepEvents();
      row.swept = true;
      run.log.discard();
    }
    await this.#store.setAlarm(row.sealedAt + (row.swept ? retentionOutcomeMs : retentionEventsMs));
  }

  /** Before anything else is answered: a run found live was interrupted, and says so. */
  async #wake(): Promise<void> {
    const row = this.#store.load();
    if (row === undefined) return;
    const run = this.#open(row, foldLog(row, this.#store));
    if (row.sealedAt !== undefined) return;
    this.#apply(run, { type: "interrupted", at: Date.now() });
    await run.log.settled();
  }

  async #accept(plan: RunPlan, maxActiveRuns: number): Promise<StartAnswer> {
    const startedAt = Date.now();
    const tenant = this.env.TENANT.getByName(plan.tenant);
    if (!(await tenant.acquire(plan.runId, maxActiveRuns, startedAt + plan.totalMs + LIVE_ALARM_MS))) {
      return { started: false, refused: "too_many_runs" };
    }
    const { request, ...kept } = plan;
    const row: RunRow = {
      plan: kept,
      status: "running",
      startedAt,
      sealedAt: undefined,
      terminal: undefined,
      swept: false,
      recoveries: 0,
    };
    const first = transition(acceptedState(row), { type: "start", at: startedAt });
    this.#store.accept(plan, startedAt, first.events.map(entryOf));
    await this.#store.setAlarm(Math.min(startedAt + LIVE_ALARM_MS, startedAt + plan.totalMs));
    await this.ctx.storage.sync();
    this.#request = request;
    const run = this.#open(row, first.state);
    this.#totalTimer = setTimeout(
      () => this.#apply(run, { type: "deadline", at: Date.now() }),
      Math.max(0, startedAt + plan.totalMs - Date.now()),
    );
    this.#accepted.resolve();
    this.#carryOut(run, first.effects);
    return { started: true, repeated: false, handle: handleOf(run.row) };
  }

  #repeat(run: Run, plan: RunPlan): StartAnswer {
    const { requestHash, idempotencyKey } = run.row.plan;
    if (requestHash !== plan.requestHash) return { started: false, refused: "conflict", field: "body" };
    if (idempotencyKey !== undefined && plan.idempotencyKey !== undefined && idempotencyKey !== plan.idempotencyKey) {
      return { started: false, refused: "conflict", field: "Idempotency-Key" };
    }
    return { started: true, repeated: true, handle: handleOf(run.row) };
  }

  #open(row: RunRow, state: RunState): Run {
    const log = runLog(
      this.#store,
      {
        confirm: () => this.ctx.storage.sync(),
        onDurable: (events) => this.#onDurable(run, events),
        onFailure: () => this.ctx.abort("The log could not be written."),
      },
      { durableTo: state.nextSequence - 1, sealed: row.sealedAt !== undefined },
    );
    const run: Run = { row, log, state, durable: state };
    this.#run = run;
    return run;
  }

  async #onDurable(run: Run, events: readonly LogEvent[]): Promise<void> {
    run.durable = events.reduce(evolve, run.durable);
    const last = events.at(-1);
    if (last?.type !== "terminal") return;
    const { row } = run;
    row.status = last.payload.outcome;
    row.sealedAt = last.at;
    row.terminal = last.sequence;
    this.#request = undefined;
    await this.#store.setAlarm(last.at + row.plan.limits.retentionEventsMs);
    // Readers learn of the end only when the tenant's slot is free again, so that a next run finds it.
    const released = this.env.TENANT.getByName(row.plan.tenant).release(row.plan.runId);
    await within(
      released.catch(() => undefined),
      RELEASE_WAIT_MS,
    );
  }

  #apply(run: Run, input: Input): void {
    const step = transition(run.state, input);
    run.state = step.state;
    run.log.append(step.events);
    this.#carryOut(run, step.effects);
    if (run.state.phase !== "sealed") return;
    if (this.#totalTimer !== null) clearTimeout(this.#totalTimer);
    if (this.#graceTimer !== null) clearTimeout(this.#graceTimer);
  }

  #carryOut(run: Run, effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case "open":
          this.#attempt = this.#openAttempt(run, effect.attempt, effect.target);
          break;
        case "abort":
          this.#attempt?.abort();
          break;
        case "telemetry":
          this.#report(run, effect.telemetry);
          break;
      }
    }
  }

  #openAttempt(run: Run, attempt: number, planned: PlannedTarget): Attempt | undefined {
    const request = this.#request;
    if (request === undefined) return undefined;
    return startAttempt({
      adapter: adapters[planned.adapter],
      planned,
      request,
      key: this.#keyOf(planned),
      emit: (events) => this.#apply(run, { type: "provider", at: Date.now(), attempt, events }),
      now: () => Date.now(),
    });
  }

  #keyOf({ target: { keyVar } }: PlannedTarget): string | undefined | { missing: string } {
    if (keyVar === undefined) return undefined;
    const key: unknown = Reflect.get(this.env, keyVar);
    return typeof key === "string" && key !== "" ? key : { missing: keyVar };
  }

  #report(run: Run, { type, payload }: Telemetry): void {
    const { runId, policies } = run.row.plan;
    if (policies.telemetry) console.log(JSON.stringify({ type, runId, timestamp: Date.now(), payload }));
  }

  #viewerLeft(): void {
    this.#viewers--;
    const run = this.#run;
    if (run === undefined || this.#viewers > 0 || run.state.phase === "sealed") return;
    const { policies, limits } = run.row.plan;
    if (policies.onDisconnect === "continue") return;
    this.#graceTimer = setTimeout(() => {
      if (this.#viewers === 0) this.#apply(run, { type: "cancel", at: Date.now(), reason: "disconnected" });
    }, limits.disconnectGraceMs);
  }

  /** The terminal payload's JSON text once readers may see it; until then the handle. */
  #standing({ row, log }: Run): OutcomeAnswer {
    // From storage: the terminal outlives the log of a swept run.
    const [terminal] = row.terminal === undefined || !log.sealed ? [] : this.#store.read(row.terminal - 1);
    return terminal === undefined ? { running: handleOf(row) } : { outcome: terminal.payload };
  }

  async #wipe(): Promise<void> {
    this.#run?.log.discard();
    this.#run = undefined;
    this.#accepted = Promise.withResolvers<void>();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#store = runLogStore(this.ctx.storage);
  }
}
