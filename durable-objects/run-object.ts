// The shell of one run: turns the machine's effects into fetches, writes and timers, and their results back into inputs. It holds no rules of its own.
import { DurableObject } from "cloudflare:workers";
import type { AttachQuery, OutcomeAnswer, Refusal, StartAnswer } from "../schemas/attach.ts";
import type { LogEvent } from "../schemas/event.ts";
import type { PlannedTarget, RunPlan } from "../schemas/plan.ts";
import type { RunStateView } from "../schemas/run.ts";
import { dialects, isDialectId } from "../src/dialects/index.ts";
import { adapters } from "../src/providers/index.ts";
import { transition, type Effect, type Input } from "../src/run/machine.ts";
import { damagedLog } from "../src/run/outcome.ts";
import type { RunState } from "../src/run/state.ts";
import type { Telemetry } from "../src/run/telemetry.ts";
import { startAttempt, type Attempt } from "./attempt.ts";
import { frames, type Frames } from "./frames.ts";
import { pass } from "./gate.ts";
import { acceptedState, foldLog } from "./run-fold.ts";
import { reservation, runLog, type LogOptions, type RunLog } from "./run-log.ts";
import { runLogStore, type Marks, type RunLogStore, type RunRow } from "./run-log-store.ts";
import { handleOf, positionOf, stateOf } from "./run-view.ts";
import { entryOf } from "./segment-codec.ts";
import { emptyTranscript, readOn, type Transcript } from "./transcript.ts";
import { viewerStream } from "./viewer.ts";
import { within } from "./within.ts";

/** While a run is live an alarm stands at most this far ahead, so that a run whose object died is found. */
const LIVE_ALARM_MS = 30_000;
/** How long the tenant's slot may hold up the end of a run. */
const RELEASE_WAIT_MS = 2000;
/** How long a recovered run waits before it goes on: the call that woke it may be a cancel, and that comes first. */
const RESUME_WAIT_MS = 20;

