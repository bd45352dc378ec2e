// Which attempt of a step comes next: the chain of targets, retries, hedges, and what becomes of text that was shown. All rules about going on live here.
import type { AttemptRecord } from "../../schemas/attempt.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { PlannedTarget } from "../../schemas/plan.ts";
import { fail, failAttempt, supersede } from "./endings.ts";
import { failurePolicies } from "./fallback.ts";
import { exhaustedOutcome, failedOutcome } from "./outcome.ts";
import { attachable, openSeam } from "./seam.ts";
import { liveAttempt, liveAttempts, onMidStreamFailure, stepAttempts, stepChain, type RunState } from "./state.ts";
import { emit, remember, retract, telemetry, type Step } from "./step.ts";
import { begunBefore } from "./turns.ts";
import type { Opening } from "./volatile.ts";

/** Milliseconds before a target is tried again, without a word of its own; doubled each time, and half of it is chance. */
const RETRY_MS = 500;
const RETRY_MAX_MS = 8000;

export function open(step: Step, at: number, opening: Opening): void {
  const { target, prefill } = opening;
  const attempt = step.state.attempts.length;
  const isFirst = stepAttempts(step.state).length === 0;
  const continued = prefill === undefined ? undefined : shownOf(step.state);
  emit(step, at, {
    type: "attempt",
    payload: {
      attempt,
      step: step.state.step,
      targetId: target.id,
      phase: "started",
      ...(continued !== undefined && { continues: true }),
    },
  });
  const seam =
    continued === undefined ? undefined : openSeam(continued, step.state.charter.asks.json, begunBefore(step.state));
  remember(step, { waiting: undefined, seam, continued, renamed: [] });
  step.effects.push({ type: "open", attempt, ...opening });
  telemetry(step, {
    type: "stream_attempt_started",
    payload: { providerId: target.id, fallbackOccurred: !isFirst },
  });
}

/** A step's attempt with nothing before it: where the route says so, another may join it. */
export function openFirst(step: Step, at: number, target: PlannedTarget): void {
  const { chain, hedgeAfterMs: ms } = step.state.charter;
  open(step, at, { target });
  if (ms !== undefined && chain.length > 1) wake(step, "hedge", ms);
}

/** A wait belongs to its step: what comes of it later is nothing to the next one. */
function wake(step: Step, input: "retry" | "hedge", ms: number, spreadMs = 0): void {
  const { step: number, charter } = step.state;
  step.effects.push({ type: "wake", input, ms, spreadMs, ...(charter.agent !== undefined && { step: number }) });
}

/** The only target asked so far has shown nothing for too long: the next one is asked as well. */
export function hedge(step: Step, at: number): void {
  const { charter } = step.state;
  const attempts = stepAttempts(step.state);
  const live = liveAttempts(step.state);
  const target = untried(step.state);
  const alone = live.length === 1 && !attempts.some(({ status }) => status === "failed");
  const hasShown = attempts.some(({ firstOutputMs }) => firstOutputMs !== undefined);
  if (hasShown || !alone || target === undefined || charter.hedgeAfterMs === undefined) return;
  open(step, at, { target });
}

/** The wait before an attempt is over. */
export function retry(step: Step, at: number): void {
  const { waiting } = step.state.volatile;
  if (waiting !== undefined) open(step, at, waiting);
}

/** An attempt has shown something: the others are given up. */
export function giveUpOthers(step: Step, at: number, attempt: number): void {
  for (const other of liveAttempts(step.state)) if (other.attempt !== attempt) supersede(step, at, other.attempt);
}

/** An attempt is over without an answer: another one, or the end of the run. */
export function failed(step: Step, at: number, attempt: number, failure: Failure): void {
  const live = liveAttempt(step.state, attempt);
  if (live === undefined) return;
  failAttempt(step, at, attempt, failure);
  if (live.status === "committed") failedAfterCommit(step, at, failure);
  else failedBeforeCommit(step, at, live, failure);
}

function failedBeforeCommit(step: Step, at: number, live: AttemptRecord, failure: Failure): void {
  const { seam } = step.state.volatile;
  const { fallsBack } = failurePolicies[failure.failureClass];
  if (liveAttempts(step.state).length > 0) {
    // While a hedge runs, the run has not failed; what would have ended it ends it when the hedge fails, too.
    if (!fallsBack) remember(step, { refusal: failure });
    return;
  }
  const target = planned(step.state, live);
  if (seam !== undefined && failure.failureClass === "invalid_request" && target !== undefined) {
    // It was the continuation that it refused: it may still answer from the beginning.
    retract(step, at);
    return open(step, at, { target });
  }
  const refusal = step.state.volatile.refusal ?? (fallsBack ? undefined : failure);
  const next = refusal === undefined ? nextOpening(step.state, at) : undefined;
  const reason = step.state.cause ?? refusal;
  if (next !== undefined) goOn(step, at, next);
  else fail(step, at, reason === undefined ? exhaustedOutcome(step.state, at) : failedOutcome(step.state, at, reason));
}

