// The chats of a visitor: how turns end in them, and what their page asks for. Each change is one transaction; nothing here waits.
import type { ChatDetail, ChatSummary, HistoryEntry, TurnEnd, TurnEndAnswer, TurnRequest } from "../schemas/chat.ts";
import { summaryWanted } from "../src/chat/compaction.ts";
import { wholeEnd, withAnswer } from "../src/chat/conversation.ts";
import { finishOfTurn, withTurn } from "../src/chat/display.ts";
import { openApprovals } from "../src/chat/history.ts";
import type { Desk, KnownTurn } from "../src/chat/turn-rules.ts";
import { writeEntries, writeMessages } from "./visitor-bounds.ts";
import { readableEntries, readableMessages } from "./visitor-fit.ts";
import { visitorItems } from "./visitor-items.ts";
import { credit, keepLateNews } from "./visitor-late-news.ts";
import { summaryOf, visitorOpenings, type VisitorOpenings } from "./visitor-openings.ts";
import { visitorRefusals, type VisitorRefusals } from "./visitor-refusals.ts";
import type { ChatRow } from "./visitor-rows.ts";
import type { VisitorStore } from "./visitor-store.ts";
import { visitorUndo } from "./visitor-undo.ts";

/** UTF-16 units of the titles and previews of a list: what an answer between objects may hold is bounded. */
const MAX_LIST = 8_000_000;

export interface VisitorChats extends VisitorOpenings, VisitorRefusals {
  deskOf(request: TurnRequest): Pick<Desk, "chat" | "active" | "same" | "open" | "taken" | "others">;
  /** Stores how a turn ended, once. Does nothing for one whose chat is gone. */
  end(end: TurnEnd, at: number): TurnEndAnswer;
  summarized(answer: { chatId: string; through: number; summary: string }): void;
  list(): ChatSummary[];
  read(chatId: string): ChatDetail | undefined;
  rename(chatId: string, title: string, at: number): boolean;
  /** The runs of its turns; `activeRun`: of the one that runs. `undefined` when there is no such chat. */
  remove(chatId: string): { runIds: string[]; activeRun: string | undefined } | undefined;
}

