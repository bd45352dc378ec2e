// The end of a turn made to fit into one message between objects, and into what a chat keeps: outputs are cut first, then texts. Pure.
import type { TurnEnd } from "../../schemas/chat.ts";
import type { CallRecord, ToolResult } from "../../schemas/tool.ts";
import { SHORT_OUTPUT } from "./fit-messages.ts";
import { cutText } from "./tool-output.ts";

/** UTF-16 units as JSON. */
const MAX_END = 7_000_000;
/** The text and those of the steps, with little else beside them, fit at the first attempt. */
const TEXT_SHARE = 0.45;
/** UTF-16 units below which no text is cut. */
const MIN_TEXT = 1000;

/** All calls stay, with their inputs. The oldest outputs are cut before the others; what is cut says so. `max` in UTF-16 units. */
export function fitTurnEnd(end: TurnEnd, max = MAX_END): TurnEnd {
  let size = sizeOf(end);
  if (size <= max) return end;
  const shorter = (call: CallRecord): CallRecord => {
    if (size <= max || call.result === undefined) return call;
    const result = shortened(call.result);
    size -= sizeOf(call.result) - sizeOf(result);
    return { ...call, result };
  };
  const carried = end.carried.map(shorter);
  const steps = end.steps.map((step) => ({ ...step, calls: step.calls.map(shorter) }));
  return withinTexts({ ...end, carried, steps }, max);
}

function shortened(result: ToolResult): ToolResult {
  const { output, outputJson, isError } = result;
  const text = typeof output === "string" ? output : (outputJson ?? JSON.stringify(output) ?? "null");
  if (sizeOf(result) <= 2 * SHORT_OUTPUT) return result;
  return { output: cutText(text, SHORT_OUTPUT), ...(isError !== undefined && { isError }) };
}

/** The whole text and the texts of the steps stand beside one another: both are cut. */
function withinTexts(end: TurnEnd, max: number): TurnEnd {
  let fitting = end;
  for (
    let room = Math.floor(max * TEXT_SHARE);
    sizeOf(fitting) > max && room >= MIN_TEXT;
    room = Math.floor(room / 2)
  ) {
    const left = { text: room, reasoning: Math.floor(room / 4) };
    fitting = {
      ...end,
      text: cut(end.text, left.text),
      reasoning: cut(end.reasoning, left.reasoning),
      steps: end.steps.map((step) => {
        const text = cut(step.text, left.text);
        const reasoning = cut(step.reasoning, left.reasoning);
        left.text = Math.max(0, left.text - text.length);
        left.reasoning = Math.max(0, left.reasoning - reasoning.length);
        return { ...step, text, reasoning };
      }),
    };
  }
  return fitting;
}

const cut = (text: string, units: number): string =>
  text.length <= units ? text : `${text.slice(0, units).toWellFormed()}\n[cut: longer than ${units} characters]`;

const sizeOf = (value: unknown): number => JSON.stringify(value).length;
