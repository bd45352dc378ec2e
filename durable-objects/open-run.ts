// A run that an object holds in memory, live or finished: feeds inputs to the machine, carries its effects out, and serves its readers. It holds no rules of its own.
import type { AttachQuery, OutcomeAnswer, Refusal } from "../schemas/attach.ts";
import type { LogEntry, LogEvent, OtherEvent } from "../schemas/event.ts";
import type { PushAnswer, PushBatch } from "../schemas/push.ts";
import type { RunStateView, StartRequest } from "../schemas/run.ts";
import type { ThreadBase } from "../schemas/thread.ts";
import { transition, type Input } from "../src/run/machine.ts";
import { promptOf, titleOf, titleQuestion } from "../src/run/side-questions.ts";
import { speaker, type RunState } from "../src/run/state.ts";
import type { Effect } from "../src/run/step.ts";
import { chatDelivery } from "./chat-delivery.ts";
import { hasTurn } from "./chat-standing.ts";
import { isContinuable } from "./continuation.ts";
import { pass } from "./gate.ts";
import { ingestEnd } from "./ingest-end.ts";
import type { LogOptions } from "./log-rules.ts";
import { runReaders } from "./readers.ts";
import { runResearch } from "./research.ts";
import { runAttempts } from "./run-attempts.ts";
import { runLog } from "./run-log.ts";
import { runProducer } from "./run-producer.ts";
import type { Marks, ProducerPlace, RunLogStore, RunRow } from "./run-row.ts";
import { runTenant } from "./run-tenant.ts";
import { handleOf, stateOf } from "./run-view.ts";
import { askAside } from "./side-question.ts";
import { stepRequest } from "./step-request.ts";
import { telemetryLines } from "./telemetry-lines.ts";
import { threadDelivery } from "./thread-delivery.ts";
import { toolCalls } from "./tool-calls.ts";
import { runWakes } from "./wakes.ts";
import { within, type Timer } from "./within.ts";

