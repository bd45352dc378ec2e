// How provider events become text on the wire: SSE frames in any of the allowed spellings, NDJSON lines, and whole error
// answers. It knows no provider's fields and cuts nothing: splitting is the business of scripts.ts.

export type LineEnd = "\n" | "\r\n" | "\r";

/** Spellings of SSE that mean the same. */
export interface Spelling {
  /** Default: LF. */
  readonly lineEnd?: LineEnd;
  /** The optional space after the colon; default true. */
  readonly space?: boolean;
}

/** A response that is one body, made for `errorScript`. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One SSE event with its closing blank line; a payload that is no string is written as JSON. */
export function sseEvent(payload: unknown, spelling: Spelling = {}, eventName?: string): string {
  const { lineEnd = "\n", space = true } = spelling;
  const gap = space ? " " : "";
  const name = eventName === undefined ? "" : `event:${gap}${eventName}${lineEnd}`;
  return `${name}data:${gap}${typeof payload === "string" ? payload : JSON.stringify(payload)}${lineEnd}${lineEnd}`;
}

/** One SSE comment, followed by a blank line as gateways write it. */
export function sseComment(text: string, spelling: Spelling = {}): string {
  const { lineEnd = "\n" } = spelling;
  return `: ${text}${lineEnd}${lineEnd}`;
}

/** One line of NDJSON. */
export function jsonLine(payload: unknown, lineEnd: LineEnd = "\n"): string {
  return `${JSON.stringify(payload)}${lineEnd}`;
}

/** A JSON body with its status. */
export function jsonAnswer(status: number, payload: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(payload) };
}
