// A run as it has been followed: what each event of it tells a thread, and how far it has come. Holds no rules of how events are taken in.
import type { Payload } from "../../schemas/event.ts";
import type { Outcome } from "../../schemas/outcome.ts";
import type { AccountedUsage } from "../../schemas/usage.ts";
import { answerId, type Answer, type Called, type Result } from "./messages.ts";

/** What a run's log does not say of it. */
export interface FollowedRun {
  runId: string;
  /** Names of models by target. */
  models?: Readonly<Record<string, string>>;
  /** Calls of the conversation so far that the run carries on. */
  carried?: readonly Called[];
}

/** What an event tells. `id`s are those of messages. */
export type Told =
  /** The run's first event. */
  | { type: "begun" }
  | { type: "step"; step: number }
  | { type: "text"; id: string; text: string }
  | { type: "reasoning"; id: string; text: string }
  /** Part of a call's input, as JSON text; `index` is the call's place in its message. A name is told once. */
  | {
      type: "call piece";
      id: string;
      index: number;
      isFirst: boolean;
      toolCallId: string;
      toolName?: string;
      text: string;
    }
  /** The whole call. `isPieced`: pieces that say the same were told before. */
  | { type: "call"; id: string; index: number; isPieced: boolean; call: Called }
  /** What was told of this message holds no longer. What of it still stands is told again, under a new id. */
  | { type: "withdrawn"; id: string }
  /** `isWhole`: false for an answer that was cut off. */
  | { type: "answered"; isWhole: boolean; answer: Answer }
  | { type: "result"; result: Result }
  | { type: "attempt failed"; failure: Payload<"attempt"> }
  /** Another attempt of the same step. `waitedMs`: since the last one failed; `number` counts from 1. */
  | { type: "tried again"; number: number; waitedMs: number; failure: Payload<"attempt"> }
  | { type: "title"; title: string }
  | { type: "diagnostic"; diagnostic: Payload<"diagnostic"> }
  /** `pending`: calls without a result that somebody may still give. */
  | { type: "ended"; outcome: Outcome; pending: Called[] };

interface OpenPiece {
  toolCallId: string;
  index: number;
  text: string;
  named: boolean;
}

export interface Followed {
  readonly run: FollowedRun;
  /** Last sequence taken in; -1 for none. */
  readonly to: number;
  readonly step: number;
  /** Text and reasoning of the steps before the present one: snapshots repeat them. */
  readonly before: { readonly text: string; readonly reasoning: string };
  /** The present step's answer, as far as it stands. */
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly Called[];
  readonly pieces: readonly OpenPiece[];
  /** Places of calls given away in the present message. */
  readonly places: number;
  readonly withdrawnAt: number | undefined;
  /** Attempts of the present answer: when each began, by number, and how the last failed one did. */
  readonly attempts: Readonly<Record<number, number>>;
  readonly failure: { readonly at: number; readonly payload: Payload<"attempt"> } | undefined;
  readonly speaker: number | undefined;
  readonly model: string | undefined;
  /** By attempt: its last report. */
  readonly usages: Readonly<Record<number, AccountedUsage>>;
  readonly context: Payload<"context_usage"> | undefined;
  readonly answers: number;
  /** Calls without a result, of the answers so far and of the conversation before. */
  readonly open: readonly Called[];
  readonly titles: readonly string[];
}

export function followed(run: FollowedRun): Followed {
  return {
    run,
    to: -1,
    step: 0,
    before: { text: "", reasoning: "" },
    ...nothingSaid,
    answers: 0,
    open: run.carried ?? [],
    titles: [],
  };
}

/** Of the present step, before anything is said in it. */
export const nothingSaid = {
  text: "",
  reasoning: "",
  calls: [],
  pieces: [],
  places: 0,
  withdrawnAt: undefined,
  attempts: {},
  failure: undefined,
  speaker: undefined,
  model: undefined,
  usages: {},
  context: undefined,
} as const;

/** While an event is taken in. */
export type Following = { -readonly [K in keyof Followed]: Followed[K] };

/** The id of the message that the present step's answer is. */
export const presentId = ({ run, step, withdrawnAt }: Followed): string => answerId(run.runId, step, withdrawnAt);

/** The step has shown something. */
export const isShown = ({ text, reasoning, calls, pieces }: Followed): boolean =>
  text !== "" || reasoning !== "" || calls.length > 0 || pieces.length > 0;

/** A model is being asked for an answer, or has shown one, and it is not told as a message yet. */
export const isOpen = (state: Followed): boolean => isShown(state) || Object.keys(state.attempts).length > 0;
