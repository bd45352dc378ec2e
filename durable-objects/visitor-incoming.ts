// What the request of a turn brings to the messages of its chat. Writes the items; storing the row that it is given is the caller's.
import type { HistoryEntry, TurnRequest } from "../schemas/chat.ts";
import { withClientParts, withIncoming } from "../src/chat/display.ts";
import { openClientCalls } from "../src/chat/history.ts";
import { previewOf } from "../src/chat/titles.ts";
import { writeMessages } from "./visitor-bounds.ts";
import type { VisitorItems } from "./visitor-items.ts";
import type { ChatRow } from "./visitor-rows.ts";

/** The messages of a turn's request; for a prompt alone, one of our own. A turn that is tried again has left its own there. The first place that changed. */
export function writeIncoming(
  items: VisitorItems,
  chat: ChatRow,
  { display, history, prompt }: TurnRequest,
  { runId, again }: { runId: string; again: boolean },
): number {
  const asked = {
    id: userIdOf(runId),
    role: "user" as const,
    content: prompt,
    parts: [{ type: "text", text: prompt }],
  };
  const stored = items.messages(chat.id);
  // The message of the turn that is tried again, or of the one before that, is there.
  const last = stored.findLast(({ role }) => role === "user");
  const kept = again && last?.content === prompt && last.id.startsWith(userIdOf(""));
  const incoming = display.length > 0 ? display : prompt === "" || kept ? [] : [asked];
  const same = again || history.length > 0 ? "known" : "last";
  const messages = withIncoming(stored, incoming, same);
  if (chat.preview === "") chat.preview = previewOf(messages);
  return writeMessages(items, chat, messages);
}

/** Of a request with decisions only the results of the client's own calls are taken. The first place that changed. */
export function writeResults(
  items: VisitorItems,
  chat: ChatRow,
  { display }: TurnRequest,
  before: readonly HistoryEntry[],
): number {
  const open = openClientCalls(before).map(({ id }) => id);
  return writeMessages(items, chat, withClientParts(items.messages(chat.id), display, open));
}

/** The id of a prompt that came without a message. */
const userIdOf = (runId: string): string => `user_${runId}`;
