// Collects tool calls that arrive in pieces, under all the ways providers name (or fail to name) the pieces. Ids that are missing are made from the ordinal, so a replay gives the same.
import type { ProviderOutput } from "../../schemas/provider.ts";
import { jsonScan, type JsonScan } from "../wire/json-scan.ts";
import { asRecord, jsonText, type JsonRecord } from "../wire/json.ts";
import { heldJson, isKeptNumber } from "../wire/exact-json.ts";
import { parseBounded } from "../wire/json-bounded.ts";

/** Calls per answer. */
const MAX_CALLS = 256;
/** UTF-16 units of an id or a name. */
const MAX_WORD = 256;
/** UTF-16 units of input that is held without having been shown: input before its name, and whole inputs. */
const MAX_HELD = 8_388_608;

export interface ToolCallPiece {
  index?: number | undefined;
  id?: string | undefined;
  name?: string | undefined;
  /** A piece of the input's JSON text, or the whole input. */
  input?: string | Record<string, unknown> | undefined;
  /** What the provider wants back with the call. The first one counts. */
  echo?: JsonRecord | undefined;
}

export type WholeCall = Extract<ProviderOutput, { type: "tool_call" }>;

interface OpenCall {
  index: number | undefined;
  id: string | undefined;
  name: string;
  text: string;
  scan: JsonScan;
  whole: Record<string, unknown> | undefined;
  echo: JsonRecord | undefined;
  /** The id it has been shown under; it never changes after that, even if the provider's own comes later. */
  shownId: string | undefined;
}

export interface ToolCallCollector {
  /** Progress to show; empty while the call has no name yet. */
  add(piece: ToolCallPiece): ProviderOutput[];
  /** The provider states the whole input of the call at an index: pieces that say otherwise are void. Shows what is missing. */
  state(index: number, input: string): ProviderOutput[];
  /**
   * The calls that are whole, in the order they began. `broken`: another one has no name, or no JSON object as its input.
   * `cut`: the provider stopped early, so that a call without any input counts as broken, not as one without arguments.
   */
  finish(cut: boolean): { calls: WholeCall[]; broken: boolean };
  /** Whether the input of the call at an index has come to its closing bracket in pieces. */
  isWhole(index: number): boolean;
  /** The input so far of the call at an index, as JSON text. */
  inputText(index: number): string;
  readonly size: number;
  /** Some limit was passed: nothing that would be collected from here on can be trusted to end. */
  readonly excessive: boolean;
}

export function toolCallCollector(): ToolCallCollector {
  const calls: OpenCall[] = [];
  const shownIds = new Set<string>();
  let held = 0;
  let excessive = false;

  const showId = (call: OpenCall): string => {
    if (call.shownId !== undefined) return call.shownId;
    const ordinal = calls.indexOf(call);
    let id = call.id ?? `call_${ordinal}`;
    // Two calls under one id could not be told apart by whoever answers them.
    while (shownIds.has(id)) id = `${id}_${ordinal}`;
    shownIds.add(id);
    call.shownId = id;
    return id;
  };

  const collector: ToolCallCollector = {
    add(piece) {
      if (excessive) return [];
      const named = { ...piece, id: visible(piece.id), name: visible(piece.name) };
      let call = find(calls, named);
      if (call === undefined) {
        // Some servers close a call with a piece that says nothing; it must not open one.
        if (named.id === undefined && named.name === undefined && !hasInput(piece)) return [];
        call = {
          index: piece.index,
          id: undefined,
          name: "",
          text: "",
          scan: jsonScan(),
          whole: undefined,
          echo: undefined,
          shownId: undefined,
        };
        calls.push(call);
      }
      if (call.name === "" && named.name === undefined)
        held += typeof piece.input === "string" ? piece.input.length : 0;
      if (typeof piece.input === "object") held += jsonText(piece.input)?.length ?? Number.POSITIVE_INFINITY;
      const longest = Math.max(named.id?.length ?? 0, named.name?.length ?? 0);
      excessive = calls.length > MAX_CALLS || longest > MAX_WORD || held > MAX_HELD;
      if (excessive) return [];
      const heldBack = call.name === "" ? call.text : "";
      call.id ??= named.id;
      call.echo ??= piece.echo;
      if (call.name === "") call.name = named.name ?? "";
      if (typeof piece.input === "object") call.whole = piece.input;
      const text = typeof piece.input === "string" ? piece.input : "";
      call.text += text;
      call.scan.feed(text);
      const inputText = heldBack + text;
      if (call.name === "" || inputText === "") return [];
      return [{ type: "tool_call_delta", toolCallId: showId(call), toolName: call.name, inputText }];
    },
    state(index, input) {
      const call = calls.findLast((candidate) => candidate.index === index);
      const shown = call?.text ?? "";
      if (call === undefined || input.startsWith(shown))
        return collector.add({ index, input: input.slice(shown.length) });
      held += input.length;
      excessive ||= held > MAX_HELD;
      call.text = input;
      call.scan = jsonScan();
      call.scan.feed(input);
      return [];
    },
    finish(cut) {
      const whole: WholeCall[] = [];
      for (const call of calls) {
        const { value, json } = heldJson(cut && isBare(call) ? undefined : inputOf(call));
        const input = asRecord(value);
        if (input === undefined || call.name === "") continue;
        const { name: toolName, echo } = call;
        whole.push({
          type: "tool_call",
          toolCallId: showId(call),
          toolName,
          input,
          ...(json !== undefined && { inputJson: json }),
          ...(echo !== undefined && { echo }),
        });
      }
      return { calls: whole, broken: whole.length < calls.length };
    },
    isWhole: (index) => calls.findLast((call) => call.index === index)?.scan.progress === "closed",
    inputText(index) {
      const call = calls.findLast((candidate) => candidate.index === index);
      return call?.text.trim() || (jsonText(call?.whole ?? {}) ?? "");
    },
    get size() {
      return calls.length;
    },
    get excessive() {
      return excessive;
    },
  };
  return collector;
}

