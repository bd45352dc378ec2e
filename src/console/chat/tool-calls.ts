// The tool calls of a chat: what was called, what must be decided, what came back. Pure; it never decides for anybody.
import { type Fields, fieldsIn, isFields, listIn, textIn } from "../fields.ts";
import { asksFirst } from "./page-tools.ts";
import { isWebAddress } from "./rich-text.ts";

export type ResourceLink = { readonly label: string; readonly url: string };

export type CallResult = {
  readonly kind: "done" | "failed" | "denied";
  /** Any JSON value. */
  readonly output: unknown;
  /** http and https only. */
  readonly links: readonly ResourceLink[];
};

export type Decision = "approve" | "deny";

export type ToolCall = {
  readonly toolCallId: string;
  readonly toolName: string;
  /** `backend`: the server carries it out; `frontend`: this page. */
  readonly target: "backend" | "frontend";
  readonly input: Fields;
  /** A person must agree first. */
  readonly confirmation: boolean;
  /** What was said about it, while its result is outstanding. */
  readonly decision: Decision | null;
  readonly result: CallResult | null;
  /** What was said here was not done: another page's decision came first. */
  readonly overruled?: true;
};

export type CallState =
  | "running"
  /** For a person's yes or no. */
  | "waiting"
  /** Decided, and not sent before the other decisions of the same answer are made. */
  | "approved"
  | "refused"
  /** Nobody carries it out any more. */
  | "left open"
  | CallResult["kind"];

/** `live`: a turn runs that may carry the call out. */
export const callState = (call: ToolCall, live: boolean): CallState => {
  if (call.result !== null) return call.result.kind;
  if (call.decision !== null) return live ? "running" : call.decision === "approve" ? "approved" : "refused";
  if (call.target === "frontend") return live && !call.confirmation ? "running" : "waiting";
  if (call.confirmation) return "waiting";
  return live ? "running" : "left open";
};

/** The call of a `tool.call` event or of a `tool-call` part; undefined without an id. */
export const callFrom = (from: Fields): ToolCall | undefined => {
  const toolCallId = textIn(from, "toolCallId");
  if (toolCallId === undefined) return undefined;
  const toolName = textIn(from, "toolName") ?? "";
  const target = textIn(from, "target") === "frontend" ? "frontend" : "backend";
  return {
    toolCallId,
    toolName,
    target,
    input: fieldsIn(from, "input") ?? {},
    // Whether the page asks before it carries out a tool of its own is the page's affair.
    confirmation: from["confirmation"] === "required" || (target === "frontend" && asksFirst(toolName)),
    decision: null,
    result: null,
  };
};

/** The result of a `tool.result` event or of a `tool-result` part. */
export const resultFrom = (from: Fields): CallResult => {
  const output = from["output"] ?? null;
  const shown = textIn(from, "renderHint") === "resource_links" ? listIn(fieldsIn(from, "renderData"), "links") : [];
  return {
    kind: kindOf(output),
    output,
    links: shown.flatMap((link) => {
      const url = textIn(link, "url");
      return url === undefined || !isWebAddress(url) ? [] : [{ label: textIn(link, "label") ?? url, url }];
    }),
  };
};

/** What a page's own call is answered with. */
export const resultOf = (output: unknown): CallResult => resultFrom({ output });

const kindOf = (output: unknown): CallResult["kind"] => {
  if (!isFields(output) || output["success"] !== false) return "done";
  return output["denied"] === true ? "denied" : "failed";
};
