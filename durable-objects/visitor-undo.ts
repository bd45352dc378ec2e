// What a turn that has begun changed in its chat, kept until that cannot be taken back any more: a turn that is refused leaves no trace.
import type { DisplayMessage, HistoryEntry } from "../schemas/chat.ts";
import { isRecord, parseJson } from "../src/wire/json.ts";
import { cutText } from "./row-parts.ts";
import type { ChatRow, TakenDecision, TurnRow } from "./visitor-rows.ts";

/** The items before; those before `from` are as they were. */
export interface Tail<T> {
  from: number;
  items: readonly T[];
}

export interface Undo {
  runId: string;
  /** `undefined`: the chat began with the turn. */
  chat: ChatRow | undefined;
  /** A turn of the same name. */
  turn: TurnRow | undefined;
  entries: Tail<HistoryEntry>;
  messages: Tail<DisplayMessage>;
  /** Decisions that passed to the turn from another. */
  passed: readonly TakenDecision[];
}

export interface VisitorUndo {
  /** In the place of what was kept for the chat before. */
  keep(chat: number, undo: Undo): void;
  /** Of the chat's latest turn. */
  kept(chat: number): Undo | undefined;
  drop(chat: number): void;
}

/** The table is made by the visitor's store, before a chat is. */
export function visitorUndo({ sql }: DurableObjectStorage): VisitorUndo {
  const drop = (chat: number): void => {
    sql.exec("DELETE FROM undo WHERE chat = ?", chat);
  };

  return {
    keep(chat, undo) {
      drop(chat);
      for (const [part, text] of cutText(JSON.stringify(undo)).entries()) {
        sql.exec("INSERT INTO undo (chat, part, body) VALUES (?, ?, ?)", chat, part, text);
      }
    },
    kept(chat) {
      const rows = sql.exec<{ body: string }>("SELECT body FROM undo WHERE chat = ? ORDER BY part", chat).toArray();
      const undo = parseJson(rows.map(({ body }) => body).join(""))?.value;
      return isUndo(undo) ? undo : undefined;
    },
    drop,
  };
}

/** Only this file writes it, so its shape is trusted once the row is there. */
const isUndo = (value: unknown): value is Undo => isRecord(value) && "entries" in value && "messages" in value;
