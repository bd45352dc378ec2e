// The messages, the conversations and the latest endings of a visitor's chats, one item per row or, where it is large, several. Knows no rules.
import type { ChatDetail, DisplayMessage, HistoryEntry } from "../schemas/chat.ts";
import { isRecord, parseJson } from "../src/wire/json.ts";
import { cutText } from "./row-parts.ts";

const KINDS = { message: 0, entry: 1, lastTurn: 2 } as const;

type LastTurn = NonNullable<ChatDetail["lastTurn"]>;

export interface Written {
  /** The first place whose item changed; the number of items when none did. */
  from: number;
}

export interface VisitorItems {
  messages(chat: number): DisplayMessage[];
  entries(chat: number): HistoryEntry[];
  /** How the latest turn that has ended did so. */
  lastTurn(chat: number): LastTurn | undefined;
  /** Replaces what is stored; only what differs is written. */
  writeMessages(chat: number, messages: readonly DisplayMessage[]): Written;
  writeEntries(chat: number, entries: readonly HistoryEntry[]): Written;
  writeLastTurn(chat: number, turn: LastTurn | undefined): void;
}

/** The table is made by the visitor's store, before a chat is. */
export function visitorItems({ sql }: DurableObjectStorage): VisitorItems {
  const bodies = (chat: number, kind: number): string[] => {
    const items: string[] = [];
    const query = "SELECT place, body FROM item WHERE chat = ? AND kind = ? ORDER BY place, part";
    for (const { place, body } of sql.exec<{ place: number; body: string }>(query, chat, kind)) {
      items[place] = (items[place] ?? "") + body;
    }
    return items;
  };

  const write = (chat: number, kind: number, items: readonly unknown[]): Written => {
    const stored = bodies(chat, kind);
    const wanted = items.map((item) => JSON.stringify(item));
    let from = wanted.length;
    for (const [place, body] of wanted.entries()) {
      if (stored[place] === body) continue;
      from = Math.min(from, place);
      if (place < stored.length) {
        sql.exec("DELETE FROM item WHERE chat = ? AND kind = ? AND place = ?", chat, kind, place);
      }
      for (const [part, text] of cutText(body).entries()) {
        sql.exec(
          "INSERT INTO item (chat, kind, place, part, body) VALUES (?, ?, ?, ?, ?)",
          chat,
          kind,
          place,
          part,
          text,
        );
      }
    }
    if (stored.length > wanted.length) {
      sql.exec("DELETE FROM item WHERE chat = ? AND kind = ? AND place >= ?", chat, kind, wanted.length);
    }
    return { from };
  };

  return {
    messages: (chat) => bodies(chat, KINDS.message).map(parsed).filter(isMessage),
    entries: (chat) => bodies(chat, KINDS.entry).map(parsed).filter(isEntry),
    lastTurn: (chat) => bodies(chat, KINDS.lastTurn).map(parsed).find(isLastTurn),
    writeMessages: (chat, messages) => write(chat, KINDS.message, messages),
    writeEntries: (chat, entries) => write(chat, KINDS.entry, entries),
    writeLastTurn: (chat, turn) => void write(chat, KINDS.lastTurn, turn === undefined ? [] : [turn]),
  };
}

const parsed = (body: string): unknown => parseJson(body)?.value;

/** Only this file writes items, so their shape is trusted once the row is there. */
const isMessage = (value: unknown): value is DisplayMessage => isRecord(value) && "id" in value && "parts" in value;
const isEntry = (value: unknown): value is HistoryEntry => isRecord(value) && "role" in value && "content" in value;
const isLastTurn = (value: unknown): value is LastTurn =>
  isRecord(value) && "runId" in value && "finishReason" in value;
