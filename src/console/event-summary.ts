// One line of text for an event in the list. Pure; it shortens, and never leaves out what makes an event differ.
import { numberIn, textIn } from "./fields.ts";
import type { ReceivedEvent } from "./run-view.ts";

/** Characters of a summary, the ellipsis included. */
const maxCharacters = 180;

export const summarize = (event: ReceivedEvent): string => shorten(describe(event));

const describe = ({ type, payload }: ReceivedEvent): string => {
  switch (type) {
    case "content_delta":
    case "reasoning_delta":
      return JSON.stringify(textIn(payload, "text") ?? "");
    case "content_snapshot":
      return textIn(payload, "text") === "" ? `withdrawn ${json(payload)}` : json(payload);
    case "attempt":
      return words(
        `#${numberIn(payload, "attempt") ?? "?"}`,
        textIn(payload, "targetId"),
        textIn(payload, "phase"),
        payload["continues"] === true ? "going on from the text" : undefined,
        textIn(payload, "errorClass"),
        textIn(payload, "message"),
      );
    case "lifecycle":
      return words(textIn(payload, "phase"), textIn(payload, "providerId"));
    case "preparation_progress":
      return words(textIn(payload, "task"), percent(numberIn(payload, "fractionCompleted")));
    case "terminal":
      return words(textIn(payload, "outcome"), textIn(payload, "finishReason") ?? textIn(payload, "reason"));
    default:
      return Object.keys(payload).length === 0 ? "" : json(payload);
  }
};

const json = (value: unknown): string => JSON.stringify(value);

const percent = (fraction: number | undefined): string | undefined =>
  fraction === undefined ? undefined : `${Math.round(fraction * 100)} %`;

const words = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== "").join(" ");

const shorten = (text: string): string =>
  text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`;
