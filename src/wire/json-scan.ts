// Tells when the text of a JSON value is over while it comes in pieces, in linear time. Never judges whether it is valid.

/** `blank`: only white space so far. `closed`: the brackets that were opened are closed again. */
export type JsonProgress = "blank" | "open" | "closed";

export interface JsonScan {
  feed(text: string): void;
  readonly progress: JsonProgress;
}

export function jsonScan(): JsonScan {
  let progress: JsonProgress = "blank";
  let depth = 0;
  let inString = false;
  let escaped = false;

  return {
    feed(text) {
      for (const character of text) {
        if (inString) {
          if (escaped) escaped = false;
          else if (character === "\\") escaped = true;
          else if (character === '"') inString = false;
        } else if (character === '"') inString = true;
        else if ("{[".includes(character)) depth++;
        else if ("}]".includes(character)) depth--;
        else if (" \t\r\n".includes(character)) continue;
        progress = depth <= 0 && !inString && "}]".includes(character) ? "closed" : "open";
      }
    },
    get progress() {
      return progress;
    },
  };
}
