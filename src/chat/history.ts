// The conversation of a chat as its entries: which calls are open, where a result goes, and how a history is made whole. Pure.
import type { HistoryEntry } from "../../schemas/chat.ts";
import type { CallRecord, ToolResult } from "../../schemas/tool.ts";
import { heldJson, parseExact } from "../wire/exact-json.ts";
import { asRecord, jsonText, parseJson } from "../wire/json.ts";

export type CallEntry = NonNullable<HistoryEntry["tool_calls"]>[number];
/** What the entry of a result says of it. */
type Answer = Pick<HistoryEntry, "content" | "is_error">;

/** What a model reads of a call that nobody has answered. */
export const NO_RESULT = JSON.stringify({ success: false, error: "No result was given." });
/** What became of an approved call whose run ended without a word about it. */
export const UNKNOWN_EFFECT: ToolResult = {
  output: { success: false, error: "The run ended while this tool ran; whether it took effect is not known." },
  isError: true,
};

/** A result as its entry says it. */
export const answerOf = ({ output, outputJson, isError }: ToolResult): Answer => ({
  content: typeof output === "string" ? output : (outputJson ?? JSON.stringify(output) ?? "null"),
  ...(isError === true && { is_error: true }),
});

export const callsOf = (entry: HistoryEntry): readonly CallEntry[] => entry.tool_calls ?? [];

/** A call with its arguments read; arguments that are no JSON object read as none. */
export function recordOf({
  id,
  function: { name, arguments: text },
  execution,
  confirmation,
  echo,
  tool,
}: CallEntry): CallRecord {
  const { value, json } = heldJson(parseExact(text)?.value);
  return {
    toolCallId: id,
    toolName: name,
    input: asRecord(value) ?? {},
    ...(json !== undefined && { inputJson: json }),
    execution,
    ...(confirmation !== undefined && { confirmation }),
    ...(echo !== undefined && { echo }),
    ...(tool !== undefined && { tool }),
  };
}

export function callEntryOf({
  toolCallId,
  toolName,
  input,
  inputJson,
  execution,
  confirmation,
  echo,
  tool,
}: CallRecord): CallEntry {
  return {
    id: toolCallId,
    function: { name: toolName, arguments: inputJson ?? JSON.stringify(input) },
    execution,
    ...(confirmation !== undefined && { confirmation }),
    ...(echo !== undefined && { echo }),
    ...(tool !== undefined && { tool }),
  };
}

export const resultEntry = (toolCallId: string, { content, is_error }: Answer): HistoryEntry => ({
  role: "tool",
  content,
  tool_call_id: toolCallId,
  ...(is_error === true && { is_error }),
});

/**
 * The result of each call: the first entry after it that names it, before another call does. Calls of clients may repeat an
 * id in later turns, so a call is known by its entry.
 */
function resultsIn(entries: readonly HistoryEntry[]): ReadonlyMap<CallEntry, HistoryEntry> {
  const found = new Map<CallEntry, HistoryEntry>();
  const next = new Map<string, HistoryEntry>();
  for (const entry of entries.toReversed()) {
    if (entry.role === "tool") next.set(entry.tool_call_id ?? "", entry);
    for (const call of callsOf(entry)) {
      const result = next.get(call.id);
      if (result !== undefined) found.set(call, result);
    }
    for (const { id } of callsOf(entry)) next.delete(id);
  }
  return found;
}

/**
 * The history with each result directly after the entry of its call, in the order of the calls. Results without a call are
 * left out, and so are calls without an id or a name, and an entry's second call of one id. `missing` gives the result of an
 * open call; `undefined` leaves it open.
 */
export function settled(
  entries: readonly HistoryEntry[],
  missing: (call: CallEntry) => Answer | undefined,
): HistoryEntry[] {
  const results = resultsIn(entries);
  return entries.flatMap((entry) => {
    if (entry.role === "tool") return [];
    if (entry.role !== "assistant" || entry.tool_calls === undefined) return [entry];
    const calls = new Map<string, CallEntry>();
    for (const call of entry.tool_calls) {
      if (call.id !== "" && call.function.name !== "" && !calls.has(call.id)) calls.set(call.id, call);
    }
    const answers = [...calls.values()].flatMap((call) => {
      const answer = results.get(call) ?? missing(call);
      return answer === undefined ? [] : [resultEntry(call.id, answer)];
    });
    const { tool_calls: _all, ...rest } = entry;
    return [calls.size === 0 ? rest : { ...rest, tool_calls: [...calls.values()] }, ...answers];
  });
}

