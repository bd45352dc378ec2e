// Collects tool calls that arrive in pieces, under all the ways providers name (or fail to name) the pieces. Ids that are missing are made from the ordinal, so a replay gives the same.
import type { ProviderOutput } from "../../schemas/provider.ts";
import { asRecord, parseJson } from "../wire/json.ts";

export interface ToolCallPiece {
  index?: number | undefined;
  id?: string | undefined;
  name?: string | undefined;
  /** A piece of the input's JSON text, or the whole input. */
  input?: string | Record<string, unknown> | undefined;
}

interface OpenCall {
  index: number | undefined;
  id: string | undefined;
  name: string;
  text: string;
  whole: Record<string, unknown> | undefined;
  ordinal: number;
}

export interface ToolCallCollector {
  /** Progress to show; empty while the call has no name yet. */
  add(piece: ToolCallPiece): ProviderOutput[];
  /** All calls, whole. `malformed` when some input is not a JSON object. */
  finish(): { calls: ProviderOutput[] } | { malformed: true };
  readonly size: number;
}

export function toolCallCollector(): ToolCallCollector {
  const calls: OpenCall[] = [];

  const find = (piece: ToolCallPiece, id: string | undefined, name: string | undefined): OpenCall | undefined => {
    if (piece.index !== undefined) {
      const same = calls.findLast(({ index }) => index === piece.index);
      // An index alone is not enough: some servers send every parallel call as index 0 without an id.
      const restarts = same !== undefined && name !== undefined && same.name !== "" && same.name !== name;
      const clashes = same !== undefined && id !== undefined && same.id !== undefined && same.id !== id;
      if (same === undefined || clashes || (id === undefined && restarts)) return undefined;
      return same;
    }
    if (id !== undefined) return calls.find((call) => call.id === id);
    const last = calls.at(-1);
    return name !== undefined && last !== undefined && last.name !== "" && last.name !== name ? undefined : last;
  };

  return {
    add(piece) {
      const id = visible(piece.id);
      const name = visible(piece.name);
      let call = find(piece, id, name);
      if (call === undefined) {
        call = { index: piece.index, id, name: name ?? "", text: "", whole: undefined, ordinal: calls.length };
        calls.push(call);
      }
      const heldBack = call.name === "" ? call.text : "";
      call.id ??= id;
      if (call.name === "" && name !== undefined) call.name = name;
      if (typeof piece.input === "object") call.whole = piece.input;
      const text = typeof piece.input === "string" ? piece.input : "";
      call.text += text;
      if (call.name === "" || (text === "" && heldBack === "")) return [];
      return [
        { type: "tool_call_delta", toolCallId: idOf(call), toolName: call.name, inputText: heldBack + text },
      ];
    },
    finish() {
      const whole: ProviderOutput[] = [];
      for (const call of calls) {
        const input = inputOf(call);
        if (input === undefined || call.name === "") return { malformed: true };
        whole.push({ type: "tool_call", toolCallId: idOf(call), toolName: call.name, input });
      }
      return { calls: whole };
    },
    get size() {
      return calls.length;
    },
  };
}

const idOf = (call: OpenCall): string => call.id ?? `call_${call.ordinal}`;

const visible = (word: string | undefined): string | undefined =>
  word === undefined || word.trim() === "" ? undefined : word;

/** Pieces win over a whole input given beside them; no input at all is an empty object. */
function inputOf(call: OpenCall): Record<string, unknown> | undefined {
  if (call.text.trim() === "") return call.whole ?? {};
  return asRecord(parseJson(call.text)?.value);
}
