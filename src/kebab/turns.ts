// Earlier turns of a conversation: what of them is looked for with a new question, and which of them a model reads. Pure.
import type { Message } from "../../schemas/run.ts";
import { firstCharacters } from "../wire/characters.ts";
import { ANSWER_RULES, tokensOf, turnTokens, type Packed } from "./sources.ts";

/** A question, and what was said to it. */
export interface Turn {
  question: string;
  answer: string;
}

/** Characters of the last answer that are looked for with a question. */
const QUERY_CHARS = 200;
/** Characters of the last turn that a model reads, where there is no room for all of it. */
const LAST_QUESTION = 1000;
const LAST_ANSWER = 3000;

/** Those that were answered, in part at least. Numbers of sources mean nothing behind their turn: they are left out. */
export function turnsOf(conversation: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of conversation) {
    const text = textOf(message);
    const last = turns.at(-1);
    if (message.role === "user") turns.push({ question: text, answer: "" });
    else if (message.role === "assistant" && last !== undefined) last.answer += withoutMarkers(text);
  }
  return turns.map(trimmed).filter(({ answer }) => answer !== "");
}

const trimmed = ({ question, answer }: Turn): Turn => ({ question: question.trim(), answer: answer.trim() });

function textOf(message: Message): string {
  if (message.role === "system" || message.role === "tool") return "";
  const { content = "" } = message;
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

const withoutMarkers = (text: string): string => text.replaceAll(/[ \t]*\[#\d{1,3}\]/g, "");

/**
 * What is looked for beside the question alone: the question with the beginning of the last answer. `undefined` where there is
 * none. `noEvidence`: how a refusal begins, which answers nothing.
 */
export function followUpQuery(question: string, turns: readonly Turn[], noEvidence: string): string | undefined {
  const last = turns.findLast(({ answer }) => !answer.startsWith(noEvidence));
  return last === undefined ? undefined : `${question}\n${firstCharacters(last.answer, QUERY_CHARS)}`;
}

/** What a question may refer to: the beginning of the last turn. Empty where there is none. */
export function saidBefore(turns: readonly Turn[]): { before?: Turn } {
  const last = turns.at(-1);
  if (last === undefined) return {};
  const [question, answer] = [last.question, last.answer].map((text) => firstCharacters(text, QUERY_CHARS));
  return { before: { question: question ?? "", answer: answer ?? "" } };
}

/** The newest turns that fit into so many tokens, oldest first; of the last one, the beginning in any case. */
export function packTurns(turns: readonly Turn[], room: number): Turn[] {
  const packed: Turn[] = [];
  let left = room;
  for (const turn of turns.toReversed()) {
    left -= tokensOf(turn.question + turn.answer);
    if (left < 0) {
      if (packed.length === 0) packed.push(shortened(turn));
      break;
    }
    packed.unshift(turn);
  }
  return packed;
}

const shortened = ({ question, answer }: Turn): Turn => ({
  question: firstCharacters(question, LAST_QUESTION),
  answer: firstCharacters(answer, LAST_ANSWER),
});

export type TurnMessage = { role: "user"; content: string } | { role: "assistant"; content: string };

export const turnMessages = (turns: readonly Turn[]): TurnMessage[] =>
  turns.flatMap(({ question, answer }): TurnMessage[] => [
    { role: "user", content: question },
    { role: "assistant", content: answer },
  ]);

/** What a model is sent: the rules, the turns that there is room for beside the sources, and the question. */
export const askMessages = (prompt: string, earlier: readonly Turn[], packed: Packed) => [
  { role: "system" as const, content: ANSWER_RULES },
  ...turnMessages(packTurns(earlier, turnTokens(packed))),
  { role: "user" as const, content: prompt },
];
