// The chats of a visitor: turns that begin and end in them, and what their page asks for. Each change is one transaction; nothing here waits.
import type {
  ChatDetail,
  ChatSummary,
  HistoryEntry,
  TurnAnswer,
  TurnEnd,
  TurnEndAnswer,
  TurnRequest,
} from "../schemas/chat.ts";
import { summaryWanted, surplus } from "../src/chat/compaction.ts";
import { opening, wholeEnd, withAnswer } from "../src/chat/conversation.ts";
import { finishOfTurn, shownCallIds, withClientParts, withIncoming, withTurn } from "../src/chat/display.ts";
import { callsOf, cutBefore, openApprovals, openClientCalls } from "../src/chat/history.ts";
import { modelMessages, type Summary } from "../src/chat/model-messages.ts";
import { isPlaceholder, previewOf, provisionalTitle } from "../src/chat/titles.ts";
import type { Desk, KnownTurn, Move } from "../src/chat/turn-rules.ts";
import { visitorItems, type VisitorItems } from "./visitor-items.ts";
import type { ChatRow, VisitorStore } from "./visitor-store.ts";

/** UTF-16 units of the titles and previews of a list: what an answer between objects may hold is bounded. */
const MAX_LIST = 8_000_000;

type Begin = Extract<Move, { move: "begin" }>;

export interface VisitorChats {
  deskOf(request: TurnRequest): Pick<Desk, "chat" | "active" | "same" | "open" | "taken" | "others">;
  /** Begins a turn under this name: the chat, what came in, the decisions that it takes. */
  begin(request: TurnRequest, move: Begin, runId: string, at: number): void;
  /** The answer for a turn that has begun and not ended. */
  answerFor(runId: string, hostTools: boolean): TurnAnswer;
  /** The turn is about to be started once more. */
  touch(runId: string, at: number): void;
  /** Stores how a turn ended, once. Does nothing for one whose chat is gone. */
  end(end: TurnEnd, at: number): TurnEndAnswer;
  /** A begun turn whose run was not started stops being the chat's running one. `undo`: its prompt leaves the chat. */
  lose(runId: string, undo: boolean): void;
  summarized(answer: { chatId: string; through: number; summary: string }): void;
  list(): ChatSummary[];
  read(chatId: string): ChatDetail | undefined;
  rename(chatId: string, title: string, at: number): boolean;
  /** The runs of its turns; `activeRun`: of the one that runs. `undefined` when there is no such chat. */
  remove(chatId: string): { runIds: string[]; activeRun: string | undefined } | undefined;
}

