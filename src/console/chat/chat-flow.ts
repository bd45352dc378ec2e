// What happens in the open chat: what is asked, the turn that is followed, what is decided and carried out. Holds the only mutable
// state of a chat; every rule about one is in chat-view.ts. It knows no element, and asks the server for nothing by itself.
import { keepStopping, type Stopping } from "../keep-stopping.ts";
import {
  canAsk,
  type ChatView,
  decided,
  type Input,
  isLive,
  newChatView,
  openPageCalls,
  questionOf,
  reduce,
  undecided,
} from "./chat-view.ts";
import { storedChat } from "./history.ts";
import { deniedOutput, type PageMeans, runPageTool } from "./page-tools.ts";
import { keepPosted, keptPosted } from "./posted.ts";
import type { SvedaApi } from "./sveda-api.ts";
import { type Decision, resultOf, type ToolCall } from "./tool-calls.ts";
import { followTurn, type Turn, type TurnNotice, type TurnStart } from "./turn.ts";
import { askBody, decisionBody, resultsBody, type TurnBody, withModel } from "./turn-body.ts";
import type { Keeping } from "./visitor.ts";

/** What a chat needs of the page around it. */
export type ChatSurroundings = {
  readonly api: SvedaApi;
  readonly tab: Keeping;
  readonly means: PageMeans;
  /** The model that is chosen. */
  readonly model: () => string;
  /** The chat that the address names; null: none, or a new one. */
  readonly address: () => string | null;
  readonly goTo: (chatId: string) => void;
  readonly draw: () => void;
  readonly askForKey: () => void;
  /** The new chat is one that is kept from now on. */
  readonly began: (chatId: string) => void;
  /** Another chat is about to be shown; null: a new one. */
  readonly turnTo: (chatId: string | null) => void;
  /** Whether the chat is in the list. */
  readonly lists: (chatId: string) => boolean;
  readonly readList: () => void;
  readonly showList: () => void;
  /** Asks the server anew what it offers. */
  readonly meet: () => void;
};

export type ChatFlow = {
  readonly view: () => ChatView;
  readonly isOpening: () => boolean;
  /** Why something could not be done; empty when nothing is to be said. */
  readonly words: () => string;
  readonly say: (words: string) => void;
  readonly apply: (input: Input) => void;
  readonly ask: (text: string) => void;
  readonly decide: (call: ToolCall, decision: Decision) => void;
  readonly goOn: () => void;
  /** Tries again what did not come about. */
  readonly again: () => void;
  readonly stop: () => void;
  readonly startAnew: () => void;
  readonly openChat: (chatId: string) => Promise<void>;
};

