// What happens with the open question: asked, or opened by its run, followed to its last line, stopped. Holds the only mutable state
// of it; every rule about it is in answer-view.ts. It knows no element.
import type { Keeping } from "../chat/visitor.ts";
import { type Fields, textIn } from "../fields.ts";
import { keepStopping, type Stopping } from "../keep-stopping.ts";
import { type AskView, askedView, type Input, isLive, newAskView, reduce } from "./answer-view.ts";
import { followLines, type Following, type LineNotice, type LineStart } from "./follow-lines.ts";
import type { KebabApi } from "./kebab-api.ts";
import { keepPosted, keepQuestion, keptPosted, keptQuestions, type Posted } from "./kept-questions.ts";

/** What a question needs of the page around it. */
export type AskSurroundings = {
  readonly api: KebabApi;
  readonly tab: Keeping;
  readonly goTo: (runId: string, collection: string) => void;
  readonly draw: () => void;
  readonly askForKey: () => void;
  /** Another question is shown. */
  readonly turned: () => void;
};

export type AskFlow = {
  readonly view: () => AskView;
  /** Why something could not be done; empty when nothing is to be said. */
  readonly words: () => string;
  /** `body`: of `POST /kebab/ask`. */
  readonly ask: (body: Fields) => void;
  /** Takes up what was posted before the page went away; false: nothing was. */
  readonly takeUp: () => boolean;
  readonly open: (runId: string, collection: string) => void;
  readonly leave: (collection: string) => void;
  readonly stop: () => void;
};

export const createAskFlow = (page: AskSurroundings, collection: string): AskFlow => {
  let view = newAskView(collection);
  let following: Following | null = null;
  /** Of this question, once its run is to be stopped. It goes on when another one is shown. */
  let cancelling: Stopping | null = null;
  let words = "";

  const apply = (input: Input): void => {
    view = reduce(view, input);
    // What could not be done stays said while the answer grows.
    if (input.kind !== "line" || !isLive(view)) words = "";
    page.draw();
  };

  const turnTo = (next: AskView, start: LineStart | null): void => {
    following?.close();
    following = null;
    cancelling = null;
    view = next;
    words = "";
    page.turned();
    page.draw();
    if (start === null) return;
    const mine = followLines(page.api.send, start, (notice) => {
      if (following === mine) hear(notice);
    });
    following = mine;
  };

  const hear = (notice: LineNotice): void => {
    const stopping = view.phase === "stopping";
    const known = view.runId !== null;
    if (notice.kind !== "ended") apply(notice);
    switch (notice.kind) {
      case "accepted":
        if (!known) accepted();
        if (stopping && !known) cancel();
        else cancelling?.now();
        return;
      case "lost":
        if (stopping && !known) giveUp();
        return;
      case "refused":
        following = null;
        cancelling?.close();
        keepPosted(page.tab, null);
        if (notice.problem.status === 401) page.askForKey();
        return;
      case "ended":
        following = null;
        cancelling?.close();
        return;
      case "line":
        return;
    }
  };

  const accepted = (): void => {
    keepPosted(page.tab, null);
    const { runId, question } = view;
    if (runId === null) return;
    if (question !== null) keepQuestion(page.tab, { runId, question, collection: view.collection });
    page.goTo(runId, view.collection);
  };

  const begin = ({ body, identity }: Posted): void => {
    const headers = { "Content-Type": "application/json", "Idempotency-Key": identity };
    const request = { method: "POST", path: "/kebab/ask", headers, body: JSON.stringify(body) };
    turnTo(askedView(textIn(body, "collection") ?? "default", textIn(body, "question") ?? null, null), {
      kind: "begin",
      request,
    });
  };

  const cancel = (): void => {
    const { runId } = view;
    if (runId === null) return;
    cancelling = keepStopping(
      () => page.api.cancel(runId),
      ({ message }) => {
        if (view.runId !== runId) return;
        apply({ kind: "stop_failed" });
        words = isLive(view) ? `Not stopped: ${message}` : "";
      },
    );
  };

  const giveUp = (): void => {
    following?.close();
    following = null;
    keepPosted(page.tab, null);
    apply({ kind: "given_up" });
  };

  return {
    view: () => view,
    words: () => words,
    ask: (body) => {
      const posted = { body, identity: `ask-${crypto.randomUUID()}` };
      keepPosted(page.tab, posted);
      begin(posted);
    },
    takeUp: () => {
      const posted = keptPosted(page.tab);
      if (posted !== null) begin(posted);
      return posted !== null;
    },
    open: (runId, from) => {
      keepPosted(page.tab, null);
      const kept = keptQuestions(page.tab).find((asked) => asked.runId === runId);
      turnTo(askedView(from, kept?.question ?? null, runId), { kind: "read", runId });
    },
    leave: (to) => {
      keepPosted(page.tab, null);
      turnTo(newAskView(to), null);
    },
    stop: () => {
      if (!isLive(view) || view.phase === "stopping") return;
      const lost = view.phase === "lost";
      apply({ kind: "stop_asked" });
      if (view.runId !== null) cancel();
      else if (lost) giveUp();
    },
  };
};
