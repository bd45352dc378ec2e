// What a model is asked beside a run, in words, and what is made of its answers. Pure.
import type { StartRequest } from "../../schemas/run.ts";

/** The text that the user has come with last; empty when there is none. */
export function promptOf({ prompt = "", messages }: StartRequest): string {
  if (messages === undefined) return prompt;
  const last = messages.findLast((message) => message.role === "user");
  if (last?.role !== "user") return "";
  if (typeof last.content === "string") return last.content;
  return last.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** UTF-16 units of a prompt that a title is made from. */
const TITLE_SOURCE = 2000;
const MAX_TITLE = 80;

export const titleQuestion = (prompt: string): string =>
  `Write a title of at most six words for a conversation that begins with the message below. Use the message's language. Answer with the title alone, without quotes.

${prompt.slice(0, TITLE_SOURCE).toWellFormed()}`;

/** One line of at most 80 characters, without quotes and without punctuation at its end; empty when nothing is left. */
export function titleOf(answer: string): string {
  const line = answer
    .replace(/["'`«»“”„‘’\n]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  const characters = Array.from(line.replace(/[\s.,;:!?]+$/, "").slice(0, MAX_TITLE * 2));
  return characters.slice(0, MAX_TITLE).join("").trim();
}

export const summaryQuestion = (conversation: string): string =>
  `Sum up the conversation below for an assistant who will go on with it and will not see it. Keep names, numbers, decisions, what the user wants, and what is still open. Write plain sentences in the conversation's language, at most 400 words.

${conversation.toWellFormed()}`;
