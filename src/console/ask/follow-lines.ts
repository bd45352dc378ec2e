// One stream of lines that is followed to its last one: begun or taken up, and after every lost connection asked for again behind
// the last line seen. What is begun again is the same to the server. It interprets no line but for its number and its being the last.
import { lineReader } from "../../wire/line-reader.ts";
import { type Fields, isFields, numberIn, parseJson, textIn } from "../fields.ts";
import { type Attempt, keepAsking, type Pauses, usualPauses } from "../keep-asking.ts";
import { type AskProblem, noAnswer } from "./ask-problem.ts";
import { type KebabRequest, problemOf, runPath, type Send } from "./kebab-api.ts";

export type LineNotice =
  | { readonly kind: "accepted"; readonly runId: string | null }
  | { readonly kind: "line"; readonly line: Fields }
  | { readonly kind: "lost"; readonly retryInMs: number }
  /** The last line has been told. */
  | { readonly kind: "ended" }
  | { readonly kind: "refused"; readonly problem: AskProblem };

export type Following = {
  /** Stops reading. The run itself goes on at the server. */
  readonly close: () => void;
};

/** `begin`: a request that a repeat of does nothing new; `read`: the run is there already. */
export type LineStart =
  | { readonly kind: "begin"; readonly request: KebabRequest }
  | { readonly kind: "read"; readonly runId: string };

const ndjson = "application/x-ndjson";
/** Bytes of one line. */
const maxLine = 16 * 1024 * 1024;
const lastLines = new Set(["answer.v1", "error.v1", "ingest_report.v1"]);

export const followLines = (
  send: Send,
  start: LineStart,
  notify: (notice: LineNotice) => void,
  pauses: Pauses = usualPauses,
): Following => {
  const closed = new AbortController();
  let runId = start.kind === "read" ? start.runId : null;
  let cursor: number | null = null;

  const tell = (notice: LineNotice): void => {
    if (!closed.signal.aborted) notify(notice);
  };

  const refuse = (problem: AskProblem): true => {
    tell({ kind: "refused", problem });
    return true;
  };

  /** True after the last line. */
  const take = (line: Fields): boolean => {
    cursor = numberIn(line, "sequence") ?? cursor;
    tell({ kind: "line", line });
    const isLast = lastLines.has(textIn(line, "schema_version") ?? "");
    if (isLast) tell({ kind: "ended" });
    return isLast;
  };

  const tryOnce = async (attempt: Attempt): Promise<boolean> => {
    const wanted = runId === null && start.kind === "begin" ? begun(start.request) : readRequest(runId ?? "", cursor);
    const answer = await send({ ...wanted, signal: attempt.signal });
    if (!answer.ok) return false;
    const response = answer.value;
    if (!response.ok) {
      const problem = await problemOf(response);
      // A run that the server has taken is there, whatever it says for the moment.
      return runId !== null && (response.status >= 500 || response.status === 429) ? false : refuse(problem);
    }
    runId = response.headers.get("X-Run-Id") ?? runId;
    tell({ kind: "accepted", runId });
    return response.headers.get("Content-Type")?.startsWith(ndjson) === true
      ? readLines(response, attempt)
      : readWhole(response);
  };

  /** A server that makes no stream of it answers with the last line alone. */
  const readWhole = async (response: Response): Promise<boolean> => {
    const value = parseJson(await response.text().catch(() => ""));
    return isFields(value) && take(value);
  };

  const readLines = async (response: Response, { alive, heard }: Attempt): Promise<boolean> => {
    const reader = response.body?.getReader();
    if (reader === undefined) return false;
    const lines = lineReader(maxLine);
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        alive();
        for (const line of lines.feed(read.value)) {
          if ("tooLong" in line) return refuse({ ...noAnswer, code: undefined, message: "A line was too long." });
          const value = parseJson(line.text);
          if (!isFields(value)) continue;
          heard();
          if (take(value)) return true;
        }
      }
      return false;
    } catch {
      return false;
    } finally {
      reader.cancel().catch(() => {});
    }
  };

  const lost = (retryInMs: number): void => tell({ kind: "lost", retryInMs });
  keepAsking(tryOnce, lost, closed.signal, pauses).catch(reportError);
  return { close: () => closed.abort() };
};

const begun = ({ headers, ...request }: KebabRequest): KebabRequest => ({
  ...request,
  headers: { ...headers, Accept: ndjson },
});

const readRequest = (runId: string, cursor: number | null): KebabRequest => ({
  method: "GET",
  path: `${runPath(runId)}${cursor === null ? "" : `?after=${cursor}`}`,
  headers: { Accept: ndjson },
});
