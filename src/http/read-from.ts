// Where a reader wants to start, in which framing and dialect: Last-Event-ID, query, Accept. Pure.
import type { ReadFrom } from "../../schemas/attach.ts";
import type { Framing } from "../../schemas/framing.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { dialectIn, isDialectId, type DialectId } from "../dialects/index.ts";
import { fieldProblem, found, refused, type Result } from "./problem.ts";

export interface ReadingStart {
  from: ReadFrom;
  /** Where the request says so; named when the run has not come that far. */
  field: string;
}

/**
 * Last-Event-ID beats the query: an EventSource comes back to the same URL. An empty cursor counts as none. Where frames have
 * ids of their dialect's making, the dialect reads them.
 */
export function readFrom(request: Request): Result<ReadingStart> {
  const query = new URL(request.url).searchParams;
  const dialect = dialectNamed(query.get("dialect"));
  const hasOwnIds = dialect !== undefined && "follow" in dialect;
  const cursors: [string, string | null][] = [
    ["header:Last-Event-ID", request.headers.get("last-event-id")],
    ["query:after", query.get("after")],
    ["query:lastEventId", query.get("lastEventId")],
  ];
  for (const [field, value] of cursors) {
    if (value === null || value.trim() === "") continue;
    if (hasOwnIds) return found({ from: { id: value.trim() }, field });
    const after = parseCursor(value.trim());
    if (after === undefined)
      return refused(fieldProblem(field, "must be a whole number, the last sequence seen", "cursor"));
    return found({ from: { after }, field });
  }
  const field = "query:from";
  const from = query.get("from");
  if (from === null || from === "") return found({ from: "start", field });
  if (from === "snapshot" && dialect !== undefined && (hasOwnIds || !dialect.replaces)) {
    return refused(fieldProblem(field, "cannot be 'snapshot' in this dialect", "enum"));
  }
  if (from === "now" || from === "snapshot") return found({ from, field });
  return refused(fieldProblem(field, "must be 'now' or 'snapshot'", "enum"));
}

/** `undefined` for an unknown one, which is refused for that. */
const dialectNamed = (name: string | null): Dialect | undefined =>
  name !== null && isDialectId(name) ? dialectIn(name, "sse") : undefined;

function parseCursor(text: string): number | undefined {
  if (!/^(0|[1-9]\d{0,15})$/.test(text)) return undefined;
  const cursor = Number(text);
  return Number.isSafeInteger(cursor) ? cursor : undefined;
}

/** The stream a client asks for, if it asks for one. */
export function framingOf(request: Request): Framing | undefined {
  const accept = request.headers.get("accept") ?? "";
  const [sse, ndjson] = [weightOf(accept, "text/event-stream"), weightOf(accept, "application/x-ndjson")];
  if (sse === 0 && ndjson === 0) return undefined;
  return sse >= ndjson ? "sse" : "ndjson";
}

/** The weight (RFC 9110, 12.4.2) that a type is named with; 0 when it is not, wildcards included. */
function weightOf(accept: string, type: string): number {
  const ranges = accept.toLowerCase().split(",");
  const range = ranges.map((entry) => entry.split(";").map((part) => part.trim())).find(([name]) => name === type);
  if (range === undefined) return 0;
  const weight = Number(range.find((part) => part.startsWith("q="))?.slice(2) ?? 1);
  return Number.isFinite(weight) ? weight : 1;
}

/** The stream's dialect, by name, in the framing that is asked for. */
export function dialectOf(request: Request): Result<DialectId> {
  const field = "query:dialect";
  const dialect = new URL(request.url).searchParams.get("dialect") ?? "inderun";
  if (!isDialectId(dialect)) return refused(fieldProblem(field, "names no dialect of this server", "enum"));
  return dialectIn(dialect, framingOf(request) ?? "sse") === undefined
    ? refused(fieldProblem(field, "names a dialect that does not come in this framing", "enum"))
    : found(dialect);
}

/** Whole seconds, 0 to 55, as milliseconds; 0 when the parameter is absent. */
export function waitMs(request: Request): Result<number | undefined> {
  const value = new URL(request.url).searchParams.get("wait");
  if (value === null) return found(undefined);
  const seconds = /^\d{1,2}$/.test(value) ? Number(value) : Number.NaN;
  if (seconds <= 55) return found(seconds * 1000);
  return refused(fieldProblem("query:wait", "must be whole seconds from 0 to 55", "range"));
}
