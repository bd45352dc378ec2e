// What happens next to a turn that is asked for: each rule, and their order.
import { describe, expect, test } from "vitest";
import type { TurnRequest } from "../../schemas/chat.ts";
import type { RunStatus } from "../../schemas/run.ts";
import { nextMove, type Desk, type KnownTurn, type RunWord, type TurnState } from "../../src/chat/turn-rules.ts";
import { asking } from "./chats/entries.ts";

const turn = (state: TurnState, fields: Partial<KnownTurn> = {}): KnownTurn => ({
  runId: `run-${state}`,
  state,
  liveOnly: false,
  ...fields,
});
const known: Desk = {
  chat: true,
  active: undefined,
  same: undefined,
  open: [],
  taken: new Map(),
  others: 0,
  said: new Map(),
  admitted: true,
  verified: false,
};
const says = (state: TurnState, word: RunWord): Pick<Desk, "said"> => ({
  said: new Map([[`run-${state}`, word]]),
});
const move = (desk: Partial<Desk>, request: Partial<TurnRequest> = {}) =>
  nextMove({ ...known, ...desk }, asking(request));
const approve = (...ids: string[]): TurnRequest["decisions"] =>
  ids.map((toolCallId) => ({ toolCallId, decision: "approve" }));
const begin = { move: "begin", runId: undefined, retries: undefined, settles: false, fresh: [] };

describe("R-SVC-2 a turn that is known", () => {
  test.each<[string, Partial<Desk>, object]>([
    ["is said to have completed", { same: turn("completed") }, { move: "look", runId: "run-completed" }],
    [
      "has completed",
      { same: turn("completed"), ...says("completed", "completed") },
      { move: "repeat", runId: "run-completed" },
    ],
    [
      "has completed, and is forgotten",
      { same: turn("completed"), ...says("completed", "unknown"), admitted: true },
      { ...begin, retries: "run-completed" },
    ],
    [
      "has completed, and its events are gone",
      { same: turn("completed"), ...says("completed", "swept"), admitted: true },
      { ...begin, retries: "run-completed" },
    ],
    ["is not known to run", { same: turn("begun") }, { move: "look", runId: "run-begun" }],
    ["runs", { same: turn("begun"), ...says("begun", "running") }, { move: "repeat", runId: "run-begun" }],
    ["has just completed", { same: turn("begun"), ...says("begun", "completed") }, { move: "repeat" }],
    ["has just failed", { same: turn("begun"), ...says("begun", "error") }, { move: "end", how: "wait" }],
    ["has failed", { same: turn("error") }, { ...begin, retries: "run-error" }],
    ["was cancelled", { same: turn("cancelled") }, { ...begin, retries: "run-cancelled" }],
  ])("and %s", (_name, desk, expected) => {
    const ended = desk.same?.state === "error" || desk.same?.state === "cancelled";
    expect(move({ admitted: ended, ...desk })).toMatchObject(expected);
  });

  test.each<[TurnState, RunStatus, object]>([
    ["begun", "running", { move: "repeat" }],
    ["begun", "completed", { move: "end", how: "wait" }],
    ["completed", "completed", begin],
    ["error", "error", begin],
  ])("by its bytes alone, %s, its run %s", (state, word, expected) => {
    expect(move({ same: turn(state, { liveOnly: true }), ...says(state, word) })).toMatchObject(expected);
  });
});

test("R-SVC-3 a turn whose run was never started is begun again under its name", () => {
  expect(move({ same: turn("begun"), ...says("begun", "unknown"), admitted: false })).toEqual({
    move: "again",
    runId: "run-begun",
  });
  expect(move({ same: turn("lost"), admitted: false })).toEqual({ move: "admit", runId: "run-lost" });
  expect(move({ same: turn("lost") })).toEqual({ ...begin, runId: "run-lost" });
});