export function visitorChats(storage: DurableObjectStorage, store: VisitorStore): VisitorChats {
  const items = visitorItems(storage);
  const undos = visitorUndo(storage);

  const known = (runId: string | undefined): KnownTurn | undefined =>
    runId === undefined ? undefined : store.turn(runId);

  return {
    ...visitorOpenings(storage, store, items, undos),
    ...visitorRefusals(storage, store, items, undos),

    deskOf({ chatId, identity }) {
      const chat = store.chat(chatId);
      const others = store.begunTurns().filter((turn) => turn.chat !== chat?.id).length;
      if (chat === undefined) {
        return { chat: false, active: undefined, same: undefined, open: [], taken: new Map(), others };
      }
      const taken = new Map<string, KnownTurn>();
      for (const { toolCallId, runId } of store.decisions(chat.id)) {
        const turn = known(runId);
        if (turn !== undefined) taken.set(toolCallId, turn);
      }
      return {
        chat: true,
        active: known(chat.activeRun),
        same: store.turnOf(chat.id, identity),
        open: openApprovals(items.entries(chat.id)).map(({ toolCallId }) => toolCallId),
        taken,
        others,
      };
    },

    end(end, at) {
      return storage.transactionSync(() => {
        const turn = store.turn(end.runId);
        const chat = turn === undefined ? undefined : store.chatById(turn.chat);
        if (turn === undefined || chat === undefined) return {};
        if (turn.state === "begun" || turn.state === "lost") {
          // From now on what is written cannot be told from what the chat's latest turn has changed.
          undos.drop(chat.id);
          const stored = items.entries(chat.id);
          const decided = store.decisions(chat.id).filter(({ runId }) => runId === end.runId);
          const ids = new Set(decided.map(({ toolCallId }) => toolCallId));
          const whole = wholeEnd(end, openApprovals(stored), ids);
          // The conversation has gone on without a turn that was given up and did run: only its page still shows it.
          const latest = store.lastTurn(chat.id)?.runId === end.runId;
          const { entries, answerAt } = withAnswer(stored, latest ? whole : { ...whole, steps: [] });
          const { gone } = writeEntries(items, chat, entries);
          writeMessages(items, chat, withTurn(items.messages(chat.id), whole));
          if (latest) items.writeLastTurn(chat.id, { runId: end.runId, ...finishOfTurn(end) });
          // What a turn without a prompt has settled stays settled when it is tried again.
          const promptAt = turn.promptAt < stored.length ? turn.promptAt : answerAt;
          const incomplete = end.incomplete === true;
          store.saveTurn({ ...turn, promptAt: Math.max(0, promptAt - gone), state: end.outcome, incomplete });
          credit(chat, end);
          chat.version++;
          chat.updatedAt = at;
          if (chat.activeRun === end.runId) chat.activeRun = undefined;
        } else if (turn.incomplete && end.incomplete === undefined) {
          keepLateNews({ store, items, undos }, chat, turn, end);
        }
        const summarize = summaryWanted(items.entries(chat.id), summaryOf(chat));
        chat.askedThrough = summarize?.through;
        store.saveChat(chat);
        return summarize === undefined ? {} : { summarize };
      });
    },

    summarized({ chatId, through, summary }) {
      const chat = store.chat(chatId);
      // What was summed up has changed since.
      if (chat?.askedThrough !== through || summary.trim() === "") return;
      store.saveChat({ ...chat, summary: summary.trim(), summaryThrough: through, askedThrough: undefined });
    },

    list() {
      const summaries: ChatSummary[] = [];
      let units = 0;
      for (const chat of store.chats()) {
        units += chat.title.length + chat.preview.length + chat.chatId.length * 2;
        if (units > MAX_LIST) break;
        summaries.push(summaryRow(chat));
      }
      return summaries;
    },

    read(chatId) {
      const chat = store.chat(chatId);
      if (chat === undefined) return undefined;
      const lastTurn = chat.activeRun === undefined ? items.lastTurn(chat.id) : undefined;
      const messages = readableMessages(items.messages(chat.id));
      const entries = readableEntries(items.entries(chat.id).map(published));
      const leftOut = { messages: messages.leftOut, entries: entries.leftOut };
      return {
        ...summaryRow(chat),
        messages: messages.items,
        conversationHistory: entries.items,
        ...((leftOut.messages > 0 || leftOut.entries > 0) && { leftOut }),
        ...(chat.activeRun !== undefined && { activeRunId: chat.activeRun }),
        ...(lastTurn !== undefined && { lastTurn }),
      };
    },

    rename(chatId, title, at) {
      const chat = store.chat(chatId);
      if (chat === undefined) return false;
      store.saveChat({ ...chat, title, titleRun: undefined, version: chat.version + 1, updatedAt: at });
      return true;
    },

    remove(chatId) {
      const chat = store.chat(chatId);
      if (chat === undefined) return undefined;
      const runIds = store.runIds(chat.id);
      storage.transactionSync(() => store.removeChat(chat));
      return { runIds, activeRun: chat.activeRun };
    },
  };
}

const summaryRow = ({ chatId, title, preview, tokens, version, createdAt, updatedAt }: ChatRow): ChatSummary => ({
  id: chatId,
  chatId,
  title,
  preview,
  tokensUsed: tokens,
  version,
  createdAt: new Date(createdAt).toISOString(),
  updatedAt: new Date(updatedAt).toISOString(),
});

/** What a provider wants back, and where a call goes, is no page's business. */
function published(entry: HistoryEntry): HistoryEntry {
  if (entry.tool_calls === undefined) return entry;
  return { ...entry, tool_calls: entry.tool_calls.map(({ echo: _echo, tool: _tool, ...call }) => call) };
}
