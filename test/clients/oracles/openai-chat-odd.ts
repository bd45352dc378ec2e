// Where the `openai` package reads answers in shapes that are none of the format's, and some servers send all the same, in another
// way than we do. Data only.
import type { Disagreement } from "./oracle.ts";

const refused = { end: "error", text: "", stopReason: undefined } as const;
const replaced: Disagreement = {
  sdk: refused,
  because: "the SDK lets a message beside or instead of a delta replace its own, which then lacks a role",
};
const listed: Disagreement = { sdk: refused, because: "an event is one object in OpenAI's own format" };
const appended: Disagreement = {
  sdk: { text: "[object Object]" },
  because: "content is a string in OpenAI's own format, and the SDK appends whatever it is",
};

export const openAiOddDisagreements: Readonly<Record<string, Disagreement>> = {
  "a gateway: the whole answer twice, the second time with the usage": {
    ...replaced,
    sdk: { ...refused, usage: undefined },
  },
  "a gateway: messages that grow": replaced,
  "a gateway: messages with reasoning and a call that come again": { ...replaced, sdk: { ...refused, calls: [] } },
  "a gateway: a refusal as a message, twice": replaced,
  "a gateway: the whole answer as a message that never ends": {
    sdk: { text: "" },
    because: "the SDK tells of deltas as they come, and of a message only when all is well",
  },
  "a gateway: events as lists": listed,
  "a gateway: the whole answer as one list": listed,
  "a gateway: a delta that is its text": { sdk: { text: "" }, because: "a delta is an object in OpenAI's own format" },
  "a gateway: content that is an object": appended,
  "a gateway: content that is one part": appended,
  "a gateway: tool_calls that are one call": {
    sdk: { end: "error", stopReason: undefined, calls: [] },
    because: "tool_calls is a list in OpenAI's own format",
  },
  "a gateway: a call in both fields": {
    sdk: { end: "error", stopReason: undefined, calls: [] },
    because: "the SDK wants a type in a tool call",
  },
  "a gateway: [DONE] glued to the last event": {
    sdk: { end: "error", stopReason: undefined },
    because: "the SDK wants one JSON value in an event",
  },
  "a gateway: a narrower report of usage, later": {
    sdk: { usage: undefined },
    because: "the SDK makes nothing of these reports; ours keeps every count that was named once",
  },
  "a gateway: an error in the choice, with a finish_reason": {
    sdk: { end: "complete", stopReason: "error" },
    because: "the SDK hands on any finish_reason, and an error inside a choice is none of the format's",
  },
  "a gateway: an error in the choice alone": {
    sdk: { end: "incomplete" },
    because: "an error inside a choice is none of the format's; the SDK sees a body that just ends",
  },
  "a gateway: a note with a text and no code": {
    sdk: { end: "error", text: "" },
    because: "the SDK wants choices in every event",
  },
};