test("R-SVC-15 R-SVC-5 a new turn passes the throttle, the places, the model and the approvals, in this order", () => {
  const full = { others: 2, open: ["c"] };
  const request = { activePerVisitor: 2, unknownModel: true };
  expect(move({ ...full, admitted: false }, request)).toEqual({ move: "admit", runId: undefined });
  expect(move(full, request)).toEqual({ move: "verify" });
  expect(move({ ...full, verified: true }, request)).toEqual({ move: "refuse", refused: "too_many_streams" });
  expect(move({ ...full, others: 1 }, request)).toEqual({ move: "refuse", refused: "unknown_model" });
  expect(move(full)).toEqual({ move: "refuse", refused: "confirmation_required" });
  expect(move({ chat: false }, { decisions: approve("c") })).toEqual({
    move: "refuse",
    refused: "history_unavailable",
  });
});

test("R-SVC-4 a running turn is cancelled before the next begins", () => {
  const active = turn("begun");
  expect(move({ active })).toEqual({ move: "end", turn: active, how: "cancel", next: begin });
  expect(move({})).toEqual(begin);
});

test("R-SVC-4 a turn that cannot be run ends no other, and is refused after an unknown model", () => {
  const active = turn("begun");
  expect(move({ active }, { unfit: true })).toEqual({ move: "refuse", refused: "unfit" });
  expect(move({ active }, { unfit: true, unknownModel: true })).toEqual({ move: "refuse", refused: "unknown_model" });
  expect(move({ active, same: active, ...says("begun", "running") }, { unfit: true })).toMatchObject({
    move: "repeat",
  });
});

describe("decisions", () => {
  const owner = turn("begun");

  test("R-SVC-5 for open calls begin a turn, the first of several for a call, and unknown ones are ignored", () => {
    const decisions = [...approve("x", "a"), { toolCallId: "a", decision: "deny" as const }];
    expect(move({ open: ["a", "b"] }, { decisions })).toEqual({ ...begin, settles: true, fresh: approve("a") });
    expect(move({ open: ["a"] }, { decisions: approve("x") })).toEqual({ ...begin, settles: true });
    expect(move({}, { decisions: approve("x") })).toEqual(begin);
  });

  test("R-SVC-6 that are taken are answered with the run that took them, whatever the request is called", () => {
    const taken = new Map([["a", owner]]);
    const request = { decisions: approve("a") };
    const desk = { open: ["a"], taken, active: owner, same: turn("completed"), admitted: false };
    expect(move(desk, request)).toEqual({ move: "look", runId: "run-begun" });
    expect(move({ ...desk, ...says("begun", "running") }, request)).toEqual({ move: "repeat", runId: "run-begun" });
    expect(move({ ...desk, ...says("begun", "unknown") }, request)).toEqual({ move: "again", runId: "run-begun" });
    const failed = turn("error");
    expect(move({ taken: new Map([["a", failed]]) }, request)).toEqual({
      ...begin,
      retries: "run-error",
      settles: true,
    });
  });

  test("R-SVC-6 of a turn that was given up stay with its name", () => {
    const lost = turn("lost");
    const desk = { open: ["a", "b"], taken: new Map([["a", lost]]) };
    expect(move(desk)).toEqual({ move: "refuse", refused: "confirmation_required" });
    expect(move(desk, { decisions: approve("a") })).toEqual({ ...begin, runId: "run-lost", settles: true });
    expect(move(desk, { decisions: approve("a", "b") })).toEqual({ ...begin, settles: true, fresh: approve("b") });
  });

  test("R-SVC-7 that come while a turn runs wait, also for a call that only the running turn knows", () => {
    const active = turn("begun");
    expect(move({ active }, { decisions: approve("x") })).toMatchObject({ move: "end", turn: active, how: "wait" });
    const taken = new Map([["a", turn("error")]]);
    expect(move({ active, taken }, { decisions: approve("a") })).toMatchObject({ move: "end", how: "wait" });
  });

  test("R-SVC-7 that come while others are carried out wait; a message without any is refused or supersedes", () => {
    const desk = { open: ["a", "b"], taken: new Map([["a", owner]]), active: owner };
    expect(move(desk, { decisions: approve("b") })).toEqual({
      move: "end",
      turn: owner,
      how: "wait",
      next: { ...begin, settles: true, fresh: approve("b") },
    });
    expect(move(desk)).toEqual({ move: "refuse", refused: "confirmation_required" });
    expect(move({ ...desk, open: ["a"] })).toEqual({
      move: "end",
      turn: owner,
      how: "cancel",
      next: { ...begin, settles: true },
    });
  });
});
