// An answer made to fit into one message between objects. Pure. What is cut says so; calls stay, each with its id.
import type { Answer, Called } from "./messages.ts";

/** UTF-16 units of an answer's texts and inputs together. */
const MAX_UNITS = 7_000_000;

/** The answer, and whether something of it was cut. `max` in UTF-16 units. */
export function fitAnswer(answer: Answer, max = MAX_UNITS): { answer: Answer; isCut: boolean } {
  const { text, reasoning, calls } = answer;
  const inputs = calls.reduce((sum, { input }) => sum + JSON.stringify(input).length, 0);
  if (text.length + reasoning.length + inputs <= max) return { answer, isCut: false };
  let left = Math.floor(max / 4);
  const fitCall = (call: Called): Called => {
    const { length } = JSON.stringify(call.input);
    if (length > left) return { ...call, input: { cut: `longer than ${left} characters` }, inputJson: undefined };
    left -= length;
    return call;
  };
  const shorter = {
    ...answer,
    text: cutWithMark(text, Math.floor(max / 2)),
    reasoning: cutWithMark(reasoning, Math.floor(max / 4)),
    calls: calls.map(fitCall),
  };
  return { answer: shorter, isCut: true };
}

/** Of a text no more than so many UTF-16 units; what is cut says so. */
export const cutWithMark = (text: string, units: number): string =>
  text.length <= units ? text : `${text.slice(0, units).toWellFormed()}\n[cut: longer than ${units} characters]`;
