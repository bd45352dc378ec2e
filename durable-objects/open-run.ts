// A run that an object holds in memory, live or finished: feeds inputs to the machine, carries its effects out, and serves its readers. It holds no rules of its own.
import type { AttachQuery, OutcomeAnswer, Refusal } from "../schemas/attach.ts";
import type { LogEvent } from "../schemas/event.ts";
import type { PlannedTarget } from "../schemas/plan.ts";
import type { RunStateView, StartRequest } from "../schemas/run.ts";
import { dialectIn, isDialectId } from "../src/dialects/index.ts";
import { withPrefill } from "../src/providers/conversation.ts";
import { adapters } from "../src/providers/index.ts";
import { transition, type Input } from "../src/run/machine.ts";
import { damagedLog, replacedText } from "../src/run/outcome.ts";
import type { RunState } from "../src/run/state.ts";
import type { Effect } from "../src/run/step.ts";
import type { Telemetry } from "../src/run/telemetry.ts";
import type { Opening } from "../src/run/volatile.ts";
import { startAttempt, type Attempt } from "./attempt.ts";
import { frames } from "./frames.ts";
import { pass } from "./gate.ts";
import { runLog, type LogOptions } from "./run-log.ts";
import type { Marks, RunLogStore, RunRow } from "./run-row.ts";
import { runTenant } from "./run-tenant.ts";
import { handleOf, positionOf, stateOf } from "./run-view.ts";
import { emptyTranscript, readOn, type Transcript } from "./transcript.ts";
import { viewerStream } from "./viewer.ts";
import { within, type Timer } from "./within.ts";

export interface OpenRun {
  readonly row: RunRow;
  /** Gives the machine an input, logs what it decides and carries its effects out. */
  apply(input: Input): void;
  /** Carries out effects that were decided before the run was opened. */
  carryOut(effects: readonly Effect[]): void;
  /** Hands in events that were decided before the run was opened; resolves when readers see them. */
  log(events: readonly LogEvent[]): Promise<void>;
  /** Resolves when everything decided so far is visible. */
  settled(): Promise<void>;
  attach(query: AttachQuery): Response | Refusal;
  /** The outcome once readers may see it; until then the handle. Waits at most `waitMs` milliseconds. */
  outcome(waitMs: number): Promise<OutcomeAnswer>;
  view(): RunStateView;
  /** The events are swept or forgotten: every reader's stream ends. */
  discard(): void;
}

export interface OpenRunOptions {
  ctx: DurableObjectState;
  env: Env;
  store: RunLogStore;
  row: RunRow;
  state: RunState;
  marks: Marks;
  /** Only a live run has it. */
  request: StartRequest | undefined;
}

export function logOptions({ plan, terminal }: RunRow): LogOptions {
  const { flushMs, reserveEvents } = plan.limits;
  return { strict: plan.policies.durability === "strict", flushMs, reserveEvents, sealed: terminal !== undefined };
}

/** Resolves when all writes so far are on disk. `what` names the step for tests that crash there. */
export async function confirm(ctx: DurableObjectState, what: string): Promise<void> {
  await pass(`${what} written`, ctx);
  await ctx.storage.sync();
  await pass(`${what} confirmed`, ctx);
}