/** The open calls of a conversation, in order. */
export function openCalls(entries: readonly HistoryEntry[]): CallEntry[] {
  const results = resultsIn(entries);
  return entries.flatMap((entry) => callsOf(entry).filter((call) => !results.has(call)));
}

const awaitsApproval = ({ execution, confirmation }: CallEntry): boolean =>
  execution === "server" && confirmation === "required";

/** The server's calls that wait for a user's decision. */
export const openApprovals = (entries: readonly HistoryEntry[]): CallRecord[] =>
  openCalls(entries).filter(awaitsApproval).map(recordOf);

/** The client's calls that have no result. */
export const openClientCalls = (entries: readonly HistoryEntry[]): CallEntry[] =>
  openCalls(entries).filter(({ execution }) => execution === "client");

/** The conversation with a result for an open call, after those of the same entry; as it was when no open call has this id. */
export function answered(entries: readonly HistoryEntry[], toolCallId: string, answer: Answer): HistoryEntry[] {
  const results = resultsIn(entries);
  const at = entries.findLastIndex((entry) =>
    callsOf(entry).some((call) => call.id === toolCallId && !results.has(call)),
  );
  if (at < 0) return [...entries];
  let end = at + 1;
  while (entries[end]?.role === "tool") end++;
  return [...entries.slice(0, end), resultEntry(toolCallId, answer), ...entries.slice(end)];
}

/** The conversation with the results that a client gives for its own open calls. */
export function withClientResults(entries: readonly HistoryEntry[], given: readonly HistoryEntry[]): HistoryEntry[] {
  return openClientCalls(entries).reduce<HistoryEntry[]>(
    (all, { id }) => {
      const result = given.findLast((entry) => entry.role === "tool" && entry.tool_call_id === id);
      return result === undefined ? all : answered(all, id, result);
    },
    [...entries],
  );
}

/**
 * A history that a client gives, as the conversation to keep. None of its calls is open afterwards, so nothing that a client
 * writes can be approved: an open one gets the result that the stored conversation has, or an honest one.
 */
export function adopted(given: readonly HistoryEntry[], stored: readonly HistoryEntry[]): HistoryEntry[] {
  const results = resultsIn(stored);
  const known = new Map<string, { call: CallEntry; result: HistoryEntry | undefined }>();
  for (const call of stored.flatMap(callsOf)) known.set(call.id, { call, result: results.get(call) });
  const whole = settled(given, ({ id }) => known.get(id)?.result ?? { content: NO_RESULT });
  return whole.map((entry) => {
    if (entry.role === "tool") {
      // Messages of a page do not say whether a result is a failure.
      const result = known.get(entry.tool_call_id ?? "")?.result;
      return result !== undefined && readsAs(entry.content, result.content) ? { ...entry, ...result } : entry;
    }
    if (entry.tool_calls === undefined) return entry;
    return { ...entry, tool_calls: entry.tool_calls.map((call) => asKnown(call, known.get(call.id)?.call)) };
  });
}

/** A client's copy of a call with what only the stored one has: what the provider wants back, and the digits of its numbers. */
function asKnown(call: CallEntry, known: CallEntry | undefined): CallEntry {
  if (known === undefined || known.function.name !== call.function.name) return call;
  const { name, arguments: text } = call.function;
  const isSame = readsAs(text, known.function.arguments);
  return {
    ...call,
    function: { name, arguments: isSame ? known.function.arguments : text },
    ...(known.echo !== undefined && { echo: known.echo }),
  };
}

/** Whether a program that reads both as JSON reads the same: its numbers may have fewer digits. */
function readsAs(copy: string, text: string): boolean {
  if (copy === text) return true;
  const [one, other] = [parseJson(copy), parseJson(text)];
  if (one === undefined || other === undefined) return false;
  const said = jsonText(one.value);
  return said !== undefined && said === jsonText(other.value);
}

/** The nearest place at or before `at` where a conversation may be cut: no result stands without its call. */
export function cutBefore(entries: readonly HistoryEntry[], at: number): number {
  let cut = Math.max(0, Math.min(at, entries.length));
  while (cut > 0 && entries[cut]?.role === "tool") cut--;
  return cut;
}

/** The nearest place from `at` on where a conversation may be begun; before it where nothing would be left. */
export function beginAfter(entries: readonly HistoryEntry[], at: number): number {
  const next = entries.findIndex(({ role }, index) => index >= at && role !== "tool");
  return next < 0 ? cutBefore(entries, Math.min(at, entries.length - 1)) : next;
}
