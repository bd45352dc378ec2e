// What happens next to a turn that is asked for, as far as is known now. Pure: whoever finds out more asks again.
import type { TurnAnswer, TurnRequest } from "../../schemas/chat.ts";
import type { RunStatus } from "../../schemas/run.ts";

/** `lost`: its run was never started, as far as is known; should it ever be, then under the same name. */
export type TurnState = "begun" | "lost" | "completed" | "error" | "cancelled";

/** What the object of a run says of it: `unknown` when there is none, `swept` when its events are no longer kept. */
export type RunWord = RunStatus | "unknown" | "swept";

export interface KnownTurn {
  runId: string;
  state: TurnState;
  liveOnly: boolean;
}

/** What is known of the chat and the visitor when a turn is asked for. */
export interface Desk {
  /** The chat is stored. */
  chat: boolean;
  /** The chat's turn that runs now. */
  active: KnownTurn | undefined;
  /** The latest turn with the identity of the one that is asked for. */
  same: KnownTurn | undefined;
  /** Ids of the calls that wait for a decision. */
  open: readonly string[];
  /** By call: the turn that took its decision. */
  taken: ReadonlyMap<string, KnownTurn>;
  /** Turns of the visitor's other chats that run now. */
  others: number;
  /** What the objects of runs say of them. */
  said: ReadonlyMap<string, RunWord>;
  /** The request was counted, and its tenant let it in. */
  admitted: boolean;
  /** The turns of other chats were asked whether they still run. */
  verified: boolean;
}

type RefusedTurn = Extract<TurnAnswer, { begun: false }>;

export type Move =
  /** The run's object is to be asked how its run stands. */
  | { move: "look"; runId: string }
  | { move: "repeat"; runId: string }
  /** The turn was begun and its run never started: it is answered once more. */
  | { move: "again"; runId: string }
  /** `runId`: as in `begin`. */
  | { move: "admit"; runId: string | undefined }
  | { move: "verify" }
  | { move: "refuse"; refused: Exclude<RefusedTurn["refused"], "too_many_attempts"> }
  /** The chat's running turn must end first. `wait`: by itself. `next`: what is to begin after it, as far as is known now. */
  | { move: "end"; turn: KnownTurn; how: "cancel" | "wait"; next: Begin | undefined }
  | Begin;

export interface Begin {
  move: "begin";
  /** Of a lost turn, whose name is used. */
  runId: string | undefined;
  /** The turn that is tried again. */
  retries: string | undefined;
  settles: boolean;
  fresh: Decision[];
}

type Decision = TurnRequest["decisions"][number];

export function nextMove(desk: Desk, request: TurnRequest): Move {
  const { open, taken, active } = desk;
  const decided = firstOfEach(request.decisions).filter(
    ({ toolCallId }) => open.includes(toolCallId) || taken.has(toolCallId),
  );
  const fresh = decided.filter(({ toolCallId }) => !taken.has(toolCallId));
  const owner = decided.map(({ toolCallId }) => taken.get(toolCallId)).findLast((turn) => turn !== undefined);
  // Decisions are known by their calls: an id of the same last message says nothing of them.
  const same = decided.length === 0 ? desk.same : fresh.length === 0 ? owner : undefined;
  const repeated = same === undefined ? undefined : repeatOf(same, desk);
  if (repeated !== undefined) return repeated;

  const runId = same?.state === "lost" ? same.runId : undefined;
  if (!desk.admitted) return { move: "admit", runId };
  if (request.activePerVisitor > 0 && desk.others >= request.activePerVisitor) {
    return desk.verified ? { move: "refuse", refused: "too_many_streams" } : { move: "verify" };
  }
  if (request.unknownModel) return { move: "refuse", refused: "unknown_model" };
  if (request.unfit === true) return { move: "refuse", refused: "unfit" };
  if (request.decisions.length > 0 && !desk.chat) return { move: "refuse", refused: "history_unavailable" };
  // What the running turn is carrying out is decided.
  const waiting = open.some((id) => active === undefined || taken.get(id)?.runId !== active.runId);
  if (waiting && request.decisions.length === 0) return { move: "refuse", refused: "confirmation_required" };
  const begin: Begin = {
    move: "begin",
    runId,
    retries: same === undefined || !isRetry(same) ? undefined : same.runId,
    settles: open.length > 0 || decided.length > 0,
    fresh,
  };
  if (active === undefined) return begin;
  // What a running turn carries out must not be cut off by a decision, which may be about a call that only that turn knows.
  return { move: "end", turn: active, how: request.decisions.length > 0 ? "wait" : "cancel", next: begin };
}

/** It has ended, and there is nothing of it to read again. */
const isRetry = ({ state, liveOnly }: KnownTurn): boolean => state !== "lost" && !liveOnly;

function firstOfEach(decisions: readonly Decision[]): Decision[] {
  const seen = new Set<string>();
  return decisions.filter(({ toolCallId }) => !seen.has(toolCallId) && seen.add(toolCallId));
}

/** How a turn that is known already is answered; `undefined`: as a new one. */
function repeatOf(turn: KnownTurn, { said }: Desk): Move | undefined {
  const { runId, state, liveOnly } = turn;
  switch (state) {
    case "completed":
      return liveOnly ? undefined : repeatOfCompleted(runId, said.get(runId));
    case "error":
    case "cancelled":
    case "lost":
      return undefined;
    case "begun":
      return repeatOfBegun(turn, said.get(runId));
  }
}

/** Its run may be forgotten before the turn is. */
function repeatOfCompleted(runId: string, word: RunWord | undefined): Move | undefined {
  if (word === undefined) return { move: "look", runId };
  return word === "unknown" || word === "swept" ? undefined : { move: "repeat", runId };
}

function repeatOfBegun(turn: KnownTurn, word: RunWord | undefined): Move {
  const { runId, liveOnly } = turn;
  switch (word) {
    case undefined:
      return { move: "look", runId };
    case "unknown":
      return { move: "again", runId };
    case "running":
      return { move: "repeat", runId };
    case "completed":
      if (!liveOnly) return { move: "repeat", runId };
      return { move: "end", turn, how: "wait", next: undefined };
    case "error":
    case "cancelled":
    case "swept":
      // The news of its end is on its way.
      return { move: "end", turn, how: "wait", next: undefined };
  }
}