export function openRun({ ctx, env, store, row, marks, request, ...options }: OpenRunOptions): OpenRun {
  const { runId, limits, policies, totalMs } = row.plan;
  const tenant = runTenant(ctx, env, row);
  let { state } = options;
  /** By number, those whose provider may still speak. */
  const attempts = new Map<number, Attempt>();
  const wakes = new Set<Timer>();
  let transcript: Transcript = emptyTranscript;
  let viewers = 0;
  let totalTimer: Timer | undefined;
  let graceTimer: Timer | undefined;
  const chatId = row.plan.chat?.chatId;
  const shared = frames({ runId, startedAt: row.startedAt, ...(chatId !== undefined && { chatId }) });

  const log = runLog(
    store,
    {
      confirm: () => confirm(ctx, "flush"),
      beforeEnd,
      onFailure: () => ctx.abort("The log could not be written."),
    },
    marks,
    logOptions(row),
  );

  /**
   * Readers learn of the end only when the tenant's slot is free again, so that a next run finds it. Retention's alarm
   * comes after that: while the live run's alarm stands, the slot may still be taken.
   */
  async function beforeEnd({ at, payload, sequence }: Extract<LogEvent, { type: "terminal" }>): Promise<void> {
    await pass("ending", ctx);
    if (await tenant.release()) await store.setAlarm(at + limits.retentionEventsMs);
    await pass("released", ctx);
    row.status = payload.outcome;
    row.sealedAt = at;
    row.terminal = sequence;
  }

  function apply(input: Input): void {
    const step = transition(state, input);
    state = step.state;
    log.append(step.events);
    carryOut(step.effects);
    if (state.phase === "sealed") stopTimers();
  }

  function carryOut(effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case "open":
          openAttempt(effect.attempt, effect);
          break;
        case "abort":
          attempts.get(effect.attempt)?.abort();
          break;
        case "wake":
          wakeAfter(effect);
          break;
        case "call":
        case "title":
          // Only a plan with an agent asks for these, and none is made yet.
          break;
        case "report":
          tenant.tell(effect.report);
          break;
        case "telemetry":
          report(effect.telemetry);
          break;
      }
    }
  }

  function openAttempt(number: number, { target: planned, prefill }: Opening): void {
    if (request === undefined) return;
    const attempt = startAttempt({
      adapter: adapters[planned.adapter],
      planned,
      request: prefill === undefined ? request : withPrefill(request, prefill),
      key: keyOf(planned),
      bindings: { ...env },
      emit(events) {
        if (events.at(-1)?.type === "verdict") attempts.delete(number);
        apply({ type: "provider", at: Date.now(), attempt: number, events });
      },
      now: () => Date.now(),
    });
    attempts.set(number, attempt);
  }

  function wakeAfter({ input: type, ms, spreadMs, step }: Extract<Effect, { type: "wake" }>): void {
    const of = { ...(step !== undefined && { step }) };
    const timer = setTimeout(
      () => {
        wakes.delete(timer);
        if (type === "hedge") ctx.waitUntil(askFurther(of));
        else apply({ type, at: Date.now(), ...of });
      },
      ms + Math.random() * spreadMs,
    );
    wakes.add(timer);
  }

  /** A further request is paid for before it is made: other runs may want one at the same time. Without the tenant there is none. */
  async function askFurther(of: { step?: number }): Promise<void> {
    const wanted = (): boolean => transition(state, { type: "hedge", at: Date.now(), ...of }).events.length > 0;
    try {
      if (!wanted() || !(await tenant.spendFurther())) return;
      await pass("further", ctx);
      if (wanted()) apply({ type: "hedge", at: Date.now(), ...of });
      else await tenant.giveBackFurther();
    } catch {
      // A budget that is told nothing is too small, not too large, and fills up again.
    }
  }

  function keyOf({ target: { keyVar } }: PlannedTarget): string | undefined | { missing: string } {
    if (keyVar === undefined) return undefined;
    const key: unknown = Reflect.get(env, keyVar);
    // A secret read from a file often ends in a line end.
    const trimmed = typeof key === "string" ? key.trim() : "";
    return trimmed === "" ? { missing: keyVar } : trimmed;
  }

  function report({ type, payload }: Telemetry): void {
    if (policies.telemetry) console.log(JSON.stringify({ type, runId, timestamp: Date.now(), payload }));
  }

  function stopTimers(): void {
    if (totalTimer !== undefined) clearTimeout(totalTimer);
    if (graceTimer !== undefined) clearTimeout(graceTimer);
    for (const timer of wakes) clearTimeout(timer);
  }

  function viewerLeft(): void {
    viewers--;
    if (viewers === 0) armGrace();
  }

  function armGrace(): void {
    if (state.phase === "sealed" || policies.onDisconnect === "continue") return;
    graceTimer = setTimeout(() => {
      if (viewers === 0) apply({ type: "cancel", at: Date.now(), reason: "disconnected" });
    }, limits.disconnectGraceMs);
  }

  /** Reads on from where the last such reader stopped: a late joiner costs what is new. */
  function transcriptTo(end: number): Transcript {
    while (transcript.to < end) {
      const page = log.page(transcript.to);
      if ("damagedTo" in page) break;
      transcript = readOn(
        transcript,
        page.entries.filter(({ sequence }) => sequence <= end),
      );
    }
    return transcript;
  }

  if (row.terminal === undefined) {
    const left = Math.max(0, row.startedAt + totalMs - Date.now());
    totalTimer = setTimeout(() => apply({ type: "deadline", at: Date.now() }), left);
    // Readers that a restart has cut off have the same time to come back as any that left.
    if (row.attached) armGrace();
  }

  return {
    row,
    apply,
    carryOut,
    log(events) {
      log.append(events);
      return log.settled();
    },
    settled: () => log.settled(),
    attach(query) {
      if (row.swept) return { refused: "gone" };
      const dialect = isDialectId(query.dialect) ? dialectIn(query.dialect, query.framing) : undefined;
      if (dialect === undefined) return { refused: "not_found" };
      const end = row.terminal === undefined ? log.visibleTo : row.terminal - 1;
      const position = positionOf(query.from, end, () => transcriptTo(end));
      if (position.cursor > log.visibleTo) return { refused: "cursor_ahead" };
      const headers = { "content-type": dialect.contentType };
      if (log.sealed && position.cursor === log.visibleTo) {
        return dialect.ending === undefined
          ? new Response(null, { status: 204 })
          : new Response(dialect.preamble + dialect.ending, { headers });
      }
      viewers++;
      if (policies.onDisconnect === "cancel" && !row.attached) {
        store.markAttached();
        row.attached = true;
      }
      if (graceTimer !== undefined) clearTimeout(graceTimer);
      const stream = viewerStream({
        log,
        frames: shared,
        dialect,
        ...position,
        heartbeatMs: limits.heartbeatMs,
        damage: damagedLog(runId),
        replaced: replacedText(runId),
        onClose: viewerLeft,
      });
      return new Response(stream, { headers });
    },
    async outcome(waitMs) {
      const deadline = Date.now() + waitMs;
      while (!log.sealed && Date.now() < deadline) await within(log.changed(), deadline - Date.now());
      // From storage: the terminal outlives the log of a swept run.
      const page = row.terminal === undefined || !log.sealed ? undefined : store.read(row.terminal - 1);
      const terminal = page !== undefined && "entries" in page ? page.entries[0] : undefined;
      if (terminal === undefined) return { running: handleOf(row) };
      return new Response(terminal.payload, { headers: { "content-type": "application/json" } });
    },
    view: () => stateOf(row, state, log.visibleTo, store.cost()),
    discard() {
      stopTimers();
      log.discard();
    },
  };
}