export const createChatFlow = (page: ChatSurroundings): ChatFlow => {
  let view = newChatView(crypto.randomUUID());
  let turn: Turn | null = null;
  /** What is posted again when somebody tries again. */
  let latest: TurnBody | null = null;
  let opening = false;
  let words = "";
  /** Of this turn, once its run is to be stopped. It goes on when another chat is shown. */
  let cancelling: Stopping | null = null;

  const apply = (input: Input): void => {
    const { chatId } = view;
    view = reduce(view, input);
    // What could not be done stays said while the answer grows.
    if (input.kind !== "event") words = "";
    if (input.kind === "refused" && input.problem.status === 401) page.askForKey();
    if (view.chatId !== chatId) page.goTo(view.chatId);
    page.draw();
  };

  const follow = (start: TurnStart): void => {
    turn?.close();
    cancelling = null;
    if (start.kind === "ask") {
      latest = start.body;
      keepPosted(page.tab, view.chatId, latest, null);
    }
    const mine = followTurn(page.api.send, start, (notice) => {
      if (turn === mine) hear(notice);
    });
    turn = mine;
  };

  const hear = (notice: TurnNotice): void => {
    const stopping = view.phase === "stopping";
    const known = view.runId !== null;
    apply(notice);
    switch (notice.kind) {
      case "accepted":
        if (latest !== null) keepPosted(page.tab, view.chatId, latest, view.runId);
        if (stopping && !known) cancel();
        else cancelling?.now();
        if (!page.lists(view.chatId)) page.readList();
        return;
      case "event":
        return;
      case "lost":
        if (stopping && !known) giveUp();
        return;
      case "done":
        turn = null;
        cancelling?.close();
        page.readList();
        answerCalls();
        return;
      case "refused":
        turn = null;
        cancelling?.close();
        page.readList();
        return;
    }
  };

  const begin = (start: TurnStart): void => {
    apply({ kind: "going_on" });
    follow(start);
  };

  const ask = (text: string): void => {
    if (!canAsk(view) || opening || text.trim() === "") return;
    const message = { id: `user_${crypto.randomUUID()}`, role: "user", parts: [{ kind: "text", text }] } as const;
    apply({ kind: "asked", message });
    page.began(view.chatId);
    follow({ kind: "ask", body: askBody(view, page.model()) });
  };

  const decide = (call: ToolCall, decision: Decision): void => {
    if (isLive(view)) return;
    if (call.target === "frontend") carryOut(call, decision);
    else apply({ kind: "decided", toolCallId: call.toolCallId, decision });
    handIn();
  };

  /** A call of the page's own is carried out, or is not. */
  const carryOut = (call: ToolCall, decision: Decision): void => {
    const output = decision === "deny" ? deniedOutput : runPageTool(call.toolName, call.input, page.means);
    apply({ kind: "settled", toolCallId: call.toolCallId, result: resultOf(output) });
  };

  /** Does what the finished turn asks of this page, as far as nobody need agree. */
  const answerCalls = (): void => {
    if (view.ending !== null || openPageCalls(view).length === 0) return;
    for (const call of openPageCalls(view)) if (!call.confirmation) carryOut(call, "approve");
    handIn();
  };

  /** Once nothing is open any more, the turn goes on. */
  const handIn = (): void => {
    if (openPageCalls(view).length + undecided(view).length > 0) return;
    const made = decided(view).length > 0 ? decisionBody : resultsBody;
    begin({ kind: "ask", body: made(view, page.model()) });
  };

  const goOn = (): void => ask("Continue");

  const again = (): void => {
    if (isLive(view)) return;
    const question = questionOf(view);
    if (latest !== null) return begin({ kind: "ask", body: withModel(latest, page.model()) });
    if (question !== null) return begin({ kind: "ask", body: askBody(question, page.model()) });
    if (view.messages.length > 0) return goOn();
    const { chatId } = view;
    if (page.address() === null) {
      apply({ kind: "opened", chat: { chatId, title: null, messages: [], activeRunId: undefined, lastTurn: null } });
    } else openChat(chatId).catch(reportError);
    page.meet();
  };

  const stop = (): void => {
    if (!isLive(view) || view.phase === "stopping") return;
    const lost = view.phase === "lost";
    apply({ kind: "stop_asked" });
    if (view.runId !== null) cancel();
    else if (lost) giveUp();
  };

  const cancel = (): void => {
    const { runId } = view;
    if (runId === null) return;
    cancelling = keepStopping(
      () => page.api.cancel(runId),
      ({ message, status }) => {
        if (view.runId !== runId) return;
        apply({ kind: "stop_failed" });
        words = isLive(view) ? `Not stopped: ${message || `the server answered ${status}`}` : "";
      },
    );
  };

  const giveUp = (): void => {
    turn?.close();
    turn = null;
    apply({ kind: "given_up" });
  };

  /** `chatId`: of a chat that is kept; null for a new one. */
  const leave = (next: ChatView, chatId: string | null): void => {
    page.turnTo(chatId);
    turn?.close();
    turn = null;
    cancelling = null;
    latest = null;
    opening = false;
    view = next;
    page.draw();
    page.showList();
  };

  const openChat = async (chatId: string): Promise<void> => {
    leave(newChatView(chatId), chatId);
    opening = true;
    const answer = await page.api.history(chatId);
    if (view.chatId !== chatId || !opening) return;
    opening = false;
    if (!answer.ok) return apply({ kind: "refused", problem: answer.problem });
    const chat = storedChat(chatId, answer.value);
    apply({ kind: "opened", chat });
    const runId = chat.activeRunId ?? chat.lastTurn?.runId;
    if (runId !== undefined) latest = keptPosted(page.tab, chatId, runId);
    if (chat.activeRunId !== undefined) begin({ kind: "read", runId: chat.activeRunId });
  };

  return {
    view: () => view,
    isOpening: () => opening,
    words: () => words,
    say: (text) => {
      words = text;
      page.draw();
    },
    apply,
    ask,
    decide,
    goOn,
    again,
    stop,
    startAnew: () => leave(newChatView(crypto.randomUUID()), null),
    openChat,
  };
};