function failedAfterCommit(step: Step, at: number, failure: Failure): void {
  const { charter, calls } = step.state;
  const mayGoOn =
    onMidStreamFailure(charter) !== "fail" && calls.length === 0 && failurePolicies[failure.failureClass].fallsBack;
  const next = mayGoOn ? nextOpening(step.state, at) : undefined;
  if (next !== undefined) goOn(step, at, next);
  else fail(step, at, failedOutcome(step.state, at, step.state.cause ?? failure));
}

/** A restart has ended the wait before an attempt: what is left of it begins again. */
export function decideAgain(step: Step, at: number): void {
  const { lastFailure } = step.state;
  const last = stepAttempts(step.state).at(-1);
  if (lastFailure === undefined || last === undefined) return;
  if (last.firstOutputMs === undefined) failedBeforeCommit(step, at, last, lastFailure);
  else failedAfterCommit(step, at, lastFailure);
}

interface Next {
  target: PlannedTarget;
  /** Milliseconds, for a target that has failed; and how much of chance comes on top. */
  waitMs: number;
  spreadMs: number;
}

/** The next target of the chain; when there is none, one that failed and may be tried again, the one that is due first. */
function nextOpening(state: RunState, at: number): Next | undefined {
  const target = untried(state);
  if (target !== undefined) return { target, waitMs: 0, spreadMs: 0 };
  const again = stepChain(state).flatMap((tried) => retryOf(state, tried, at));
  return again.toSorted((left, right) => left.waitMs + left.spreadMs - right.waitMs - right.spreadMs)[0];
}

function retryOf(state: RunState, target: PlannedTarget, at: number): Next[] {
  const { charter, failedAt, waitedMs } = state;
  const tries = stepAttempts(state).filter(({ targetId, status }) => targetId === target.id && status === "failed");
  const last = tries.at(-1);
  if (last?.failureClass === undefined || !failurePolicies[last.failureClass].retriesSame) return [];
  if (tries.length > target.retries) return [];
  const own = Math.min(RETRY_MS * 2 ** (tries.length - 1), RETRY_MAX_MS);
  const passed = Math.max(0, at - (failedAt[last.attempt] ?? at));
  const waitMs = Math.max(0, (last.retryAfterMs ?? own / 2) - passed);
  const spreadMs = last.retryAfterMs === undefined ? Math.max(0, Math.min(own / 2, own - passed)) : 0;
  const longest = waitMs + spreadMs;
  const fits = waitedMs + longest <= charter.retryBudgetMs && at + longest < charter.startedAt + charter.totalMs;
  return fits ? [{ target, waitMs, spreadMs }] : [];
}

/** What was shown stays where the next attempt can go on from it, and is taken back otherwise. */
function goOn(step: Step, at: number, { target, waitMs, spreadMs }: Next): void {
  const continues = isShown(step.state) && onMidStreamFailure(step.state.charter) === "continue";
  const opening = continues ? continuation(step, at, target) : { target };
  if (opening.prefill === undefined && isShown(step.state)) retract(step, at);
  if (waitMs + spreadMs === 0) return open(step, at, opening);
  remember(step, { waiting: opening });
  wake(step, "retry", waitMs, spreadMs);
}

/**
 * How a target goes on from the text of this step, if it can. A run that offers tools never does: a model that is made to
 * go on with its prose does not call. Nor does one that has shown reasoning alone, or part of a tool call.
 */
export function continuation(step: Step, at: number, target: PlannedTarget): Opening {
  const { charter, openInputs } = step.state;
  const offersTools = charter.asks.tools || (charter.agent?.tools ?? []).length > 0;
  if (!target.continues || offersTools || openInputs.length > 0) return { target };
  const shown = shownOf(step.state);
  const begun = begunBefore(step.state);
  const base = attachable(begun + shown, charter.asks.json).slice(begun.length);
  const prefill = base.trimEnd();
  if (prefill === "") return { target };
  if (base !== shown) {
    emit(step, at, { type: "content_snapshot", payload: { text: step.state.stepText + base } });
  }
  return { target, prefill };
}

/** The text of the present step. */
const shownOf = ({ text, stepText }: RunState): string => text.slice(stepText.length);

/** This step has shown something that still stands. */
export const isShown = ({ text, stepText, reasoning, stepReasoning, openInputs }: RunState): boolean =>
  text !== stepText || reasoning !== stepReasoning || openInputs.length > 0;

/** The first target of the chain that was never asked, or else one that was only given up for a faster one. */
function untried(state: RunState): PlannedTarget | undefined {
  const chain = stepChain(state);
  const attempts = stepAttempts(state);
  const asked = new Set(attempts.map(({ targetId }) => targetId));
  const used = new Set(attempts.flatMap(({ targetId, status }) => (status === "superseded" ? [] : [targetId])));
  return chain.find(({ id }) => !asked.has(id)) ?? chain.find(({ id }) => !used.has(id));
}

const planned = ({ charter }: RunState, { targetId }: AttemptRecord): PlannedTarget | undefined =>
  charter.chain.find(({ id }) => id === targetId);