export function visitorChats(storage: DurableObjectStorage, store: VisitorStore): VisitorChats {
  const items = visitorItems(storage);

  const known = (runId: string | undefined): KnownTurn | undefined =>
    runId === undefined ? undefined : store.turn(runId);

  return {
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

    begin(request, move, runId, at) {
      storage.transactionSync(() => {
        const chat = store.chat(request.chatId) ?? store.addChat(request.chatId, at);
        const earlier = store.turn(move.retries ?? move.runId ?? "");
        const last = store.lastTurn(chat.id);
        const again = earlier !== undefined && earlier.runId === last?.runId ? earlier : undefined;
        const before = items.entries(chat.id);
        const { entries, promptAt } = opening(request, before, {
          settles: move.settles,
          from: again?.promptAt,
        });
        const trimmed = writeEntries(items, chat, entries);
        if (move.settles) writeResults(chat, request, before);
        else writeIncoming(chat, request, runId, again !== undefined);
        if (isPlaceholder(chat.title)) {
          const title = provisionalTitle(request.prompt === "" ? chat.preview : request.prompt);
          if (title !== "") Object.assign(chat, { title, titleRun: runId });
        } else if (chat.titleRun !== undefined && chat.titleRun === move.retries) chat.titleRun = runId;
        Object.assign(chat, { updatedAt: at, activeRun: runId });
        store.saveChat(chat);
        if (move.retries !== undefined) store.passDecisions(move.retries, runId);
        for (const decision of move.fresh) store.takeDecision(chat.id, { ...decision, runId });
        const { identity, liveOnly } = request;
        store.addTurn({ runId, chat: chat.id, identity, liveOnly, state: "begun", at, promptAt: promptAt - trimmed });
      });
    },

    answerFor(runId, hostTools) {
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
    },

    touch(runId, at) {
      const turn = store.turn(runId);
      if (turn !== undefined) store.saveTurn({ ...turn, at });
    },

    end(end, at) {
      return storage.transactionSync(() => {
        const turn = store.turn(end.runId);
        const chat = turn === undefined ? undefined : store.chatById(turn.chat);
        if (turn === undefined || chat === undefined) return {};
        if (turn.state === "begun" || turn.state === "lost") {
          const stored = items.entries(chat.id);
          const decided = store.decisions(chat.id).filter(({ runId }) => runId === end.runId);
          const ids = new Set(decided.map(({ toolCallId }) => toolCallId));
          const whole = wholeEnd(end, openApprovals(stored), ids);
          // The conversation has gone on without a turn that was given up and did run: only its page still shows it.
          const latest = store.lastTurn(chat.id)?.runId === end.runId;
          const { entries, answerAt } = withAnswer(stored, latest ? whole : { ...whole, steps: [] });
          const trimmed = writeEntries(items, chat, entries);
          writeMessages(chat, withTurn(items.messages(chat.id), whole));
          if (latest) items.writeLastTurn(chat.id, { runId: end.runId, ...finishOfTurn(end) });
          // What a turn without a prompt has settled stays settled when it is tried again.
          const promptAt = turn.promptAt < stored.length ? turn.promptAt : answerAt;
          store.saveTurn({ ...turn, promptAt: promptAt - trimmed, state: end.outcome });
          const title = end.titles.at(-1) ?? "";
          if (chat.titleRun === end.runId && title !== "") chat.title = title;
          chat.tokens += tokensOf(end);
          chat.version++;
          chat.updatedAt = at;
          if (chat.activeRun === end.runId) chat.activeRun = undefined;
        }
        const summarize = summaryWanted(items.entries(chat.id), summaryOf(chat));
        chat.askedThrough = summarize?.through;
        store.saveChat(chat);
        return summarize === undefined ? {} : { summarize };
      });
    },

    lose(runId, undo) {
      storage.transactionSync(() => {
        const turn = store.turn(runId);
        const chat = turn === undefined ? undefined : store.chatById(turn.chat);
        if (turn?.state !== "begun" || chat === undefined) return;
        chat.activeRun = undefined;
        // Its prompt stays, and how the turn before that ended says nothing of it.
        if (!undo) items.writeLastTurn(chat.id, undefined);
        if (undo) {
          writeEntries(items, chat, items.entries(chat.id).slice(0, turn.promptAt));
          const messages = items.messages(chat.id).filter(({ id }) => id !== userIdOf(runId));
          writeMessages(chat, messages);
          if (messages.length === 0) Object.assign(chat, { title: "", preview: "", titleRun: undefined });
        }
        store.saveChat(chat);
        store.saveTurn({ ...turn, state: "lost" });
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
        if (!isThere(chat)) continue;
        units += chat.title.length + chat.preview.length + chat.chatId.length * 2;
        if (units > MAX_LIST) break;
        summaries.push(summaryRow(chat));
      }
      return summaries;
    },

    read(chatId) {
      const chat = store.chat(chatId);
      if (chat === undefined || !isThere(chat)) return undefined;
      const lastTurn = chat.activeRun === undefined ? items.lastTurn(chat.id) : undefined;
      return {
        ...summaryRow(chat),
        messages: items.messages(chat.id),
        conversationHistory: items.entries(chat.id).map(published),
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

  /** A chat whose only turn could not be started has not begun: only the turn's name is kept, should its run be started yet. */
  function isThere(chat: ChatRow): boolean {
    return chat.version > 0 || chat.activeRun !== undefined || items.messages(chat.id).length > 0;
  }

  /** The messages of a turn's request; for a prompt alone, one of our own. A turn that is tried again has left its own there. */
  function writeIncoming(
    chat: ChatRow,
    { display, history, prompt }: TurnRequest,
    runId: string,
    again: boolean,
  ): void {
    const asked = {
      id: userIdOf(runId),
      role: "user" as const,
      content: prompt,
      parts: [{ type: "text", text: prompt }],
    };
    const stored = items.messages(chat.id);
    // The message of the turn that is tried again, or of the one before that, is there, unless it was taken back.
    const last = stored.findLast(({ role }) => role === "user");
    const kept = again && last?.content === prompt && last.id.startsWith(userIdOf(""));
    const incoming = display.length > 0 ? display : prompt === "" || kept ? [] : [asked];
    const same = again || history.length > 0 ? "known" : "last";
    const messages = withIncoming(stored, incoming, same);
    writeMessages(chat, messages);
    if (chat.preview === "") chat.preview = previewOf(messages);
  }

  /** Of a request with decisions only the results of the client's own calls are taken. */
  function writeResults(chat: ChatRow, { display }: TurnRequest, before: readonly HistoryEntry[]): void {
    const open = openClientCalls(before).map(({ id }) => id);
    if (open.length > 0) writeMessages(chat, withClientParts(items.messages(chat.id), display, open));
  }

  function writeMessages(chat: ChatRow, messages: ReturnType<VisitorItems["messages"]>): void {
    items.writeMessages(chat.id, messages.slice(surplus(messages.map(sizeOf))));
  }
}

/** Keeps the conversation within its bounds, and the summary as long as it is one of it. The number of entries that went. */
function writeEntries(items: VisitorItems, chat: ChatRow, entries: readonly HistoryEntry[]): number {
  const gone = cutBefore(entries, surplus(entries.map(sizeOf)));
  const { from } = items.writeEntries(chat.id, entries.slice(gone));
  const covered = gone > 0 ? Math.min(chat.summaryThrough, gone) : chat.summaryThrough;
  if (gone === 0 && from < chat.summaryThrough) Object.assign(chat, { summary: undefined, summaryThrough: 0 });
  if (gone > 0) chat.summaryThrough -= covered;
  if (gone > 0 || from < (chat.askedThrough ?? 0)) chat.askedThrough = undefined;
  return gone;
}

/** The id of a prompt that came without a message. */
const userIdOf = (runId: string): string => `user_${runId}`;

const sizeOf = (item: unknown): number => JSON.stringify(item).length;

function summaryOf({ summary, summaryThrough }: ChatRow): Summary | undefined {
  return summary === undefined ? undefined : { text: summary, through: summaryThrough };
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

function tokensOf({ usage }: TurnEnd): number {
  return usage?.totalTokens ?? (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
}
