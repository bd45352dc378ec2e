// The chat's requests to the Sveda endpoints, same origin. Every failure is returned as a ChatProblem, never thrown. The API key
// goes to the token endpoint alone, in a header; everything else is asked with the visitor's token.
import { type Fields, fieldsIn, isFields, parseJson } from "../fields.ts";
import { type ChatProblem, noAnswer, problemFrom } from "./problem.ts";
import { createVisitor, type Fetched, type Keeping } from "./visitor.ts";

export type SvedaRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
};

/** Sends with the visitor's token. The answer may have any status; not ok: there was none, or no token. */
export type Send = (request: SvedaRequest) => Promise<Fetched<Response>>;

export type SvedaApi = {
  readonly send: Send;
  readonly config: () => Promise<Fetched<Fields>>;
  readonly histories: () => Promise<Fetched<Fields>>;
  readonly history: (chatId: string) => Promise<Fetched<Fields>>;
  readonly rename: (chatId: string, title: string) => Promise<Fetched<Fields>>;
  readonly remove: (chatId: string) => Promise<Fetched<Fields>>;
  readonly cancel: (runId: string) => Promise<Fetched<Fields>>;
  /** Another key: another visitor of another tenant. */
  readonly forgetVisitor: () => void;
};

/** Milliseconds a request may take that is not a stream. */
const requestMs = 20_000;

/** `origin` is empty for the page's own. */
export const createSvedaApi = (origin: string, apiKey: () => string, tab: Keeping, browser: Keeping): SvedaApi => {
  const visitor = createVisitor(
    async (body) => {
      const key = apiKey();
      const headers = { "Content-Type": "application/json", ...(key !== "" && { "X-Sveda-Host-Key": key }) };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const answer = await read(() => reach(`${origin}/sveda/embed/token`, init));
      if (answer.ok || answer.problem.status !== 401 || key === "") return answer;
      return { ok: false, problem: { ...answer.problem, code: "wrong_key" } };
    },
    tab,
    browser,
    Date.now,
  );

  const send: Send = async ({ path, headers, ...init }) => {
    for (let last = false; ; last = true) {
      const token = await visitor.token();
      if (!token.ok) return token;
      const answer = await reach(`${origin}${path}`, {
        ...init,
        headers: { ...headers, "X-Sveda-Embed-Token": token.value },
      });
      if (!answer.ok || answer.value.status !== 401 || last) return answer;
      visitor.forget(token.value);
    }
  };

  const ask = (method: string, path: string, body?: Fields): Promise<Fetched<Fields>> =>
    read(() =>
      send({
        method,
        path,
        headers: { Accept: "application/json", ...(body !== undefined && { "Content-Type": "application/json" }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(requestMs),
      }),
    );

  return {
    send,
    config: () => ask("GET", "/sveda/embed/config"),
    histories: () => ask("GET", "/sveda/chat-histories"),
    history: async (chatId) => {
      const answer = await ask("GET", chatPath(chatId));
      return answer.ok ? { ok: true, value: fieldsIn(answer.value, "history") ?? {} } : answer;
    },
    rename: (chatId, title) => ask("PATCH", chatPath(chatId), { title }),
    remove: (chatId) => ask("DELETE", chatPath(chatId)),
    cancel: (runId) => ask("POST", `${runPath(runId)}/cancel`, {}),
    forgetVisitor: () => visitor.forget(),
  };
};

export const runPath = (runId: string): string => `/sveda/runs/${encodeURIComponent(runId)}`;

/** What an answer that is not ok says. */
export const problemOf = async (response: Response): Promise<ChatProblem> => {
  const text = await response.text().catch(() => "");
  const value = parseJson(text);
  // Faults of the request's form are answered in plain text.
  const body = isFields(value)
    ? value
    : { message: response.headers.get("content-type")?.startsWith("text/plain") === true ? text : "" };
  return problemFrom(response.status, body, response.headers.get("Retry-After"));
};

const chatPath = (chatId: string): string => `/sveda/chat-histories/${encodeURIComponent(chatId)}`;

const reach = async (url: string, init: RequestInit): Promise<Fetched<Response>> => {
  try {
    return { ok: true, value: await fetch(url, init) };
  } catch {
    return { ok: false, problem: noAnswer };
  }
};

const read = async (ask: () => Promise<Fetched<Response>>): Promise<Fetched<Fields>> => {
  const answer = await ask();
  if (!answer.ok) return answer;
  if (!answer.value.ok) return { ok: false, problem: await problemOf(answer.value) };
  try {
    const value = parseJson(await answer.value.text());
    return { ok: true, value: isFields(value) ? value : {} };
  } catch {
    return { ok: false, problem: noAnswer };
  }
};
