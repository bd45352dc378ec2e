// What a user asks to have done again, and what a client starts it with. Shapes only.
import type { JsonRecord } from "./json.ts";
import type { LangMessage } from "./thread.ts";

export interface EditRequest {
  humanMessageId: string;
  replacementText: string;
}

export type ReplayRefusal =
  | "unknown_thread"
  | "no_checkpoint"
  | "unknown_message"
  /** It is no answer that a user sees. */
  | "not_an_answer"
  | "not_the_latest_answer"
  | "no_user_message"
  | "no_run"
  | "not_the_latest_turn"
  | "not_an_answered_turn"
  | "not_successful"
  | "unchanged"
  | "empty";

/** What a start is made of, in the words in which clients send it. */
export interface Replay {
  /** The user's message, and the title that the thread has. */
  human: LangMessage;
  title?: string;
  /** The state before the message. */
  checkpointId: string;
  metadata: JsonRecord;
  targetRunId: string;
}

export type RegenerateAnswer = ({ prepared: true } & Replay) | { prepared: false; refused: ReplayRefusal };

export type EditAnswer =
  /** `sourceMessageIds`: of the messages whose place the new ones take. */
  ({ prepared: true; sourceMessageIds: string[] } & Replay) | { prepared: false; refused: ReplayRefusal };
