// Reads the texts of a whole output item of OpenAI Responses. Keeps nothing.
import { heldText, heldValue } from "./echo.ts";
import { asArray, asRecord, asText, type JsonRecord } from "../wire/json.ts";

/** The objects of a list. */
export const recordsIn = (list: unknown): JsonRecord[] =>
  asArray(list)
    .map(asRecord)
    .filter((entry) => entry !== undefined);

const textsIn = (list: unknown): string[] => recordsIn(list).flatMap((part) => asText(part["text"]) ?? []);

/** The reasoning itself, or else its summary. */
export function reasoningText(entry: JsonRecord): string {
  const own = textsIn(entry["content"]);
  return (own.length > 0 ? own : textsIn(entry["summary"])).join("\n\n");
}

/** A message's text, refusals included, and whether there is one. */
export function messageText(entry: JsonRecord): { text: string; refuses: boolean } {
  const { content } = entry;
  // Some gateways keep the content in Chat Completions' way.
  if (typeof content === "string") return { text: content, refuses: false };
  const parts = recordsIn(content);
  return {
    text: parts.map((part) => asText(part["text"]) ?? asText(part["refusal"]) ?? "").join(""),
    refuses: parts.some((part) => asText(part["refusal"]) !== undefined),
  };
}

/** An item of reasoning as it goes back: without its id, by which nothing is stored; `undefined` for one that holds nothing for the model. */
export function sealedReasoning(entry: JsonRecord): JsonRecord | undefined {
  const sealed = asText(entry["encrypted_content"]);
  if (sealed === undefined) return undefined;
  return {
    type: "reasoning",
    summary: heldValue(recordsIn(entry["summary"])),
    encrypted_content: heldText("", sealed),
  };
}
