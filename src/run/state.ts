// A run as its rules see it, and what can be read off it. The state is the fold of the log: nothing here changes it.
import type { AttemptRecord } from "../../schemas/attempt.ts";
import type { Payload } from "../../schemas/event.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { Outcome, StopReason } from "../../schemas/outcome.ts";
import type { Asks, PlannedTarget, RouteDecision } from "../../schemas/plan.ts";
import type { AgentPlan, CallRecord, CarriedCall, ServerTool } from "../../schemas/tool.ts";
import type { AccountedUsage } from "../../schemas/usage.ts";
import { nothingVolatile, type Volatile } from "./volatile.ts";

/** What of an agent's plan decides about steps and calls. */
export interface Agent extends Pick<AgentPlan, "maxSteps" | "carried" | "callIds" | "title"> {
  tools: readonly Pick<ServerTool, "name" | "confirmation" | "idempotent">[];
}

/** `retrieval` is left out when the run never came to look for anything. */
export interface Found {
  retrieval?: Payload<"retrieval">;
  refusal?: string;
}

/** What a run was accepted with, as far as its rules depend on it. */
export interface Charter {
  runId: string;
  /** Unix epoch, milliseconds. */
  startedAt: number;
  chain: readonly PlannedTarget[];
  onMidStreamFailure: "fail" | "retract" | "continue";
  /** False when the run's first reader cannot replace shown text. */
  replaces: boolean;
  /** UTF-8 bytes of text, reasoning and tool input. */
  maxOutputBytes: number;
  maxRecoveries: number;
  /** Milliseconds that the run may spend waiting between attempts, and in all, from accept. */
  retryBudgetMs: number;
  totalMs: number;
  /** A second target starts when the first has shown nothing for so many milliseconds; `undefined`: none does. */
  hedgeAfterMs: number | undefined;
  asks: Asks;
  decision: RouteDecision;
  /** `undefined`: one step, which logs nothing of itself, and whose tool calls are all the client's. */
  agent: Agent | undefined;
  /** The run is carried out elsewhere: a producer pushes its events, and no target is called. */
  isPushed?: boolean;
  /** What the run begins with, when it answers from documents. `refusal`: the answer, for which no model is asked. */
  found?: Found;
  /** The run has to find that itself first. */
  researches?: boolean;
  /** The text that the conversation ends in, when that is the assistant's: the first step's model goes on from it. Only a live run has it. */
  begun?: string;
}

/** What a step that is over has shown and called. */
export interface FinishedStep {
  text: string;
  reasoning: string;
  calls: readonly CallRecord[];
}

export interface RunState {
  charter: Charter;
  phase: "accepted" | "running" | "sealed";
  nextSequence: number;
  /** Time of the last event: times of a log never go back. */
  lastAt: number;
  /** The text a reader of all events shows now, and the reasoning. */
  text: string;
  reasoning: string;
  outputBytes: number;
  attempts: readonly AttemptRecord[];
  /** What models have used that were asked beside the attempts. */
  asides: readonly AccountedUsage[];
  /** Some output was delivered; a retraction does not undo it. */
  committed: boolean;
  /** `lifecycle started` was logged. */
  announced: boolean;
  /** What was found was logged. */
  retrieved: boolean;
  /** Number of the present step, and whether its start was logged: before the first one, carried calls are settled. */
  step: number;
  stepBegun: boolean;
  /** The model's part of the present step is over. */
  stepEnd: { stopReason: StopReason | undefined } | undefined;
  /** Text and reasoning at the start of the present step: what a retraction goes back to. */
  stepText: string;
  stepReasoning: string;
  /** Tool calls delivered in the present step, with what became of them. */
  calls: readonly CallRecord[];
  /** The steps before the present one. */
  finished: readonly FinishedStep[];
  /** Calls of the conversation so far, with what became of them. */
  carried: readonly CarriedCall[];
  /** `max_steps` was logged. */
  capped: boolean;
  titles: readonly string[];
  /** Bytes of tool input shown in pieces whose `tool_call` is still to come. */
  openInputs: readonly { toolCallId: string; bytes: number }[];
  /** UTF-8 bytes that the committed attempt has shown. */
  shownBytes: number;
  reportedModel: string | undefined;
  /** The last failure of an attempt, and when each failed one ended: Unix epoch, milliseconds, by attempt. */
  lastFailure: Failure | undefined;
  failedAt: Readonly<Record<number, number>>;
  /** Why the first attempt broke off that had shown something, when the run was to go on from its text. */
  cause: Failure | undefined;
  /** Milliseconds between a failed attempt and the next one, added up. */
  waitedMs: number;
  outcome: Outcome | undefined;
  volatile: Volatile;
}