/** All that exists once a run was accepted. */
interface Run {
  row: RunRow;
  log: RunLog;
  /** Everything decided so far; of a run that was found finished, only its end. */
  state: RunState;
  frames: Frames;
  transcript: Transcript;
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
    ctx.blockConcurrencyWhile(() => this.#wake());
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
    const end = row.terminal === undefined ? log.visibleTo : row.terminal - 1;
    const position = positionOf(query.from, end, () => this.#transcriptTo(run, end));
    if (position.cursor > log.visibleTo) return { refused: "cursor_ahead" };
    if (log.sealed && position.cursor === log.visibleTo) return new Response(null, { status: 204 });
    const dialect = dialects[query.dialect][query.framing];
    this.#viewers++;
    if (this.#graceTimer !== null) clearTimeout(this.#graceTimer);
    const stream = viewerStream({
      log,
      frames: run.frames,
      dialect,
      ...position,
      heartbeatMs: row.plan.limits.heartbeatMs,
      damage: damagedLog(row.plan.runId),
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
    return stateOf(run.row, run.state, run.log.visibleTo, this.#store.cost());
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

  /** Before anything else is answered: a run found live is recovered, a finished one is only opened. */
  async #wake(): Promise<void> {
    const row = this.#store.load();
    if (row === undefined) return;
    const marks = this.#store.marks();
    if (row.terminal === undefined) return this.#recover(row, marks);
    this.#open(row, foldLog(row, this.#store, row.terminal - 1).state, marks);
  }

  async #accept(plan: RunPlan, maxActiveRuns: number): Promise<StartAnswer> {
    const startedAt = Date.now();
    const tenant = this.env.TENANT.getByName(plan.tenant);
    if (!(await tenant.acquire(plan.runId, maxActiveRuns, startedAt + plan.totalMs + LIVE_ALARM_MS))) {
      return { started: false, refused: "too_many_runs" };
    }
    await pass("acquired", this.ctx);
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
    const durableTo = first.state.nextSequence - 1;
    const reservedTo = durableTo + reservation(0, optionsOf(row));
    this.#store.accept(plan, startedAt, first.events.map(entryOf), reservedTo);
    await this.#store.setAlarm(Math.min(startedAt + LIVE_ALARM_MS, startedAt + plan.totalMs));
    await this.#confirm("accept");
    this.#request = request;
    const run = this.#open(row, first.state, { durableTo, reservedTo });
    this.#armTotal(run);
    this.#accepted.resolve();
    this.#carryOut(run, first.effects);
    return { started: true, repeated: false, handle: handleOf(row) };
  }

  /**
   * One transaction voids every number that a reader may have seen and storage does not have, restates the text, and
   * counts the recovery. A log that cannot be read whole ends the run instead.
   */
  async #recover(row: RunRow, marks: Marks): Promise<void> {
    const { state, damaged } = foldLog(row, this.#store);
    const at = Date.now();
    const known = { ...state, nextSequence: marks.durableTo + 1 };
    const step = transition(known, { type: "recover", at, reservedTo: marks.reservedTo, damaged });
    if (damaged) {
      const run = this.#open(row, step.state, marks);
      run.log.append(step.events);
      return run.log.settled();
    }
    row.recoveries++;
    const durableTo = step.state.nextSequence - 1;
    const reservedTo = durableTo + reservation(0, optionsOf(row));
    this.#store.recover(step.events.map(entryOf), reservedTo, row.recoveries);
    await this.#store.setAlarm(Math.min(at + LIVE_ALARM_MS, row.startedAt + row.plan.totalMs));
    await this.#confirm("recover");
    this.#request = this.#store.request();
    const run = this.#open(row, step.state, { durableTo, reservedTo });
    this.#armTotal(run);
    setTimeout(() => {
      this.#apply(run, { type: "resume", at: Date.now(), recoveries: row.recoveries });
    }, RESUME_WAIT_MS);
  }

  #repeat(run: Run, plan: RunPlan): StartAnswer {
    const { requestHash, idempotencyKey } = run.row.plan;
    if (requestHash !== plan.requestHash) return { started: false, refused: "conflict", field: "body" };
    if (idempotencyKey !== undefined && plan.idempotencyKey !== undefined && idempotencyKey !== plan.idempotencyKey) {
      return { started: false, refused: "conflict", field: "Idempotency-Key" };
    }
    return { started: true, repeated: true, handle: handleOf(run.row) };
  }

  #open(row: RunRow, state: RunState, marks: Marks): Run {
    const log = runLog(
      this.#store,
      {
        confirm: () => this.#confirm("flush"),
        beforeEnd: (terminal) => this.#beforeEnd(row, terminal),
        onFailure: () => this.ctx.abort("The log could not be written."),
      },
      marks,
      optionsOf(row),
    );
    const run: Run = { row, log, state, frames: frames(row.plan.runId), transcript: emptyTranscript };
    this.#run = run;
    return run;
  }

  /** Resolves when all writes so far are on disk. */
  async #confirm(what: string): Promise<void> {
    await pass(`${what} written`, this.ctx);
    await this.ctx.storage.sync();
    await pass(`${what} confirmed`, this.ctx);
  }

  /** Readers learn of the end only when the tenant's slot is free again, so that a next run finds it. */
  async #beforeEnd(row: RunRow, { at, payload, sequence }: Extract<LogEvent, { type: "terminal" }>): Promise<void> {
    this.#request = undefined;
    await pass("ending", this.ctx);
    const released = this.env.TENANT.getByName(row.plan.tenant).release(row.plan.runId);
    await this.#store.setAlarm(at + row.plan.limits.retentionEventsMs);
    await within(
      released.catch(() => undefined),
      RELEASE_WAIT_MS,
    );
    await pass("released", this.ctx);
    row.status = payload.outcome;
    row.sealedAt = at;
    row.terminal = sequence;
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

  #armTotal(run: Run): void {
    const { startedAt, plan } = run.row;
    const left = Math.max(0, startedAt + plan.totalMs - Date.now());
    this.#totalTimer = setTimeout(() => this.#apply(run, { type: "deadline", at: Date.now() }), left);
  }

  /** Reads on from where the last such reader stopped: a late joiner costs what is new. */
  #transcriptTo(run: Run, end: number): Transcript {
    while (run.transcript.to < end) {
      const page = run.log.page(run.transcript.to);
      if ("damagedTo" in page) break;
      run.transcript = readOn(run.transcript, page.entries.filter(({ sequence }) => sequence <= end));
    }
    return run.transcript;
  }

  /** The terminal payload's JSON text once readers may see it; until then the handle. */
  #standing({ row, log }: Run): OutcomeAnswer {
    // From storage: the terminal outlives the log of a swept run.
    const page = row.terminal === undefined || !log.sealed ? undefined : this.#store.read(row.terminal - 1);
    const terminal = page !== undefined && "entries" in page ? page.entries[0] : undefined;
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

function optionsOf({ plan, terminal }: RunRow): LogOptions {
  const { flushMs, reserveEvents } = plan.limits;
  return { strict: plan.policies.durability === "strict", flushMs, reserveEvents, sealed: terminal !== undefined };
}
