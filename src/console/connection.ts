// One followed run: an EventSource, its cursor and its ways to fail. It reconnects until the terminal has arrived or the
// server has refused for good, and it never interprets events beyond their number and the terminal's type.
import type { Api, Answer, Problem } from "./api.ts";
import { problemFrom } from "./api.ts";
import { isFields, numberIn, parseJson, textIn } from "./fields.ts";
import type { ReceivedEvent } from "./run-view.ts";

export type Notice =
  | { readonly kind: "opened" }
  | { readonly kind: "lost" }
  | { readonly kind: "event"; readonly event: ReceivedEvent }
  /** The server has nothing after the cursor and never will. */
  | { readonly kind: "closed" }
  | { readonly kind: "refused"; readonly problem: Problem };

export type Connection = { readonly close: () => void };

type ConnectionApi = Pick<Api, "eventsUrl" | "probe" | "state">;

const firstRetryMs = 1_000;
const maxRetryMs = 15_000;

/** Follows a run from the event after `cursor` (null: from the first) and reports through `notify` until closed. */
export const follow = (
  api: ConnectionApi,
  runId: string,
  after: number | null,
  notify: (notice: Notice) => void,
): Connection => {
  let cursor = after;
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let closed = false;

  const close = (): void => {
    closed = true;
    clearTimeout(timer);
    source?.close();
  };

  const finish = (notice: Notice): void => {
    if (closed) return;
    close();
    notify(notice);
  };

  const retry = (): void => {
    notify({ kind: "lost" });
    const delay = Math.min(firstRetryMs * 2 ** failures, maxRetryMs);
    failures += 1;
    timer = setTimeout(() => open().catch(reportError), delay);
  };

  const open = async (): Promise<void> => {
    const url = await api.eventsUrl(runId, cursor);
    if (closed) return;
    if (!url.ok) return settle(url);
    source = new EventSource(url.value);
    source.addEventListener("open", () => notify({ kind: "opened" }));
    source.addEventListener("message", (message) => take(message));
    source.addEventListener("error", (event) => {
      if (closed) return;
      if (event instanceof MessageEvent) finish({ kind: "refused", problem: refusalIn(event.data) });
      else if (source?.readyState === EventSource.CLOSED) diagnose().catch(reportError);
      else notify({ kind: "lost" });
    });
  };

  const take = (message: MessageEvent): void => {
    const event = eventIn(message.data);
    if (event === null || closed) return;
    failures = 0;
    cursor = cursor === null ? event.sequence : Math.max(cursor, event.sequence);
    if (event.type === "terminal") close();
    notify({ kind: "event", event });
  };

  // An EventSource that gives up says nothing about why. The run's state is asked first, because the stream of an
  // unknown run waits for it to start before it answers 404. The URL is made anew: a ticket in the old one may have expired.
  const diagnose = async (): Promise<void> => {
    const state = await api.state(runId);
    if (closed) return;
    if (!state.ok) return settle(state);
    const url = await api.eventsUrl(runId, cursor);
    const stream = url.ok ? await api.probe(url.value) : url;
    if (!closed) settle(stream);
  };

  const settle = (answer: Answer<unknown>): void => {
    if (answer.ok) return answer.value === 204 ? finish({ kind: "closed" }) : retry();
    const { problem } = answer;
    if (problem.status !== null && problem.status < 500 && problem.status !== 429) finish({ kind: "refused", problem });
    else retry();
  };

  open().catch(reportError);
  return { close };
};

/** The event of one frame, or null when the frame is no StreamEvent. */
const eventIn = (text: unknown): ReceivedEvent | null => {
  const value = typeof text === "string" ? parseJson(text) : undefined;
  if (!isFields(value)) return null;
  const sequence = numberIn(value, "sequence");
  const type = textIn(value, "type");
  if (sequence === undefined || type === undefined) return null;
  const payload = value["payload"];
  return { sequence, type, timestamp: numberIn(value, "timestamp") ?? 0, payload: isFields(payload) ? payload : {} };
};

const refusalIn = (text: unknown): Problem => {
  const value = typeof text === "string" ? parseJson(text) : undefined;
  return problemFrom(isFields(value) ? value : {}, null);
};
