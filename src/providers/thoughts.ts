// Blocks of reasoning that go back with the calls they led to: where each stood in its answer, and how it is put there again. Knows no block's shape.
import type { Target } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Message } from "../../schemas/run.ts";
import { asArray, asCount, asRecord } from "../wire/json.ts";
import { echoFor, fingerprint } from "./echo.ts";
import type { Block, Turn } from "./turns.ts";

/** Blocks of one answer. */
const MAX_THOUGHTS = 1024;

export interface Thoughts {
  /** A text of the answer. */
  text(text: string): void;
  /** A block begins, after the text so far and so many calls. It may still grow. */
  begin(block: JsonRecord, calls: number): void;
  /** What goes back: those blocks that `keep` lets, `undefined` when there are none. */
  echo(keep?: (block: JsonRecord) => boolean): JsonRecord | undefined;
}

interface Thought {
  /** UTF-16 units of text, and calls, that stand before it. */
  text: number;
  calls: number;
  block: JsonRecord;
}

export function thoughtLog(): Thoughts {
  const thoughts: Thought[] = [];
  let length = 0;
  return {
    text(text) {
      length += text.length;
    },
    begin(block, calls) {
      if (thoughts.length < MAX_THOUGHTS) thoughts.push({ text: length, calls, block });
    },
    echo(keep = () => true) {
      const kept = thoughts.filter(({ block }) => keep(block));
      return kept.length === 0 ? undefined : { thoughts: kept };
    },
  };
}

/** The blocks of an assistant's message with its thoughts where they stood. `block` makes one of a piece of the text. */
export function withThoughts(
  text: string,
  calls: readonly Block[],
  echo: JsonRecord,
  block: (text: string) => Block,
): Block[] {
  const blocks: Block[] = [];
  let [said, called] = [0, 0];
  const upTo = (length: number, count: number): void => {
    const piece = text.slice(said, Math.max(said, length));
    if (piece.trim() !== "") blocks.push(block(piece));
    said = Math.max(said, length);
    for (; called < Math.min(count, calls.length); called++) blocks.push(calls[called] ?? {});
  };
  for (const item of asArray(echo["thoughts"])) {
    const thought = asRecord(item);
    const own = asRecord(thought?.["block"]);
    if (own === undefined) continue;
    upTo(asCount(thought?.["text"]) ?? 0, asCount(thought?.["calls"]) ?? 0);
    blocks.push(own);
  }
  upTo(text.length, calls.length);
  return blocks;
}

/** What goes back with an assistant's message: the echo of its first call, if this target made it in this conversation. */
export function thoughtsOf(
  message: Message,
  target: Target,
  before: readonly Turn[],
  prefixOf: (turns: readonly Turn[]) => string,
): JsonRecord | undefined {
  const [first] = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const echo = first === undefined ? undefined : echoFor(target, first);
  return echo?.["prefix"] !== undefined && echo["prefix"] === prefixOf(before) ? echo : undefined;
}

/**
 * Names what a conversation has up to each of its messages: a thought is bound to all that stood before it, and would be
 * refused behind anything else. Ask in order: turns only grow.
 */
export function conversationPrefix(beginning: unknown): (turns: readonly Turn[]) => string {
  const print = fingerprint();
  print.add(JSON.stringify(beginning));
  let [turn, block] = [0, 0];
  return (turns) => {
    for (; turn < turns.length; turn++, block = 0) {
      const { role, content } = turns[turn] ?? { role: "", content: [] };
      if (block === 0) print.add(role);
      for (; block < content.length; block++) print.add(JSON.stringify(content[block]));
      if (turn === turns.length - 1) break;
    }
    return print.value;
  };
}