export function initialState(charter: Charter): RunState {
  return {
    charter,
    phase: "accepted",
    nextSequence: 0,
    lastAt: 0,
    text: "",
    reasoning: "",
    outputBytes: 0,
    attempts: [],
    asides: [],
    committed: false,
    announced: false,
    retrieved: false,
    step: 0,
    stepBegun: false,
    stepEnd: undefined,
    stepText: "",
    stepReasoning: "",
    calls: [],
    finished: [],
    carried: charter.agent?.carried ?? [],
    capped: false,
    titles: [],
    openInputs: [],
    shownBytes: 0,
    reportedModel: undefined,
    lastFailure: undefined,
    failedAt: {},
    cause: undefined,
    waitedMs: 0,
    outcome: undefined,
    volatile: nothingVolatile,
  };
}

/** The attempts whose providers may still speak: more than one only while a hedge runs. */
export function liveAttempts(state: RunState): AttemptRecord[] {
  return state.attempts.filter(isLive);
}

/** The attempt of this number, while its provider may still speak. */
export function liveAttempt(state: RunState, attempt: number): AttemptRecord | undefined {
  const record = state.attempts[attempt];
  return record !== undefined && isLive(record) ? record : undefined;
}

/** What the present step has shown and called so far. */
export function presentStep({ text, stepText, reasoning, stepReasoning, calls }: RunState): FinishedStep {
  return { text: text.slice(stepText.length), reasoning: reasoning.slice(stepReasoning.length), calls };
}

/** The present step has begun and its model's part is not over. */
export const isStepOpen = ({ stepBegun, stepEnd }: RunState): boolean => stepBegun && stepEnd === undefined;

/** The number of the step that begins next. */
export const nextStep = ({ stepBegun, step }: RunState): number => (stepBegun ? step + 1 : 0);

/** The attempts of the present step: each step is a chain of its own. */
export function stepAttempts({ attempts, step }: RunState): AttemptRecord[] {
  return attempts.filter((record) => record.step === step);
}

/** The targets in the order in which the present step tries them: a later step begins with the one that answered before it. */
export function stepChain({ charter: { chain }, attempts, step }: RunState): readonly PlannedTarget[] {
  const answered = attempts.findLast((record) => record.step < step && record.status === "completed")?.targetId;
  if (answered === undefined) return chain;
  return [...chain.filter(({ id }) => id === answered), ...chain.filter(({ id }) => id !== answered)];
}

/** What becomes of shown text when its attempt fails: text that cannot be replaced is never left for another to change. */
export function onMidStreamFailure({ replaces, onMidStreamFailure: policy }: Charter): Charter["onMidStreamFailure"] {
  return replaces ? policy : "fail";
}

/** The attempt that speaks for the run: the one that has shown something, else the latest. */
export function speaker(attempts: readonly AttemptRecord[]): AttemptRecord | undefined {
  return attempts.findLast(({ status }) => status === "committed" || status === "completed") ?? attempts.at(-1);
}

/** The attempts once the run has ended: the live one shares the run's fate. */
export function settleAttempts(
  attempts: readonly AttemptRecord[],
  outcome: Outcome["outcome"],
): readonly AttemptRecord[] {
  const status = outcome === "completed" ? ("completed" as const) : ("cancelled" as const);
  return attempts.map((record) => (isLive(record) ? { ...record, status } : record));
}

const isLive = ({ status }: AttemptRecord): boolean => status === "started" || status === "committed";
