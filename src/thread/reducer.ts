// What messages make of a thread's state: same id replaces in its place, `remove` deletes, the rest is added at the end. Pure.
import type { LangMessage } from "../../schemas/thread.ts";

export type Change =
  | { change: "added" | "replaced"; message: LangMessage }
  /** The message of this id is not there any more. */
  | { change: "removed"; id: string };

export type Reduced = { ok: true; changes: Change[] } | { ok: false; index: number; message: string };

/**
 * What these messages change of a state, one change for each id, those of new messages in the order in which they stand.
 * `has`: whether a message of this id is in the state.
 */
export function changesOf(incoming: readonly LangMessage[], has: (id: string) => boolean): Reduced {
  const last = new Map<string, LangMessage>();
  for (const [index, message] of incoming.entries()) {
    const { id, type } = message;
    if (type === "remove" && !last.has(id) && !has(id)) {
      return { ok: false, index, message: `Attempting to delete a message with an ID that doesn't exist ('${id}')` };
    }
    last.set(id, message);
  }
  const changes: Change[] = [];
  for (const [id, message] of last) {
    const known = has(id);
    if (message.type !== "remove") changes.push({ change: known ? "replaced" : "added", message });
    else if (known) changes.push({ change: "removed", id });
  }
  return { ok: true, changes };
}
