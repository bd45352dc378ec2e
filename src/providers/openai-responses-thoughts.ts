// The sealed reasoning of an OpenAI Responses stream: from its finished items, or from the list of the finished response, which says what stood where. Shows nothing.
import type { JsonRecord } from "../wire/json.ts";
import { messageText, sealedReasoning } from "./openai-responses-entry.ts";
import { thoughtLog } from "./thoughts.ts";

export interface SealedThoughts {
  /** A text of the answer. */
  text(text: string): void;
  /** A finished item of reasoning, after so many calls. */
  item(entry: JsonRecord, calls: number): void;
  /** The item list counts unless it leaves something out. */
  settle(entries: readonly JsonRecord[]): void;
  /** What goes back with the answer's calls. */
  readonly echo: JsonRecord | undefined;
}

export function sealedThoughts(): SealedThoughts {
  let [thoughts, items] = [thoughtLog(), 0];

  return {
    text: (text) => thoughts.text(text),
    item(entry, calls) {
      const sealed = sealedReasoning(entry);
      if (sealed === undefined) return;
      items++;
      thoughts.begin(sealed, calls);
    },
    settle(entries) {
      const stated = thoughtLog();
      let [listed, calls] = [0, 0];
      for (const entry of entries) {
        const { type } = entry;
        const sealed = type === "reasoning" ? sealedReasoning(entry) : undefined;
        if (sealed !== undefined) {
          listed++;
          stated.begin(sealed, calls);
        }
        if (type === "message") stated.text(messageText(entry).text);
        if (type === "function_call" || type === "custom_tool_call") calls++;
      }
      if (listed > 0 && listed >= items) thoughts = stated;
    },
    get echo() {
      return thoughts.echo();
    },
  };
}
