// Whether an answer can be given again, or a user's message be put otherwise, and what is to be started for it. Pure.
import type { EditRequest, ReplayRefusal } from "../../schemas/thread-replay.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { LangMessage, ThreadRunStatus } from "../../schemas/thread.ts";
import { asArray, asRecord, asText, isRecord } from "../wire/json.ts";

/** A message of the thread's state, and the run that it came from. */
export interface Said {
  message: LangMessage;
  runId: string | undefined;
}

/** A turn that is there to be done again: the user's message and what followed it. */
export interface Turn {
  human: LangMessage;
  targetRunId: string;
}

export type Found = { found: true; turn: Turn } | { found: false; refused: ReplayRefusal };

const refuse = (refused: ReplayRefusal): Found => ({ found: false, refused });

/**
 * The turn that an answer belongs to. `latest`: the latest message of a user and all that follows it. `elsewhere`: the type of
 * the message of this id, where it stands before those.
 */
export function turnOfAnswer(latest: readonly Said[], messageId: string, elsewhere: string | undefined): Found {
  const answers = latest.filter(({ message }) => isAnswer(message));
  const [human] = latest;
  const asked = latest.find(({ message }) => message.id === messageId);
  if (asked === undefined && elsewhere === undefined) return refuse("unknown_message");
  if (asked === undefined ? elsewhere !== "ai" : !isAnswer(asked.message)) return refuse("not_an_answer");
  if (asked === undefined || answers.at(-1) !== asked) return refuse("not_the_latest_answer");
  if (human === undefined || !isUsers(human.message)) return refuse("no_user_message");
  if (asked.runId === undefined) return refuse("no_run");
  return { found: true, turn: { human: human.message, targetRunId: asked.runId } };
}

/** The turn of an answer that is recorded and is in no state: its run never came to one. */
export function turnOfRecorded(latest: readonly Said[]): Found {
  const [human] = latest;
  if (human === undefined || !isUsers(human.message)) return refuse("no_user_message");
  return human.runId === undefined
    ? refuse("no_run")
    : { found: true, turn: { human: human.message, targetRunId: human.runId } };
}

/** The turn of a user's message that is to be put otherwise; `statusOf` tells how a run ended. */
export function turnOfEdit(
  latest: readonly Said[],
  { humanMessageId, replacementText }: EditRequest,
  isThere: boolean,
  statusOf: (runId: string) => ThreadRunStatus | undefined,
): Found {
  if (replacementText.trim() === "") return refuse("empty");
  const [human] = latest;
  const last = latest.at(-1);
  if (!isThere) return refuse("unknown_message");
  if (human === undefined || last === undefined || human.message.id !== humanMessageId || !isUsers(human.message)) {
    return refuse("not_the_latest_turn");
  }
  if (latest.length === 1) return refuse("not_the_latest_turn");
  if (!isAnswer(last.message) || textOf(last.message) === "" || asArray(last.message["tool_calls"]).length > 0) {
    return refuse("not_an_answered_turn");
  }
  if (last.runId === undefined) return refuse("no_run");
  if (statusOf(last.runId) !== "success") return refuse("not_successful");
  if (textOf(human.message) === replacementText) return refuse("unchanged");
  return { found: true, turn: { human: human.message, targetRunId: last.runId } };
}

/** The message with other text; what it holds beside text stays. */
export function replacement(human: LangMessage, id: string, text: string): LangMessage {
  const { content } = human;
  if (!Array.isArray(content)) return { ...human, id, content: text };
  const others = content.filter((block: unknown) => isRecord(block) && block["type"] !== "text");
  return { ...human, id, content: [{ type: "text", text }, ...others] };
}

/** A message that a user wrote, and sees. */
export const isUsers = (message: LangMessage): boolean => message.type === "human" && !isHidden(message);

const isAnswer = (message: LangMessage): boolean => message.type === "ai" && !isHidden(message);

const isHidden = ({ additional_kwargs: further }: JsonRecord): boolean => asRecord(further)?.["hide_from_ui"] === true;

function textOf({ content }: LangMessage): string {
  if (typeof content === "string") return content;
  return asArray(content)
    .map((block) => (typeof block === "string" ? block : (asText(asRecord(block)?.["text"]) ?? "")))
    .join("");
}
