// The reasoning of an answer in OpenAI's chat format as some servers want it back beside its calls: as one text, or in parts. Shows nothing.
import { asArray, asCount, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { heldText, heldValue } from "./echo.ts";

/** Parts of one answer. */
const MAX_PARTS = 1024;

export interface ReasoningEcho {
  /** A piece of the one text. */
  text(more: string): void;
  /** What a delta says of it; or a message, which states it: it counts where nothing has come in pieces. */
  add(said: JsonRecord, states: boolean): void;
  readonly echo: JsonRecord | undefined;
}

export function reasoningEcho(): ReasoningEcho {
  let whole = "";
  let parts: JsonRecord[] = [];
  let inPieces = false;

  const text = (more: string): void => {
    inPieces = true;
    whole = heldText(whole, more);
  };

  const part = (detail: JsonRecord): void => {
    const last = parts.at(-1);
    const goes = last !== undefined && goesOn(last, detail);
    if (!goes && parts.length >= MAX_PARTS) return;
    const grown = Object.entries(detail).map(([key, value]): [string, unknown] => {
      const before = goes ? asText(last[key]) : undefined;
      if (key === "text" || key === "summary") return [key, heldText(before ?? "", asText(value) ?? "")];
      return [key, value === null && goes ? last[key] : heldValue(value)];
    });
    const whole = Object.fromEntries([...Object.entries(goes ? last : {}), ...grown]);
    parts = [...(goes ? parts.slice(0, -1) : parts), whole];
  };

  return {
    text,
    add(said, states) {
      if (states && inPieces) return;
      if (states) [whole, parts] = ["", []];
      const more = asText(said["reasoning_content"]);
      if (more !== undefined) whole = heldText(whole, more);
      for (const item of asArray(said["reasoning_details"])) {
        const detail = asRecord(item);
        if (detail !== undefined) part(detail);
      }
      inPieces ||= !states && (whole !== "" || parts.length > 0);
    },
    get echo() {
      if (whole === "" && parts.length === 0) return undefined;
      return {
        ...(whole !== "" && { reasoning_content: whole }),
        ...(parts.length > 0 && { reasoning_details: parts }),
      };
    },
  };
}

/** Text and summaries come in pieces, under the index of their part; what is encrypted comes whole. */
function goesOn(last: JsonRecord, detail: JsonRecord): boolean {
  const { type } = detail;
  if (type !== last["type"] || (type !== "reasoning.text" && type !== "reasoning.summary")) return false;
  return asCount(detail["index"]) === asCount(last["index"]);
}
