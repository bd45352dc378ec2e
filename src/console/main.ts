// Wires the page: form, buttons, keys and address on one side, requests and the followed run on the other. Holds the only
// mutable state of the runs' view; every rule about a run is in run-view.ts. Chat and ask are other views of the same page.
import { createApiKey } from "./api-key.ts";
import { createApi, type Problem } from "./api.ts";
import { startAskPage } from "./ask/ask-page.ts";
import { startChatPage } from "./chat/chat-page.ts";
import { type Connection, follow, type Notice } from "./connection.ts";
import { byId } from "./elements.ts";
import { type Fields, textIn } from "./fields.ts";
import { keepStopping, type Stopping } from "./keep-stopping.ts";
import { clearProblem, showProblem } from "./problem-panel.ts";
import { canCancel, canDrop, canResume, createRender } from "./render.ts";
import { type Input, newRunView, reduce, type RunView } from "./run-view.ts";
import { markFaults, offerRoutes, readForm } from "./start-form.ts";
import { createViews } from "./views.ts";

const clockMs = 250;
/** At most one drawing per this many milliseconds, however many events arrive. */
const drawMs = 30;

const repeatAdvice = "Start again as it is: the same request keeps its run id and is run once.";
const rereadAdvice = "Reload the page to read the run from its first event.";

const prompt = byId("prompt", HTMLTextAreaElement);
const apiKey = createApiKey(
  [byId("api-key", HTMLInputElement), byId("chat-key", HTMLInputElement), byId("ask-key", HTMLInputElement)],
  sessionStorage,
);
const startButton = byId("start", HTMLButtonElement);
const views = createViews();
const render = createRender((title) => views.name("runs", title));
const api = createApi(apiKey.value);

let view: RunView | null = null;
let connection: Connection | null = null;
/** Of the run shown, once it is to be cancelled. It goes on when another one is shown. */
let cancelling: Stopping | null = null;
let starting = false;
/** A start whose answer never came: the same form sends the same request again, which the server runs once. */
let unanswered: { readonly form: string; readonly requestId: string } | null = null;
let drawing = false;

// By timer and not by animation frame: a hidden tab gets no frames, but its title should still say how the run goes.
const draw = (): void => {
  if (drawing) return;
  drawing = true;
  setTimeout(() => {
    drawing = false;
    if (view !== null) render(view, Date.now());
  }, drawMs);
};

const apply = (input: Input): void => {
  if (view === null) return;
  view = reduce(view, input);
  draw();
};

const connect = (runId: string, after: number | null): void => {
  connection?.close();
  connection = follow(api, runId, after, (notice) => hear(runId, notice));
};

const hear = (runId: string, notice: Notice): void => {
  if (view?.runId !== runId) return;
  switch (notice.kind) {
    case "event":
      apply(notice);
      if (notice.event.type !== "terminal") return;
      cancelling?.close();
      readFacts(runId).catch(reportError);
      return;
    case "refused":
      apply({ kind: "refused" });
      showProblem("The stream was refused", notice.problem, notice.problem.status === null ? rereadAdvice : undefined);
      if (notice.problem.status === 410) readOutcome(runId).catch(reportError);
      return;
    case "closed":
      apply(notice);
      readOutcome(runId).catch(reportError);
      return;
    case "opened":
      clearProblem();
      cancelling?.now();
      apply(notice);
      return;
    case "lost":
      apply(notice);
      return;
  }
};

const readOutcome = async (runId: string): Promise<void> => {
  const answer = await api.outcome(runId);
  if (view?.runId !== runId || !answer.ok) return;
  takeOutcome(answer.value.body);
  await readFacts(runId);
};

const readFacts = async (runId: string): Promise<void> => {
  const answer = await api.state(runId);
  if (view?.runId === runId && answer.ok) apply({ kind: "facts", facts: answer.value.body });
};

const takeOutcome = (body: Fields): void => {
  if (textIn(body, "outcome") !== undefined) apply({ kind: "outcome", outcome: body });
};