export interface OpenRun {
  readonly row: RunRow;
  /** Gives the machine an input, logs what it decides and carries its effects out. */
  apply(input: Input): void;
  /** Carries out effects that were decided before the run was opened. */
  carryOut(effects: readonly Effect[]): void;
  /** Hands in events that were decided before the run was opened; resolves when readers see them. */
  log(events: readonly (LogEvent | OtherEvent)[]): Promise<void>;
  /** Resolves when everything decided so far is visible. */
  settled(): Promise<void>;
  /** Takes what the producer of a pushed run says. */
  push(batch: PushBatch): Promise<PushAnswer>;
  /** When the producer of a pushed run counts as lost. Unix epoch, milliseconds. */
  readonly lostAt: number | undefined;
  /** `base`: what the run's thread held before it. */
  attach(query: AttachQuery, base?: ThreadBase): Response | Refusal;
  /** The outcome once readers may see it; until then the handle. Waits at most `waitMs` milliseconds. */
  outcome(waitMs: number): Promise<OutcomeAnswer>;
  view(): RunStateView;
  /** Tells the chat and the thread of a finished run what they do not know of it. True when they know all, or there are none. */
  tellEnd(): Promise<boolean>;
  /** Tells the thread of a live run, in the background, what it has not acknowledged. */
  remind(): void;
  /** Resolves when nobody reads, or after so many milliseconds. */
  unread(waitMs: number): Promise<void>;
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
  /** What was stored last, just now. */
  newest?: readonly LogEntry[];
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

export function openRun({ ctx, env, store, row, marks, newest = [], ...options }: OpenRunOptions): OpenRun {
  const { runId, limits, policies, totalMs, agent } = row.plan;
  const tenant = runTenant(ctx, env, row);
  const chat = chatDelivery(ctx, env, store, row);
  const thread = threadDelivery({
    ctx,
    env,
    store,
    row,
    durableTo: marks.durableTo,
    onUnknown: () => apply({ type: "cancel", at: Date.now(), reason: "deleted" }),
  });
  let { state, request } = options;
  let totalTimer: Timer | undefined;
  /** Ends what goes on beside the attempts. */
  const over = new AbortController();

  const log = runLog(
    store,
    {
      confirm: () => confirm(ctx, "flush"),
      milestone: (through) => thread.reach(through),
      beforeEnd,
      keepsRequest: ({ payload }) => isContinuable(row, payload),
      onFailure: () => ctx.abort("The log could not be written."),
    },
    { ...marks, newest },
    logOptions(row),
  );
  const attempts = runAttempts({
    env,
    request: () => (request === undefined ? undefined : stepRequest(request, state, agent)),
    emit: (attempt, events) => apply({ type: "provider", at: Date.now(), attempt, events }),
  });
  // Beside the first model call, which costs no time that way; no tool is called before it is known.
  const wanted = state.phase === "sealed" ? Promise.resolve() : Promise.all([cancelUnwanted(), thread.begin()]);
  const calls = toolCalls({ ctx, env, row, request, over: over.signal, settled: () => log.settled(), wanted, apply });
  const research = runResearch({
    ctx,
    env,
    row,
    request: () => request,
    over: over.signal,
    async complete(plan, asked) {
      row.plan = plan;
      request = asked;
      store.complete(plan, asked);
      await confirm(ctx, "research");
    },
    apply: (input) => apply(input),
  });
  const report = telemetryLines(runId);
  const wakes = runWakes({ ctx, tenant, apply, changes: (input) => transition(state, input).events.length > 0 });
  const readers = runReaders({
    log,
    store,
    row,
    onAbandoned: () => apply({ type: "cancel", at: Date.now(), reason: "disconnected" }),
  });

  const producer = runProducer({ row, log, state: () => state, apply });
  const ending = ingestEnd({ ctx, env, row, over: over.signal, apply: act });

  /**
   * Readers learn of the end only when the tenant's slot is free again, so that a next run finds it, the run's chat has
   * the turn, and its thread the records. Retention's alarm comes after that: while the live run's alarm stands, one of them may still be missing.
   */
  async function beforeEnd({ at, payload, sequence }: Extract<LogEvent, { type: "terminal" }>): Promise<void> {
    await pass("ending", ctx);
    // The slot first: whoever hears of the end from the chat or the thread may start the next run at once.
    const released = await tenant.release();
    const told = await Promise.all([chat.tell(state), thread.tell(sequence)]);
    if (released && told.every(Boolean)) await store.setAlarm(at + limits.retentionEventsMs);
    await pass("released", ctx);
    row.status = payload.outcome;
    row.sealedAt = at;
    row.terminal = sequence;
  }

  function apply(input: Input, placed?: (state: RunState) => ProducerPlace): void {
    if (!ending.defers(input)) act(input, placed);
  }

  function act(input: Input, placed?: (state: RunState) => ProducerPlace): void {
    const step = transition(state, input);
    state = step.state;
    log.append(step.events, placed?.(state));
    carryOut(step.effects);
    if (state.phase === "sealed") stop();
  }

  function carryOut(effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case "open":
          attempts.open(effect.attempt, effect);
          break;
        case "abort":
          attempts.abort(effect.attempt);
          break;
        case "wake":
          wakes.after(effect);
          break;
        case "call":
          calls.make(effect);
          break;
        case "title":
          ctx.waitUntil(findTitle());
          break;
        case "research":
          research.begin();
          break;
        case "report":
          tenant.tell(effect.report);
          break;
        case "telemetry":
          if (policies.telemetry) report(effect.telemetry);
          break;
      }
    }
  }

  async function cancelUnwanted(): Promise<void> {
    if (!(await hasTurn(env, row.plan))) apply({ type: "cancel", at: Date.now(), reason: "deleted" });
  }

  /** A title that does not come is none: the run does not wait for it for ever. */
  async function findTitle(): Promise<void> {
    const prompt = request === undefined ? "" : promptOf(request);
    const answer = prompt === "" ? "" : await aside(titleQuestion(prompt), over.signal);
    await pass("titled", ctx);
    const title = titleOf(answer);
    apply({ type: "title", at: Date.now(), ...(title !== "" && { title }) });
  }

  /** Asks the target that speaks for the run; an empty text is no answer. */
  async function aside(prompt: string, signal?: AbortSignal): Promise<string> {
    const { chain } = row.plan;
    const target = chain.find(({ id }) => id === speaker(state.attempts)?.targetId) ?? chain[0];
    return (target && (await askAside(env, target, prompt, signal))) ?? "";
  }

  function stop(): void {
    if (totalTimer !== undefined) clearTimeout(totalTimer);
    wakes.stop();
    readers.stop();
    producer.stop();
    over.abort();
  }

  if (state.phase === "sealed") stop();
  else {
    const left = Math.max(0, row.startedAt + totalMs - Date.now());
    totalTimer = setTimeout(() => apply({ type: "deadline", at: Date.now() }), left);
  }

  return {
    row,
    apply,
    carryOut,
    log(events) {
      log.append(events);
      return log.settled();
    },
    async settled() {
      await ending.settled();
      await log.settled();
    },
    push: (batch) => producer.take(batch),
    get lostAt() {
      return producer.lostAt;
    },
    attach: (query, base) => readers.attach(query, base),
    async outcome(waitMs) {
      // By the time that passes, also when the time is set back.
      for (let left = waitMs; !log.sealed && left > 0;) {
        const at = Date.now();
        if (!(await within(log.changed(), left))) break;
        left -= Math.max(0, Date.now() - at);
      }
      // From storage: the terminal outlives the log of a swept run.
      const page = row.terminal === undefined || !log.sealed ? undefined : store.read(row.terminal - 1);
      const terminal = page !== undefined && "entries" in page ? page.entries[0] : undefined;
      if (terminal === undefined) return { running: handleOf(row) };
      return new Response(terminal.payload, { headers: { "content-type": "application/json" } });
    },
    async tellEnd() {
      const { terminal } = row;
      const told = await Promise.all([chat.tell(), terminal === undefined || thread.tell(terminal)]);
      return told.every(Boolean);
    },
    remind: () => thread.remind(),
    view: () => stateOf(row, state, log.visibleTo, store.cost()),
    async unread(waitMs) {
      await within(readers.empty(), waitMs);
    },
    discard() {
      stop();
      log.discard();
    },
  };
}
