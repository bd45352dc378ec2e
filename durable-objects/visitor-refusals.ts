// Turns that have begun and whose runs do not start: who may start them yet, and how one is taken back or given up. Waits for nothing.
import type { VisitorItems } from "./visitor-items.ts";
import type { TurnRow } from "./visitor-rows.ts";
import type { VisitorStore } from "./visitor-store.ts";
import type { Undo, VisitorUndo } from "./visitor-undo.ts";

export interface VisitorRefusals {
  /** The turn is about to be started by somebody else too. */
  touch(runId: string, at: number): void;
  /** Whoever was to start this turn could not. True when nobody else may start it any more. */
  refuse(runId: string): boolean;
  /** A begun turn whose run was not started stops being the chat's running one. */
  lose(runId: string): void;
  /** A begun turn that nobody will start: the chat is as it was before it. */
  undo(runId: string): void;
}

export function visitorRefusals(
  storage: DurableObjectStorage,
  store: VisitorStore,
  items: VisitorItems,
  undos: VisitorUndo,
): VisitorRefusals {
  /** The chat as it was, but for what its user has done to it since. */
  const takeBack = (turn: TurnRow, undo: Undo): void => {
    const chat = store.chatById(turn.chat);
    if (chat === undefined) return;
    if (undo.chat === undefined) return store.removeChat(chat);
    items.writeEntries(chat.id, [...items.entries(chat.id).slice(0, undo.entries.from), ...undo.entries.items]);
    items.writeMessages(chat.id, [...items.messages(chat.id).slice(0, undo.messages.from), ...undo.messages.items]);
    const renamed = chat.version > undo.chat.version;
    const { title, titleRun, version, updatedAt } = chat;
    store.saveChat(renamed ? { ...undo.chat, title, titleRun, version, updatedAt } : undo.chat);
    store.giveBackDecisions(turn.runId);
    for (const decision of undo.passed) store.takeDecision(chat.id, decision);
    store.removeTurn(turn.runId);
    if (undo.turn !== undefined) store.restoreTurn(undo.turn);
    undos.drop(chat.id);
  };

  /** The conversation goes on without the turn. */
  const giveUp = (turn: TurnRow): void => {
    const chat = store.chatById(turn.chat);
    if (turn.state !== "begun" || chat === undefined) return;
    store.saveChat({ ...chat, activeRun: undefined });
    store.saveTurn({ ...turn, state: "lost" });
    // Its prompt stays, and how the turn before that ended says nothing of it.
    items.writeLastTurn(chat.id, undefined);
    undos.drop(chat.id);
  };

  return {
    touch(runId, at) {
      const turn = store.turn(runId);
      if (turn !== undefined) store.saveTurn({ ...turn, at, starters: turn.starters + 1 });
    },

    refuse(runId) {
      const turn = store.turn(runId);
      if (turn === undefined) return false;
      const starters = Math.max(0, turn.starters - 1);
      store.saveTurn({ ...turn, starters });
      return starters === 0;
    },

    lose(runId) {
      storage.transactionSync(() => {
        const turn = store.turn(runId);
        if (turn !== undefined) giveUp(turn);
      });
    },

    undo(runId) {
      storage.transactionSync(() => {
        const turn = store.turn(runId);
        // Somebody may start it yet.
        if (turn === undefined || turn.starters > 0) return;
        const undo = turn.state === "begun" ? undos.kept(turn.chat) : undefined;
        if (undo?.runId === runId) return takeBack(turn, undo);
        giveUp(turn);
        if (turn.state === "begun" || turn.state === "lost") store.giveBackDecisions(runId);
      });
    },
  };
}
