// Wires the chat: composer, buttons, list and address on one side, requests and the followed turn on the other. Holds the only
// mutable state of the view; every rule about a chat is in chat-view.ts. It asks the server for nothing before it is shown.
import type { ApiKey } from "../api-key.ts";
import { byId, keepingFocus } from "../elements.ts";
import { chatIn, type Views } from "../views.ts";
import { createChatList } from "./chat-list.ts";
import { pageTitle, waitWords } from "./chat-words.ts";
import {
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
import { createDrafts } from "./drafts.ts";
import { type ChatRow, chatRows, storedChat } from "./history.ts";
import { createModelChoice } from "./model-choice.ts";
import { deniedOutput, runPageTool } from "./page-tools.ts";
import { canAsk, createRenderChat } from "./render-chat.ts";
import { createSvedaApi } from "./sveda-api.ts";
import { type Decision, resultOf, type ToolCall } from "./tool-calls.ts";
import { followTurn, type Turn, type TurnNotice, type TurnStart } from "./turn.ts";
import { keepPosted, keptPosted } from "./posted.ts";
import { askBody, decisionBody, resultsBody, type TurnBody, withModel } from "./turn-body.ts";

/** At most one drawing per this many milliseconds, however many events arrive. */
const drawMs = 30;

export const startChatPage = (views: Views, apiKey: ApiKey): void => {
  const prompt = byId("chat-prompt", HTMLTextAreaElement);
  const api = createSvedaApi("", apiKey.value, sessionStorage, localStorage);

  let view = newChatView(crypto.randomUUID());
  let rows: readonly ChatRow[] = [];
  let turn: Turn | null = null;
  /** What is posted again when somebody tries again. */
  let latest: TurnBody | null = null;
  let opening = false;
  let words = "";
  let drawing = false;
  let begun = false;

  // By timer and not by animation frame: a hidden tab gets no frames, but its title should still say how it goes.
  const draw = (): void => {
    if (drawing) return;
    drawing = true;
    setTimeout(() => {
      drawing = false;
      render(view, { opening, words });
      views.name("chat", pageTitle(view));
    }, drawMs);
  };

  const apply = (input: Input): void => {
    const { chatId } = view;
    view = reduce(view, input);
    words = "";
    if (input.kind === "refused" && input.problem.status === 401) showKeyField();
    if (view.chatId !== chatId) location.hash = addressOf(view.chatId);
    draw();
  };

  const follow = (start: TurnStart): void => {
    turn?.close();
    if (start.kind === "ask") {
      latest = start.body;
      keepPosted(sessionStorage, view.chatId, latest, null);
    }
    const mine = followTurn(api.send, start, (notice) => {
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
        if (latest !== null) keepPosted(sessionStorage, view.chatId, latest, view.runId);
        if (stopping && !known) cancel().catch(reportError);
        if (!rows.some(({ chatId }) => chatId === view.chatId)) readList().catch(reportError);
        return;
      case "event":
        return;
      case "lost":
        if (stopping && !known) giveUp();
        return;
      case "done":
        turn = null;
        readList().catch(reportError);
        answerCalls();
        return;
      case "refused":
        turn = null;
        readList().catch(reportError);
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
    drafts.began(view.chatId);
    location.hash = addressOf(view.chatId);
    follow({ kind: "ask", body: askBody(view, models.read()) });
  };

  const decide = (call: ToolCall, decision: Decision): void => {
    if (isLive(view)) return;
    if (call.target === "frontend") carryOut(call, decision);
    else apply({ kind: "decided", toolCallId: call.toolCallId, decision });
    handIn();
  };

  /** A call of the page's own is carried out, or is not. */
  const carryOut = (call: ToolCall, decision: Decision): void => {
    const output =
      decision === "deny" ? deniedOutput : runPageTool(call.toolName, call.input, { now: () => new Date(), setAccent });
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
    begin({ kind: "ask", body: made(view, models.read()) });
  };

  const goOn = (): void => ask("Continue");

  const again = (): void => {
    if (isLive(view)) return;
    const question = questionOf(view);
    if (latest !== null) return begin({ kind: "ask", body: withModel(latest, models.read()) });
    if (question !== null) return begin({ kind: "ask", body: askBody(question, models.read()) });
    if (view.messages.length > 0) return goOn();
    const { chatId } = view;
    if (chatIn(location.hash) === null) {
      apply({ kind: "opened", chat: { chatId, title: null, messages: [], activeRunId: undefined, lastTurn: null } });
    } else openChat(chatId).catch(reportError);
    meet().catch(reportError);
  };

  const stop = (): void => {
    if (!isLive(view) || view.phase === "stopping") return;
    const lost = view.phase === "lost";
    apply({ kind: "stop_asked" });
    if (view.runId !== null) cancel().catch(reportError);
    else if (lost) giveUp();
  };

  const cancel = async (): Promise<void> => {
    const { runId } = view;
    if (runId === null) return;
    const answer = await api.cancel(runId);
    if (answer.ok || view.runId !== runId) return;
    apply({ kind: "stop_failed" });
    words = `Not stopped: ${answer.problem.message || `the server answered ${answer.problem.status}`}`;
  };

  const giveUp = (): void => {
    turn?.close();
    turn = null;
    apply({ kind: "given_up" });
  };

  /** `chatId`: of a chat that is kept; null for a new one. */
  const leave = (next: ChatView, chatId: string | null): void => {
    prompt.value = drafts.turnTo(chatId, prompt.value);
    turn?.close();
    turn = null;
    latest = null;
    opening = false;
    view = next;
    draw();
    showRows();
  };

  const openChat = async (chatId: string): Promise<void> => {
    leave(newChatView(chatId), chatId);
    opening = true;
    const answer = await api.history(chatId);
    if (view.chatId !== chatId || !opening) return;
    opening = false;
    if (!answer.ok) return apply({ kind: "refused", problem: answer.problem });
    const chat = storedChat(chatId, answer.value);
    apply({ kind: "opened", chat });
    const runId = chat.activeRunId ?? chat.lastTurn?.runId;
    if (runId !== undefined) latest = keptPosted(sessionStorage, chatId, runId);
    if (chat.activeRunId !== undefined) begin({ kind: "read", runId: chat.activeRunId });
  };

  const showRows = (): void => drawList(rows, view.chatId);

  const readList = async (): Promise<void> => {
    const answer = await api.histories();
    if (!answer.ok) return;
    rows = chatRows(answer.value);
    const own = rows.find(({ chatId }) => chatId === view.chatId);
    if (view.title === null && own !== undefined && own.title !== "") apply({ kind: "renamed", title: own.title });
    showRows();
  };

  const rename = async (row: ChatRow, title: string): Promise<void> => {
    const answer = await api.rename(row.chatId, title);
    if (!answer.ok) return apply({ kind: "refused", problem: answer.problem });
    if (row.chatId === view.chatId) apply({ kind: "renamed", title });
    await readList();
  };

  const remove = async (row: ChatRow): Promise<void> => {
    const answer = await api.remove(row.chatId);
    if (!answer.ok && answer.problem.status !== 404) return apply({ kind: "refused", problem: answer.problem });
    if (row.chatId === view.chatId) {
      leave(newChatView(crypto.randomUUID()), null);
      location.hash = "chat";
    }
    await readList();
  };

  /** Asks the server what it offers, and for the chats. */
  const meet = async (): Promise<void> => {
    const answer = await api.config();
    if (answer.ok) models.offer(answer.value);
    else if (!isLive(view)) apply({ kind: "refused", problem: answer.problem });
    if (answer.ok) await readList();
  };

  const show = (): void => {
    if (views.shown() !== "chat") return;
    if (!begun) {
      begun = true;
      meet().catch(reportError);
    }
    showPanel(false);
    const chatId = chatIn(location.hash);
    if (chatId === null) {
      if (view.messages.length > 0 || opening) leave(newChatView(crypto.randomUUID()), null);
    } else if (chatId !== view.chatId) openChat(chatId).catch(reportError);
  };

  const drafts = createDrafts();
  const models = createModelChoice(sessionStorage, (text) => ask(text));
  const render = createRenderChat(
    { yes: (call) => decide(call, "approve"), no: (call) => decide(call, "deny") },
    { again, goOn },
  );
  const drawList = createChatList({
    rename: (row, title) => {
      rename(row, title).catch(reportError);
    },
    remove: (row) => {
      remove(row).catch(reportError);
    },
  });

  const submit = (): void => {
    const text = prompt.value;
    if (text.trim() === "") return;
    words = waitWords(view, opening);
    if (words !== "") return draw();
    prompt.value = "";
    ask(text);
    prompt.focus({ preventScroll: true });
  };
  byId("chat-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  prompt.addEventListener("input", () => {
    words = "";
    draw();
  });
  prompt.addEventListener("keydown", (event) => {
    // On a touch keyboard Enter is the only way to a new line.
    const newLine = event.shiftKey || event.isComposing || matchMedia("(pointer: coarse)").matches;
    if (event.key !== "Enter" || (newLine && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    submit();
  });
  byId("chat-stop", HTMLButtonElement).addEventListener("click", stop);
  byId("new-chat", HTMLButtonElement).addEventListener("click", () => {
    leave(newChatView(crypto.randomUUID()), null);
    location.hash = "chat";
    prompt.focus();
  });
  byId("chats-toggle", HTMLButtonElement).addEventListener("click", ({ currentTarget }) => {
    showPanel(currentTarget instanceof HTMLElement && currentTarget.ariaExpanded !== "true");
  });
  document.addEventListener("keydown", (event) => {
    const elsewhere = event.isComposing || event.target instanceof HTMLSelectElement;
    if (event.key !== "Escape" || elsewhere || document.querySelector("dialog[open]") !== null) return;
    if (views.shown() === "chat") stop();
  });
  document.addEventListener("visibilitychange", () => {
    if (begun && !document.hidden) readList().catch(reportError);
  });
  apiKey.onChange(() => {
    api.forgetVisitor();
    if (!begun) return;
    leave(newChatView(crypto.randomUUID()), null);
    rows = [];
    showRows();
    if (views.shown() === "chat") location.hash = "chat";
    meet().catch(reportError);
  });
  views.onShow(show);
  draw();
  show();
};

const addressOf = (chatId: string): string => `chat=${encodeURIComponent(chatId)}`;

const setAccent = (color: string): void => {
  document.documentElement.dataset["accent"] = color;
};

const showKeyField = (): void => {
  showPanel(true);
  const fold = byId("chat-key", HTMLElement).closest("details");
  if (fold !== null) fold.open = true;
};

/** On a narrow page the list is folded away. */
const showPanel = (open: boolean): void => {
  const panel = byId("chats-panel", HTMLElement);
  keepingFocus(panel, byId("talk-scroll", HTMLElement), () => {
    panel.dataset["open"] = String(open);
    byId("chats-toggle", HTMLButtonElement).ariaExpanded = String(open);
  });
};
