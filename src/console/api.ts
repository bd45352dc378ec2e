// The console's requests to the native HTTP surface, same origin. Every failure is returned as a Problem, never thrown.
// The API key goes into the Authorization header only; a URL carries a ticket for one run instead.
import { type Fields, fieldsIn, isFields, listIn, numberIn, parseJson, textIn } from "./fields.ts";
import type { ValidationIssue } from "../../schemas/problem.ts";

export type Problem = {
  /** HTTP status; null when no answer came. */
  readonly status: number | null;
  readonly errorClass: string;
  readonly code: string | undefined;
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  readonly issues: readonly ValidationIssue[];
};

export type Answer<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: Problem };

/** An answer's status and its JSON object; an empty object when the body is none. */
export type Reply = { readonly status: number; readonly body: Fields };

export type Api = {
  readonly routes: () => Promise<Answer<Reply>>;
  readonly start: (body: Fields) => Promise<Answer<Reply>>;
  readonly state: (runId: string) => Promise<Answer<Reply>>;
  readonly outcome: (runId: string) => Promise<Answer<Reply>>;
  readonly cancel: (runId: string, reason: string) => Promise<Answer<Reply>>;
  /** URL for an EventSource from the event after the cursor, with a ticket when there is an API key. */
  readonly eventsUrl: (runId: string, cursor: number | null) => Promise<Answer<string>>;
  /** Asks the stream's URL for its status alone, which an EventSource does not tell. */
  readonly probe: (url: string) => Promise<Answer<number>>;
};

/** Milliseconds a request may take; the attach wait of an unknown run is within it. */
const requestMs = 20_000;
const ticketSeconds = 3_600;

export const createApi = (apiKey: () => string): Api => {
  const call = async (method: string, path: string, body?: Fields): Promise<Answer<Reply>> => {
    const headers = new Headers({ Accept: "application/json" });
    if (apiKey() !== "") headers.set("Authorization", `Bearer ${apiKey()}`);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    try {
      const response = await fetch(path, {
        method,
        headers,
        signal: AbortSignal.timeout(requestMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const value = parseJson(await response.text());
      const fields = isFields(value) ? value : {};
      if (response.ok) return { ok: true, value: { status: response.status, body: fields } };
      return { ok: false, problem: problemFrom(fields, response.status) };
    } catch (error) {
      return { ok: false, problem: noAnswer(error) };
    }
  };

  return {
    routes: () => call("GET", "/v1/routes"),
    start: (body) => call("POST", "/v1/runs", body),
    state: (runId) => call("GET", runPath(runId)),
    outcome: (runId) => call("GET", `${runPath(runId)}/outcome`),
    cancel: (runId, reason) => call("POST", `${runPath(runId)}/cancel`, { reason }),
    eventsUrl: async (runId, cursor) => {
      const query = new URLSearchParams();
      if (cursor !== null) query.set("after", String(cursor));
      if (apiKey() !== "") {
        const answer = await call("POST", "/v1/tickets", { runId, scope: ["read"], expiresIn: ticketSeconds });
        if (!answer.ok) return answer;
        query.set("ticket", textIn(answer.value.body, "ticket") ?? "");
      }
      const search = query.toString();
      return { ok: true, value: `${runPath(runId)}/events${search === "" ? "" : `?${search}`}` };
    },
    probe: async (url) => {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), requestMs);
      try {
        const response = await fetch(url, { headers: { Accept: "text/event-stream" }, signal: abort.signal });
        if (response.ok) return { ok: true, value: response.status };
        const value = parseJson(await response.text());
        return { ok: false, problem: problemFrom(isFields(value) ? value : {}, response.status) };
      } catch (error) {
        return { ok: false, problem: noAnswer(error) };
      } finally {
        clearTimeout(timer);
        abort.abort();
      }
    },
  };
};

/** An IndeRunError as the console shows it; what it lacks is filled with plain words. */
export const problemFrom = (error: Fields, status: number | null): Problem => {
  const details = fieldsIn(error, "details");
  return {
    status,
    errorClass: textIn(error, "errorClass") ?? "Error",
    code: textIn(details, "code"),
    message: textIn(error, "message") ?? (status === null ? "No message was given." : `The server answered ${status}.`),
    retryAfterMs: numberIn(error, "retryAfterMs"),
    issues: listIn(details, "validationIssues").map((issue) => ({
      path: textIn(issue, "path") ?? "",
      message: textIn(issue, "message") ?? "",
      keyword: textIn(issue, "keyword") ?? "",
    })),
  };
};

const runPath = (runId: string): string => `/v1/runs/${encodeURIComponent(runId)}`;

const noAnswer = (error: unknown): Problem => ({
  status: null,
  errorClass: "No answer",
  code: undefined,
  message:
    error instanceof DOMException && error.name === "TimeoutError"
      ? `The server did not answer within ${requestMs / 1_000} seconds.`
      : "The server cannot be reached.",
  retryAfterMs: undefined,
  issues: [],
});
