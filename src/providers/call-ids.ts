// The calls of a conversation under ids and names that a server takes, whoever made them: each result keeps its call. A longer conversation gives the same.
import type { Message } from "../../schemas/run.ts";

export interface IdRule {
  /** UTF-16 units. */
  maxLength: number;
  /** What an id must not have. */
  refused: RegExp;
  /** Whether an id may come again in a later turn. */
  repeats: boolean;
  /** Every id has so many units, and one that is refused becomes a number. */
  digits?: number;
}

export const idRules = {
  /** Any id, as far as is known. */
  any: { maxLength: Number.POSITIVE_INFINITY, refused: /$^/g, repeats: true },
  openai: { maxLength: 40, refused: /$^/g, repeats: true },
  "openai-responses": { maxLength: 64, refused: /$^/g, repeats: true },
  mistral: { maxLength: 9, refused: /[^A-Za-z0-9]/g, repeats: true, digits: 9 },
  /** Anthropic, wherever its models are hosted. The length is Bedrock's. */
  anthropic: { maxLength: 64, refused: /[^A-Za-z0-9_-]/g, repeats: false },
} satisfies Record<string, IdRule>;

/** What every server takes that checks names: a model may have called a tool that it has made up. */
const callName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);

export function withCallIds(messages: readonly Message[], rule: IdRule): Message[] {
  /** Whose each id is that the server is sent. */
  const owners = new Map<string, string>();
  /** What the latest call of each id is sent as. */
  const sent = new Map<string, string>();
  let numbered = 0;

  const isFree = (candidate: string, id: string): boolean => {
    const owner = owners.get(candidate);
    return owner === undefined || (rule.repeats && owner === id);
  };
  const isTaken = (id: string): boolean =>
    id.length <= rule.maxLength && id.search(rule.refused) < 0 && (rule.digits ?? id.length) === id.length;

  const candidate = (id: string, attempt: number): string => {
    if (rule.digits !== undefined) return String(++numbered).padStart(rule.digits, "0");
    const suffix = attempt === 0 ? "" : `_${attempt + 1}`;
    return id.replaceAll(rule.refused, "_").slice(0, rule.maxLength - suffix.length) + suffix;
  };

  const idFor = (id: string): string => {
    const known = sent.get(id);
    if (rule.repeats && known !== undefined) return known;
    let wireId = id;
    for (let attempt = 0; !isTaken(wireId) || !isFree(wireId, id); attempt++) wireId = candidate(id, attempt);
    owners.set(wireId, id);
    sent.set(id, wireId);
    return wireId;
  };

  return messages.map((message) => {
    if (message.role === "tool") {
      const { toolCallId } = message;
      return { ...message, toolCallId: sent.get(toolCallId) ?? idFor(toolCallId) };
    }
    if (message.role !== "assistant" || message.toolCalls === undefined) return message;
    const toolCalls = message.toolCalls.map((call) => {
      return { ...call, toolCallId: idFor(call.toolCallId), toolName: callName(call.toolName) };
    });
    return { ...message, toolCalls };
  });
}
