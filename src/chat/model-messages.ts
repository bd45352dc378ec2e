// A conversation as the messages that a provider is sent. Pure.
import type { HistoryEntry } from "../../schemas/chat.ts";
import type { Message } from "../../schemas/run.ts";
import { NO_RESULT, recordOf, settled } from "./history.ts";

/** Stands for the entries before `through`. */
export interface Summary {
  text: string;
  through: number;
}

/**
 * What a model reads: with a summary, the system entries and the summary in the place of what it covers, and of that the user's
 * message that the entries after it answer. Each call is answered, but for those in `open`: their results come before the model is asked.
 */
export function modelMessages(
  entries: readonly HistoryEntry[],
  summary: Summary | undefined,
  open: ReadonlySet<string>,
): Message[] {
  const shown = summary === undefined ? entries : summarized(entries, summary);
  return settled(shown, ({ id }) => (open.has(id) ? undefined : { content: NO_RESULT })).flatMap(messageOf);
}

function summarized(entries: readonly HistoryEntry[], { text, through }: Summary): HistoryEntry[] {
  const [covered, rest] = [entries.slice(0, through), entries.slice(through)];
  const rules = covered.filter(({ role }) => role === "system");
  const content = `Summary of the conversation before the messages below:\n${text}`;
  // No conversation begins with an answer, and a model that is not asked answers nothing.
  const answers = rest.find(({ role }) => role !== "system")?.role !== "user";
  const asked = answers ? covered.findLast(({ role }) => role === "user") : undefined;
  return [...rules, { role: "system", content }, ...(asked === undefined ? [] : [asked]), ...rest];
}

/** None for an entry that a model cannot be shown: one with reasoning alone, or with nothing. */
function messageOf(entry: HistoryEntry): Message[] {
  const { role, content } = entry;
  switch (role) {
    case "system":
      return content === "" ? [] : [{ role, content }];
    case "user":
      return userMessage(entry);
    case "assistant": {
      const calls = (entry.tool_calls ?? []).map(recordOf);
      if (content === "" && calls.length === 0) return [];
      return [
        {
          role,
          ...(content !== "" && { content }),
          ...(calls.length > 0 && {
            toolCalls: calls.map(({ toolCallId, toolName, input, inputJson, echo }) => ({
              toolCallId,
              toolName,
              input,
              ...(inputJson !== undefined && { inputJson }),
              ...(echo !== undefined && { echo }),
            })),
          }),
        },
      ];
    }
    case "tool":
      return [
        {
          role,
          toolCallId: entry.tool_call_id ?? "",
          output: content,
          ...(entry.is_error === true && { isError: true }),
        },
      ];
  }
}

function userMessage({ content, images = [] }: HistoryEntry): Message[] {
  if (images.length === 0) return content === "" ? [] : [{ role: "user", content }];
  const pictures = images.map((image) => ({ type: "image" as const, ...image }));
  return [
    { role: "user", content: [...(content === "" ? [] : [{ type: "text" as const, text: content }]), ...pictures] },
  ];
}