const openRun = (runId: string): void => {
  clearProblem();
  view = newRunView(runId);
  cancelling = null;
  connect(runId, null);
  draw();
};

const openFromAddress = (): void => {
  const runId = new URLSearchParams(location.hash.slice(1)).get("run");
  if (runId !== null && runId !== "" && runId !== view?.runId) openRun(runId);
};

const start = async (): Promise<void> => {
  if (starting || prompt.value.trim() === "") return;
  starting = true;
  const focused = document.activeElement === startButton;
  offerStart();
  const body = readForm();
  const form = JSON.stringify(body);
  const requestId = unanswered?.form === form ? unanswered.requestId : `run-${crypto.randomUUID()}`;
  try {
    const answer = await api.start({ ...body, requestId });
    markFaults(answer.ok ? [] : answer.problem.issues);
    unanswered = !answer.ok && answer.problem.status === null ? { form, requestId } : null;
    if (answer.ok) show(textIn(answer.value.body, "runId") ?? requestId);
    else if (unanswered === null) fail("The run was not started", answer.problem);
    else fail("The start was not answered", answer.problem, repeatAdvice);
  } finally {
    starting = false;
    offerStart();
    if (focused && document.activeElement === document.body) startButton.focus({ preventScroll: true });
  }
};

const show = (runId: string): void => {
  openRun(runId);
  location.hash = `run=${encodeURIComponent(runId)}`;
  byId("run", HTMLElement).scrollIntoView({ block: "nearest" });
};

const fail = (heading: string, problem: Problem, advice?: string): void => {
  showProblem(heading, problem, advice);
  byId("problem", HTMLElement).scrollIntoView({ block: "nearest" });
};

const drop = (): void => {
  if (view === null || !canDrop(view)) return;
  connection?.close();
  apply({ kind: "dropped" });
};

const resume = (): void => {
  if (view === null || !canResume(view)) return;
  apply({ kind: "resumed" });
  connect(view.runId, view.integrity.last);
};

const cancel = (): void => {
  if (view === null || !canCancel(view)) return;
  const { runId } = view;
  apply({ kind: "cancel_asked" });
  const ask = async (): ReturnType<typeof api.cancel> => {
    const answer = await api.cancel(runId, "cancelled in the console");
    if (answer.ok && view?.runId === runId) takeOutcome(answer.value.body);
    return answer;
  };
  cancelling = keepStopping(ask, (problem) => {
    if (view?.runId !== runId) return;
    apply({ kind: "cancel_failed" });
    fail("The run was not cancelled", problem);
  });
};

const readRoutes = async (): Promise<void> => {
  const answer = await api.routes();
  if (answer.ok) offerRoutes(answer.value.body);
  else showProblem("The routes could not be read", answer.problem);
};

const offerStart = (): void => {
  startButton.disabled = starting || prompt.value.trim() === "";
};

apiKey.onChange(() => {
  clearProblem();
  readRoutes().catch(reportError);
});
prompt.addEventListener("input", offerStart);
prompt.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  start().catch(reportError);
});
byId("start-form", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  start().catch(reportError);
});
byId("drop", HTMLButtonElement).addEventListener("click", drop);
byId("resume", HTMLButtonElement).addEventListener("click", resume);
byId("cancel", HTMLButtonElement).addEventListener("click", cancel);
document.addEventListener("keydown", (event) => {
  // Escape also closes an open select and ends a composition; those are not meant for the run.
  if (event.key !== "Escape" || event.isComposing || event.target instanceof HTMLSelectElement) return;
  if (views.shown() !== "runs") return;
  cancel();
});
window.addEventListener("hashchange", openFromAddress);
setInterval(() => {
  if (view?.status === "running" && view.startedAt !== null) draw();
}, clockMs);

offerStart();
readRoutes().catch(reportError);
openFromAddress();
startChatPage(views, apiKey);
startAskPage(views, apiKey);
