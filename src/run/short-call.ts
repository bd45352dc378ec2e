// Calls and results made short, for whoever reads of them once they have been made. Pure: what is to be carried out is no business of this.
import type { JsonRecord } from "../../schemas/json.ts";
import type { CallRecord, ToolResult } from "../../schemas/tool.ts";
import { cutText } from "./tool-output.ts";
import { utf8Length } from "./utf8.ts";

/** UTF-8 bytes that are left of an output, or of an input as one text, that is cut. */
export const SHORT_OUTPUT = 2048;
/** UTF-8 bytes as JSON of the longest input that is left alone. What is left of one that is cut never is longer, so it is cut once. */
const SHORT_INPUT = 8192;
/** UTF-8 bytes that are left of a text in an input. */
const SHORT_FIELD = 1024;

/** What an output says as text. */
export const outputText = ({ output, outputJson }: Pick<ToolResult, "output" | "outputJson">): string =>
  typeof output === "string" ? output : (outputJson ?? JSON.stringify(output) ?? "null");

/** The same input when it is short; else with its long texts cut, or all of it as one text that is: `{cut}`. */
export function shortInput({ input, inputJson }: Pick<CallRecord, "input" | "inputJson">): JsonRecord {
  const text = inputJson ?? JSON.stringify(input);
  if (utf8Length(text) <= SHORT_INPUT) return input;
  const fields = Object.fromEntries(Object.entries(input).map(([name, value]) => [name, shortField(value)]));
  // Only the text has all digits of its numbers.
  const isShort = inputJson === undefined && utf8Length(JSON.stringify(fields)) <= SHORT_INPUT;
  return isShort ? fields : { cut: cutText(text, SHORT_OUTPUT) };
}

const shortField = (value: unknown): unknown =>
  typeof value === "string" && utf8Length(value) > SHORT_FIELD ? cutText(value, SHORT_FIELD) : value;

/** The call itself when its input is short. */
export function shortCall<T extends Pick<CallRecord, "input" | "inputJson">>(call: T): T {
  const input = shortInput(call);
  if (input === call.input) return call;
  return { ...call, input, inputJson: undefined };
}

/** The result itself when it is short; what it is to look like goes with what is cut. */
export function shortResult(result: ToolResult): ToolResult {
  if (JSON.stringify(result).length <= 2 * SHORT_OUTPUT) return result;
  const { isError } = result;
  return { output: cutText(outputText(result), SHORT_OUTPUT), ...(isError !== undefined && { isError }) };
}
