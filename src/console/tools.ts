// The tool calls of a run as rows, from its three tool events. Pure; a call that was only announced in pieces and never
// made disappears again, because it is void.
import { type Fields, textIn } from "./fields.ts";

export type ToolRow = {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly state: "arriving" | "called" | "answered" | "failed";
  /** JSON text, or as much of it as has arrived. */
  readonly input: string;
  readonly output: string | null;
};

type ToolEvent = "tool_call" | "tool_call_delta" | "tool_result";

/** The rows after one tool event; one without an id changes nothing. */
export const toolsAfter = (rows: readonly ToolRow[], type: ToolEvent, payload: Fields): readonly ToolRow[] => {
  const toolCallId = textIn(payload, "toolCallId");
  if (toolCallId === undefined) return rows;
  const at = rows.findIndex((row) => row.toolCallId === toolCallId);
  const known = rows[at] ?? { toolCallId, toolName: "", state: "arriving", input: "", output: null };
  const row = { ...changed(known, type, payload), toolName: textIn(payload, "toolName") ?? known.toolName };
  return at < 0 ? [...rows, row] : rows.with(at, row);
};

/** The rows without the calls that never became whole. */
export const withoutUnfinished = (rows: readonly ToolRow[]): readonly ToolRow[] =>
  rows.some((row) => row.state === "arriving") ? rows.filter((row) => row.state !== "arriving") : rows;

const changed = (row: ToolRow, type: ToolEvent, payload: Fields): ToolRow => {
  switch (type) {
    case "tool_call_delta":
      return { ...row, input: row.input + (textIn(payload, "inputText") ?? "") };
    case "tool_call":
      return { ...row, state: "called", input: jsonOf(payload, "input") ?? row.input };
    case "tool_result":
      return {
        ...row,
        state: payload["isError"] === true ? "failed" : "answered",
        output: jsonOf(payload, "output") ?? "",
      };
  }
};

/** A value that may travel as JSON text under `nameJson` instead. */
const jsonOf = (payload: Fields, name: string): string | undefined => {
  const value = payload[name];
  if (typeof value === "string") return value;
  return value === undefined ? textIn(payload, `${name}Json`) : JSON.stringify(value, null, 2);
};
