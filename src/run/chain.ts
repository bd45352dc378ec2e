// Which attempt comes next: the chain of targets, retries, hedges, and what becomes of text that was shown. All rules about going on live here.
import type { AttemptRecord } from "../../schemas/attempt.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { PlannedTarget } from "../../schemas/plan.ts";
import { fail, failAttempt, supersede } from "./endings.ts";
import { failurePolicies } from "./fallback.ts";
import { exhaustedOutcome, failedOutcome } from "./outcome.ts";
import { attachable, openSeam } from "./seam.ts";
import { liveAttempt, liveAttempts, type RunState } from "./state.ts";
import { emit, remember, retract, telemetry, type Step } from "./step.ts";
import type { Opening } from "./volatile.ts";

/** Milliseconds before a target is tried again, without a word of its own; doubled each time, and half of it is chance. */
const RETRY_MS = 500;
const RETRY_MAX_MS = 8000;

export function open(step: Step, at: number, opening: Opening): void {
  const { target, prefill } = opening;
  const attempt = step.state.attempts.length;
  emit(step, at, {
    type: "attempt",
    payload: {
      attempt,
      step: 0,
      targetId: target.id,
      phase: "started",
      ...(prefill !== undefined && { continues: true }),
    },
  });
  remember(step, { waiting: undefined, seam: prefill === undefined ? undefined : openSeam(shownOf(step.state)) });
  step.effects.push({ type: "open", attempt, ...opening });
  telemetry(step, {
    type: "stream_attempt_started",
    payload: { providerId: target.id, fallbackOccurred: attempt > 0 },
  });
}

/** The first attempt of a run: where the route says so, another may join it. */
export function openFirst(step: Step, at: number, target: PlannedTarget): void {
  const { chain, hedgeAfterMs: ms } = step.state.charter;
  open(step, at, { target });
  if (ms !== undefined && chain.length > 1) step.effects.push({ type: "wake", input: "hedge", ms, spreadMs: 0 });
}

/** The first attempt has shown nothing for too long: the next target is asked as well. */
export function hedge(step: Step, at: number): void {
  const { attempts, charter, committed } = step.state;
  const [first] = attempts;
  const target = untried(step.state);
  if (committed || attempts.length > 1 || first?.status !== "started" || target === undefined) return;
  if (charter.hedgeAfterMs === undefined) return;
  open(step, at, { target });
  step.effects.push({ type: "report", report: { targetId: target.id, result: "hedged" } });
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
  if (live.status === "committed") failedAfterCommit(step, at, live, failure);
  else failedBeforeCommit(step, at, live, failure);
}

function failedBeforeCommit(step: Step, at: number, live: AttemptRecord, failure: Failure): void {
  // While a hedge runs, the run has not failed.
  if (liveAttempts(step.state).length > 0) return;
  const { volatile } = step.state;
  const { cause } = volatile;
  const target = planned(step.state, live);
  const continued = volatile.seam !== undefined;
  if (continued && failure.failureClass === "invalid_request" && target !== undefined) {
    // It was the continuation that it refused: it may still answer from the beginning.
    retract(step, at);
    return open(step, at, { target });
  }
  const { fallsBack } = failurePolicies[failure.failureClass];
  const next = fallsBack ? nextOpening(step.state, live, failure, at) : undefined;
  if (next !== undefined) goOn(step, at, next, continued);
  else if (cause !== undefined) fail(step, at, failedOutcome(step.state, at, cause));
  else fail(step, at, fallsBack ? exhaustedOutcome(step.state, at) : failedOutcome(step.state, at, failure));
}

function failedAfterCommit(step: Step, at: number, live: AttemptRecord, failure: Failure): void {
  const { charter, toolCalls, volatile } = step.state;
  const policy = charter.onMidStreamFailure;
  const mayGoOn = policy !== "fail" && toolCalls.length === 0 && failurePolicies[failure.failureClass].fallsBack;
  const next = mayGoOn ? nextOpening(step.state, live, failure, at) : undefined;
  if (next === undefined) return fail(step, at, failedOutcome(step.state, at, volatile.cause ?? failure));
  if (policy === "continue") remember(step, { cause: volatile.cause ?? failure });
  goOn(step, at, next, policy === "continue");
}

interface Next {
  target: PlannedTarget;
  /** Milliseconds, for the same target again; and how much of chance comes on top. */
  waitMs: number;
  spreadMs: number;
}

/** The next target of the chain; when there is none, the same one again where the failure allows it. */
function nextOpening(state: RunState, live: AttemptRecord, failure: Failure, at: number): Next | undefined {
  const target = untried(state);
  if (target !== undefined) return { target, waitMs: 0, spreadMs: 0 };
  const same = planned(state, live);
  if (same === undefined || !failurePolicies[failure.failureClass].retriesSame) return undefined;
  const tries = state.attempts.filter(({ targetId, status }) => targetId === same.id && status === "failed").length;
  if (tries > same.retries) return undefined;
  const own = Math.min(RETRY_MS * 2 ** (tries - 1), RETRY_MAX_MS);
  const [waitMs, spreadMs] = failure.retryAfterMs === undefined ? [own / 2, own / 2] : [failure.retryAfterMs, 0];
  const { charter, volatile } = state;
  const fits = volatile.waitedMs + waitMs + spreadMs <= charter.retryBudgetMs;
  return fits && at + waitMs + spreadMs < charter.startedAt + charter.totalMs
    ? { target: same, waitMs, spreadMs }
    : undefined;
}

/** What was shown stays where the next attempt can go on from it, and is taken back otherwise. */
function goOn(step: Step, at: number, { target, waitMs, spreadMs }: Next, continues: boolean): void {
  const opening = continues ? continuation(step, at, target) : { target };
  if (opening.prefill === undefined && isShown(step.state)) retract(step, at);
  if (waitMs + spreadMs === 0) return open(step, at, opening);
  remember(step, { waiting: opening, waitedMs: step.state.volatile.waitedMs + waitMs + spreadMs });
  step.effects.push({ type: "wake", input: "retry", ms: waitMs, spreadMs });
}

/**
 * How a target goes on from the text of this step, if it can. A run that offers tools never does: a model that is made to
 * go on with its prose does not call. Nor does one that has shown reasoning alone, or part of a tool call.
 */
export function continuation(step: Step, at: number, target: PlannedTarget): Opening {
  const { charter, openInputs } = step.state;
  if (!target.continues || charter.asks.tools || openInputs.length > 0) return { target };
  const shown = shownOf(step.state);
  const base = attachable(shown, charter.asks.json);
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
export const isShown = ({ text, stepText, reasoning, openInputs }: RunState): boolean =>
  text !== stepText || reasoning !== "" || openInputs.length > 0;

/** The first target of the chain that has not failed, and is not being asked. */
function untried({ charter, attempts }: RunState): PlannedTarget | undefined {
  const used = new Set(attempts.flatMap(({ targetId, status }) => (status === "superseded" ? [] : [targetId])));
  return charter.chain.find(({ id }) => !used.has(id));
}

const planned = ({ charter }: RunState, { targetId }: AttemptRecord): PlannedTarget | undefined =>
  charter.chain.find(({ id }) => id === targetId);