/** What a provider calls arguments: JSON text, an object or nothing. Anything else is kept as the fault it is. */
export function inputPiece(value: unknown): ToolCallPiece["input"] {
  if (value === undefined || value === null || typeof value === "string") return value ?? undefined;
  return (isKeptNumber(value) ? undefined : asRecord(value)) ?? jsonText(value) ?? "[";
}

/** The input that a call has from its start, as an object or as its JSON text; pieces win over it. A part of one says nothing. */
export function wholeInput(value: unknown): Record<string, unknown> | undefined {
  return asRecord(typeof value === "string" ? parseBounded(value)?.value : value);
}

/** The call a piece goes on with; `undefined` when it opens one. */
function find(calls: readonly OpenCall[], piece: ToolCallPiece): OpenCall | undefined {
  const { index, id, name } = piece;
  const last = calls.at(-1);
  const byId = id === undefined ? undefined : calls.findLast((call) => call.id === id);
  if (index !== undefined) {
    const same = calls.findLast((call) => call.index === index);
    if (same === undefined) return undefined;
    if (id === undefined || same.id === undefined) return beginsAnother(same, piece) ? undefined : same;
    if (same.id === id) return same;
    // An index alone is not enough: some servers send every parallel call as index 0. Without a name it is a rotated id.
    return byId ?? (name === undefined ? same : undefined);
  }
  if (byId !== undefined || last === undefined) return byId;
  // An id that is new opens a call, unless the last one still lacks its own.
  if (id !== undefined && last.id !== undefined) return undefined;
  return beginsAnother(last, piece) ? undefined : last;
}

/** Whether a name opens a call beside one that shares its place: another name, or the same one when that call's input is whole. */
function beginsAnother(open: OpenCall, piece: ToolCallPiece): boolean {
  if (piece.name === undefined || open.name === "") return false;
  if (piece.name !== open.name) return true;
  if (!hasInput(piece)) return false;
  const { progress } = open.scan;
  return progress === "closed" || (progress === "blank" && open.whole !== undefined);
}

const hasInput = ({ input }: ToolCallPiece): boolean =>
  typeof input === "string" ? input.trim() !== "" : input !== undefined;

const visible = (word: string | undefined): string | undefined =>
  word === undefined || word.trim() === "" ? undefined : word;

const isBare = ({ text, whole }: OpenCall): boolean => text.trim() === "" && Object.keys(whole ?? {}).length === 0;

/** Pieces win over a whole input given beside them; no input at all is an empty object. */
function inputOf(call: OpenCall): Record<string, unknown> | undefined {
  if (call.text.trim() === "") return call.whole ?? {};
  return asRecord(parseBounded(call.text)?.value);
}
