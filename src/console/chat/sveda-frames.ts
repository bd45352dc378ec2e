// The bytes of a Sveda stream as its events and their cursors. Pure; what is no event is passed over, and it never takes the
// end of a body for the end of a turn.
import { sseReader } from "../../wire/sse-reader.ts";
import type { Stage } from "../../wire/stage.ts";
import { type Fields, isFields, parseJson, textIn } from "../fields.ts";

/** `id`: the cursor that says that everything up to here was seen. */
export type SvedaFrame =
  | { readonly kind: "event"; readonly id: string | undefined; readonly type: string; readonly event: Fields }
  /** `[DONE]`: the turn is over and nothing follows. */
  | { readonly kind: "done"; readonly id: string | undefined }
  /** An event was larger than any reader takes; nothing that follows can be read. */
  | { readonly kind: "too_large" };

/** Bytes of one event. */
const maxEvent = 16 * 1024 * 1024;

export const svedaReader = (): Stage<Uint8Array, SvedaFrame> => {
  const reader = sseReader(maxEvent);
  const read = (items: ReturnType<typeof reader.feed>): SvedaFrame[] =>
    items.flatMap((item): SvedaFrame[] => {
      if ("tooLarge" in item) return [{ kind: "too_large" }];
      // Whatever the connection broke off is sent again to the next one.
      if (item.residue === true) return [];
      if (item.data === "[DONE]") return [{ kind: "done", id: item.id }];
      const event = parseJson(item.data);
      if (!isFields(event)) return [];
      const type = textIn(event, "type");
      return type === undefined ? [] : [{ kind: "event", id: item.id, type, event }];
    });
  return { feed: (bytes) => read(reader.feed(bytes)), end: () => read(reader.end()) };
};
