// How turns begin in the chats of a visitor. Each change is one transaction; nothing here waits.
import type { TurnAnswer, TurnRequest } from "../schemas/chat.ts";
import { opening } from "../src/chat/conversation.ts";
import { shownCallIds } from "../src/chat/display.ts";
import { callsOf, openApprovals } from "../src/chat/history.ts";
import { modelMessages, type Summary } from "../src/chat/model-messages.ts";
import { isPlaceholder, provisionalTitle } from "../src/chat/titles.ts";
import type { Begin } from "../src/chat/turn-rules.ts";
import { writeEntries } from "./visitor-bounds.ts";
import { writeIncoming, writeResults } from "./visitor-incoming.ts";
import type { VisitorItems } from "./visitor-items.ts";
import type { ChatRow } from "./visitor-rows.ts";
import type { VisitorStore } from "./visitor-store.ts";
import type { VisitorUndo } from "./visitor-undo.ts";

export type BegunTurn = Extract<TurnAnswer, { begun: true; repeat: false }>;
export type Misfit = Extract<TurnAnswer, { begun: false }> & { refused: "nothing_to_say" };

export interface VisitorOpenings {
  /** Begins a turn under this name: the chat, what came in, the decisions that it takes. One that does not fit changes nothing. */
  begin(request: TurnRequest, move: Begin, runId: string, at: number, hostTools: boolean): BegunTurn | Misfit;
  /** Why a turn that would begin now does not fit. Changes nothing. */
  misfit(request: TurnRequest, move: Begin, at: number): Misfit | undefined;
  /** The answer for a turn that has begun and not ended. */
  answerFor(runId: string, hostTools: boolean): BegunTurn;
}

export function visitorOpenings(
  storage: DurableObjectStorage,
  store: VisitorStore,
  items: VisitorItems,
  undos: VisitorUndo,
): VisitorOpenings {
  /** What `work` changes stays only if `stays` says so of its result. */
  const tentatively = <T>(work: () => T, stays: (result: T) => boolean): T => {
    const results: T[] = [];
    const back = new Error("roll back");
    try {
      storage.transactionSync(() => {
        const result = work();
        results.push(result);
        // The only way to roll a transaction back.
        if (!stays(result)) throw back;
      });
    } catch (error) {
      if (error !== back) throw error;
      store.reread();
    }
    const [result] = results;
    if (result === undefined) throw new Error("A transaction has ended without a result.");
    return result;
  };

  const answerFor = (runId: string, hostTools: boolean): BegunTurn => {
    const turn = store.turn(runId);
    const chat = turn === undefined ? undefined : store.chatById(turn.chat);
    if (chat === undefined) throw new Error("A turn that has begun has no chat.");
    const entries = items.entries(chat.id);
    const decisions = store.decisions(chat.id);
    const carried = openApprovals(entries).map((call) => {
      const taken = decisions.find(({ toolCallId }) => toolCallId === call.toolCallId);
      return { ...call, decision: taken?.runId === runId ? taken.decision : ("undecided" as const) };
    });
    const callIds = new Set([
      ...entries.flatMap((entry) => callsOf(entry).map(({ id }) => id)),
      ...shownCallIds(items.messages(chat.id)),
      ...decisions.map(({ toolCallId }) => toolCallId),
    ]);
    const messages = modelMessages(entries, summaryOf(chat), new Set(carried.map(({ toolCallId }) => toolCallId)));
    const title = { provisional: chat.title, generate: chat.titleRun === runId && entries.at(-1)?.role === "user" };
    return { begun: true, repeat: false, runId, messages, carried, callIds: [...callIds], title, hostTools };
  };

  const write = (request: TurnRequest, move: Begin, runId: string, at: number): void => {
    const stored = store.chat(request.chatId);
    const chat = stored === undefined ? store.addChat(request.chatId, at) : { ...stored };
    const [entriesBefore, messagesBefore] = [items.entries(chat.id), items.messages(chat.id)];
    const sameName = store.turn(runId);
    const earlier = move.retries === undefined ? sameName : store.turn(move.retries);
    const again = earlier !== undefined && earlier.runId === store.lastTurn(chat.id)?.runId ? earlier : undefined;
    const { entries, promptAt } = opening(request, entriesBefore, { settles: move.settles, from: again?.promptAt });
    const { gone, from } = writeEntries(items, chat, entries);
    const messagesFrom = move.settles
      ? writeResults(items, chat, request, entriesBefore)
      : writeIncoming(items, chat, request, { runId, again: again !== undefined });
    if (isPlaceholder(chat.title)) {
      const title = provisionalTitle(request.prompt === "" ? chat.preview : request.prompt);
      if (title !== "") Object.assign(chat, { title, titleRun: runId });
    } else if (chat.titleRun !== undefined && chat.titleRun === move.retries) chat.titleRun = runId;
    store.saveChat({ ...chat, updatedAt: at, activeRun: runId });
    undos.keep(chat.id, {
      runId,
      chat: stored,
      turn: sameName,
      entries: { from, items: entriesBefore.slice(from) },
      messages: { from: messagesFrom, items: messagesBefore.slice(messagesFrom) },
      passed: store.decisions(chat.id).filter((taken) => taken.runId === move.retries),
    });
    if (move.retries !== undefined) store.passDecisions(move.retries, runId);
    for (const decision of move.fresh) store.takeDecision(chat.id, { ...decision, runId });
    const { identity, liveOnly } = request;
    store.addTurn({
      runId,
      chat: chat.id,
      identity,
      liveOnly,
      state: "begun",
      at,
      promptAt: promptAt - gone,
      starters: 1,
      incomplete: false,
    });
  };

  const opened = (
    request: TurnRequest,
    move: Begin,
    runId: string,
    at: number,
    hostTools: boolean,
  ): BegunTurn | Misfit => {
    write(request, move, runId, at);
    const answer = answerFor(runId, hostTools);
    return answer.messages.length === 0 ? { begun: false, refused: "nothing_to_say" } : answer;
  };

  return {
    begin(request, move, runId, at, hostTools) {
      return tentatively(
        () => opened(request, move, runId, at, hostTools),
        ({ begun }) => begun,
      );
    },

    misfit(request, move, at) {
      const answer = tentatively(
        () => opened(request, move, move.runId ?? "weighed", at, false),
        () => false,
      );
      return answer.begun ? undefined : answer;
    },

    answerFor,
  };
}

export function summaryOf({ summary, summaryThrough }: ChatRow): Summary | undefined {
  return summary === undefined ? undefined : { text: summary, through: summaryThrough };
}
