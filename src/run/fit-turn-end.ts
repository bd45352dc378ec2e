// The end of a turn made to fit into one message between objects, and into what a chat keeps: outputs are cut first, then inputs, then texts. Pure.
import type { TurnEnd } from "../../schemas/chat.ts";
import type { CallRecord } from "../../schemas/tool.ts";
import { shortCall, shortResult } from "./short-call.ts";

/** UTF-16 units as JSON. */
const MAX_END = 7_000_000;
/** The text and those of the steps, with little else beside them, fit at the first attempt. */
const TEXT_SHARE = 0.45;
/** UTF-16 units below which no text is cut. */
const MIN_TEXT = 1000;

/**
 * All calls stay, and one that has no result as it is: it may be carried out yet. The oldest outputs are cut before the others,
 * then the oldest inputs; what is cut says so. `max` in UTF-16 units.
 */
export function fitTurnEnd(end: TurnEnd, max = MAX_END): TurnEnd {
  let size = sizeOf(end);
  if (size <= max) return end;
  let { carried, steps } = end;
  const cutCalls = (shorten: (call: CallRecord) => CallRecord): void => {
    const shorter = (call: CallRecord): CallRecord => {
      if (size <= max || call.result === undefined) return call;
      const cutCall = shorten(call);
      if (cutCall !== call) size -= sizeOf(call) - sizeOf(cutCall);
      return cutCall;
    };
    carried = carried.map(shorter);
    steps = steps.map((step) => ({ ...step, calls: step.calls.map(shorter) }));
  };
  cutCalls((call) => (call.result === undefined ? call : { ...call, result: shortResult(call.result) }));
  cutCalls(shortCall);
  return withinTexts({ ...end, carried, steps }, max);
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
