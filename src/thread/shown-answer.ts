// What a followed run shows of its present answer: text, reasoning and calls, piece by piece, and taken back when it holds no longer. Ends no answer.
import type { LogEvent, Payload } from "../../schemas/event.ts";
import { parseExact } from "../wire/exact-json.ts";
import { jsonText } from "../wire/json.ts";
import { exactInputOf, inputOf } from "../wire/log-entry.ts";
import { isOpen, presentId, type Followed, type Following, type Told } from "./followed.ts";

export function say(next: Following, kind: "text" | "reasoning", text: string, told: Told[]): void {
  if (text === "") return;
  next[kind] += text;
  told.push({ type: kind, id: presentId(next), text });
}

/**
 * A snapshot that goes on from what is shown tells only what is new. Any other takes that back, and so does one after a
 * crash: a reader may have seen more than it restates. Between two answers it restates what nobody can have missed, or is an
 * answer that no model was asked for.
 */
export function restate(next: Following, event: Extract<LogEvent, { type: "content_snapshot" }>, told: Told[]): void {
  const { releasedFrom } = event.payload;
  const text = event.payload.text.slice(next.before.text.length);
  if (!isOpen(next) && text === "") return;
  const reasoning = event.payload.reasoning?.slice(next.before.reasoning.length) ?? next.reasoning;
  const goesOn = text.startsWith(next.text) && reasoning.startsWith(next.reasoning) && next.pieces.length === 0;
  if (goesOn && releasedFrom === undefined) {
    say(next, "reasoning", reasoning.slice(next.reasoning.length), told);
    say(next, "text", text.slice(next.text.length), told);
    return;
  }
  withdraw(next, event.sequence, { text, reasoning }, told);
}

/** Pieces of calls are void; what else is shown stands under a new id. */
export function withdraw(
  next: Following,
  sequence: number,
  { text, reasoning }: Pick<Followed, "text" | "reasoning">,
  told: Told[],
): void {
  told.push({ type: "withdrawn", id: presentId(next) });
  next.withdrawnAt = sequence;
  next.text = "";
  next.reasoning = "";
  next.pieces = [];
  say(next, "reasoning", reasoning, told);
  say(next, "text", text, told);
  const id = presentId(next);
  next.calls.forEach((call, index) => told.push({ type: "call", id, index, isPieced: false, call }));
  next.places = next.calls.length;
}

export function takePiece(
  next: Following,
  { toolCallId, toolName, inputText }: Payload<"tool_call_delta">,
  told: Told[],
): void {
  const known = next.pieces.find((piece) => piece.toolCallId === toolCallId);
  const { index, text, named } = known ?? { index: next.places++, text: "", named: false };
  const isNew = toolName !== undefined && !named;
  const others = next.pieces.filter((piece) => piece !== known);
  next.pieces = [...others, { toolCallId, index, text: text + inputText, named: named || isNew }];
  told.push({
    type: "call piece",
    id: presentId(next),
    index,
    isFirst: known === undefined,
    toolCallId,
    ...(isNew && { toolName }),
    text: inputText,
  });
}

/** A call that is not what its pieces said takes them back. */
export function takeCall(next: Following, event: Extract<LogEvent, { type: "tool_call" }>, told: Told[]): void {
  const { toolCallId, toolName, execution, confirmation } = event.payload;
  const input = inputOf(event.payload);
  const inputText = jsonText(exactInputOf(event.payload)) ?? "{}";
  const call = {
    toolCallId,
    toolName,
    input,
    ...(inputText !== jsonText(input) && { inputJson: inputText }),
    execution,
    ...(confirmation !== undefined && { confirmation }),
  };
  const piece = next.pieces.find((open) => open.toolCallId === toolCallId);
  const isPieced = piece?.named === true && isSame(piece.text, inputText);
  if (piece !== undefined && !isPieced) withdraw(next, event.sequence, next, told);
  const index = isPieced ? piece.index : next.places++;
  next.pieces = next.pieces.filter((open) => open.toolCallId !== toolCallId);
  next.calls = [...next.calls, call];
  told.push({ type: "call", id: presentId(next), index, isPieced, call });
}

const isSame = (pieces: string, inputText: string): boolean =>
  jsonText(parseExact(pieces === "" ? "{}" : pieces)?.value) === inputText;
