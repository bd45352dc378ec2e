// The ask view's requests to the kebab endpoints, same origin. Every failure is returned as an AskProblem, never thrown. The API key
// goes into the Authorization header only.
import { type Fields, isFields, parseJson } from "../fields.ts";
import { type AskProblem, noAnswer, problemFrom, type Reached } from "./ask-problem.ts";

export type KebabRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | ArrayBuffer;
  readonly signal?: AbortSignal;
};

/** The answer may have any status; not ok: there was none. */
export type Send = (request: KebabRequest) => Promise<Reached<Response>>;

export type KebabApi = {
  readonly send: Send;
  /** A page of the collection's documents behind the path. */
  readonly collection: (name: string, after: string) => Promise<Reached<Fields>>;
  readonly remove: (collection: string, docPath: string) => Promise<Reached<Fields>>;
  readonly lines: (collection: string, docPath: string, first: number, last: number) => Promise<Reached<Fields>>;
  readonly cancel: (runId: string) => Promise<Reached<Fields>>;
};

/** Milliseconds a request may take that is not a stream. */
const requestMs = 20_000;
/** Documents of a page. */
const pageSize = 200;

/** `origin` is empty for the page's own. */
export const createKebabApi = (origin: string, apiKey: () => string): KebabApi => {
  const send: Send = async ({ path, headers, ...init }) => {
    const key = apiKey();
    const all = { ...headers, ...(key !== "" && { Authorization: `Bearer ${key}` }) };
    try {
      return { ok: true, value: await fetch(`${origin}${path}`, { ...init, headers: all }) };
    } catch {
      return { ok: false, problem: noAnswer };
    }
  };

  const ask = async (method: string, path: string, body?: Fields): Promise<Reached<Fields>> => {
    const answer = await send({
      method,
      path,
      headers: { Accept: "application/json", ...(body !== undefined && { "Content-Type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(requestMs),
    });
    if (!answer.ok) return answer;
    if (!answer.value.ok) return { ok: false, problem: await problemOf(answer.value) };
    try {
      const value = parseJson(await answer.value.text());
      return { ok: true, value: isFields(value) ? value : {} };
    } catch {
      return { ok: false, problem: noAnswer };
    }
  };

  return {
    send,
    collection: (name, after) => {
      const query = new URLSearchParams({ limit: String(pageSize), ...(after !== "" && { after }) });
      return ask("GET", `${collectionPath(name)}?${query.toString()}`);
    },
    remove: (collection, docPath) => ask("DELETE", documentPath(collection, docPath)),
    lines: (collection, docPath, first, last) =>
      ask("GET", `${documentPath(collection, docPath)}?lines=${first}-${last}`),
    cancel: (runId) => ask("POST", `${runPath(runId)}/cancel`, {}),
  };
};

export const runPath = (runId: string): string => `/kebab/runs/${encodeURIComponent(runId)}`;

export const documentPath = (collection: string, docPath: string): string =>
  `${collectionPath(collection)}/documents/${docPath.split("/").map(encodeURIComponent).join("/")}`;

const collectionPath = (name: string): string => `/kebab/collections/${encodeURIComponent(name)}`;

/** What an answer that is not ok says. */
export const problemOf = async (response: Response): Promise<AskProblem> => {
  const value = parseJson(await response.text().catch(() => ""));
  return problemFrom(response.status, isFields(value) ? value : {}, response.headers.get("Retry-After"));
};
