// What is said between the edge, a run and the object of a visitor, which keeps the visitor's chats. Plain values: they cross an RPC boundary.
import type * as v from "valibot";
import type {
  chatDetailSchema,
  chatImageSchema,
  chatSummarySchema,
  displayMessageSchema,
  historyEntrySchema,
  turnFinishSchema,
} from "./dialects/sveda-chats.ts";
import type { JsonRecord } from "./json.ts";
import type { StopReason } from "./outcome.ts";
import type { Message } from "./run.ts";
import type { CallableTool, CallRecord, CarriedCall } from "./tool.ts";
import type { AccountedUsage } from "./usage.ts";

/** How a turn ended, in the words in which its stream said so. */
export type TurnFinish = v.InferOutput<typeof turnFinishSchema>;

/** A message as the visitor's page shows it; an answer of ours says how its turn ended. */
export type DisplayMessage = v.InferOutput<typeof displayMessageSchema>;

/** A picture in a user's message, for the models that see: at an address, or as base64 with its type. */
export type ChatImage = v.InferOutput<typeof chatImageSchema>;

type PublishedEntry = v.InferOutput<typeof historyEntrySchema>;
type PublishedCall = NonNullable<PublishedEntry["tool_calls"]>[number];

/** One entry of the conversation as a model reads it, in the form in which histories are published. */
export interface HistoryEntry extends PublishedEntry {
  /**
   * `echo` is for the provider that made the call, `tool` what is to be called, of one that waits for an approval; no page is
   * shown either.
   */
  tool_calls?: (PublishedCall & { echo?: JsonRecord; tool?: CallableTool })[];
}

export type ChatSummary = v.InferOutput<typeof chatSummarySchema>;

export type ChatDetail = v.InferOutput<typeof chatDetailSchema>;

/** `max` per window of so many minutes; a max of 0: no limit. */
export interface Throttle {
  max: number;
  minutes: number;
}

/** What a tenant is asked before a new turn begins. */
export interface TurnEntryRequest {
  runId: string;
  /** A turn that ends when this one begins. */
  instead: string | undefined;
  /** Where the client is, as far as that is known. */
  address: string | undefined;
  /** Of turns from one address. */
  throttle: Throttle;
  /** Turns of the tenant that may run at the same time; 0: no limit. */
  active: number;
}

export type TurnEntry =
  | { entered: true }
  | { entered: false; refused: "too_many_attempts"; retryAfterMs: number }
  | { entered: false; refused: "too_many_streams" };

/** A turn that a client asks for, read and validated. */
export interface TurnRequest {
  chatId: string;
  /** The same for a repeat of the same turn. */
  identity: string;
  /** The identity is only that of the bytes: a repeat counts as one while the run is live, and no longer. */
  liveOnly: boolean;
  /** The incoming messages, for the page. Empty when only a prompt was sent. */
  display: DisplayMessage[];
  /** The conversation before the prompt; empty: that of the stored chat. Never a system message of our own. */
  history: HistoryEntry[];
  /** Empty for a turn that only goes on, such as one that brings tool results. */
  prompt: string;
  /** Of the message that the prompt is; with them an empty prompt is a message too. */
  images?: ChatImage[];
  decisions: { toolCallId: string; decision: "approve" | "deny" }[];
  stream: Throttle;
  /** 0: no limit. */
  activePerVisitor: number;
  /** What the tenant is asked (`enterTurn`) for a turn that is no repeat, once the visitor's own throttle let it pass. */
  entry?: Pick<TurnEntryRequest, "address" | "throttle" | "active">;
  /** UTF-8 bytes of the conversation that a model is to read, the prompt included; of a longer one the newest. */
  maxConversationBytes: number;
  /** The request names no known model: refused after the throttle, before the chat is looked at. */
  unknownModel: boolean;
  /** What is asked for cannot be run, whatever the chat holds: refused after an unknown model. */
  unfit?: boolean;
}

export type TurnAnswer =
  /** `repeat`: the run of this turn exists or is being started; it is read, not paid for again. */
  | { begun: true; repeat: true; runId: string }
  | {
      begun: true;
      repeat: false;
      runId: string;
      /** What a model reads, in order; the prompt is its end. */
      messages: Message[];
      carried: CarriedCall[];
      callIds: string[];
      title: { provisional: string; generate: boolean };
      /** The visitor's host page has an MCP server. */
      hostTools: boolean;
    }
  | { begun: false; refused: "too_many_attempts"; retryAfterMs: number }
  | {
      begun: false;
      refused:
        | "too_many_streams"
        | "unknown_model"
        | "unfit"
        | "confirmation_required"
        | "history_unavailable"
        | "nothing_to_say";
    };

/** How a turn ended. Told by the run until the visitor's object has acknowledged it. */
export interface TurnEnd {
  runId: string;
  chatId: string;
  /** Unix epoch, milliseconds. */
  at: number;
  outcome: "completed" | "error" | "cancelled";
  stopReason?: StopReason;
  /** Only the outcome and its text are known: the run has not told the rest, and may do so yet. */
  incomplete?: true;
  /** Absent when no more is known than the outcome. */
  finish?: TurnFinish;
  /** Of all steps. */
  text: string;
  reasoning: string;
  /** In order, with their results; calls carried over from earlier turns first. */
  carried: CallRecord[];
  /** One per step. */
  steps: { text: string; reasoning: string; calls: CallRecord[] }[];
  titles: string[];
  usage?: AccountedUsage;
}

/** `summarize`: the conversation has grown long: a model is to sum up this text, and the answer is to be handed in for `through`. */
export interface TurnEndAnswer {
  summarize?: { text: string; through: number };
}

/** Where a visitor's host page has its MCP server. */
export interface HostServer {
  url: string;
  token?: string;
  /** Unix epoch, milliseconds. */
  expiresAt: number;
}
