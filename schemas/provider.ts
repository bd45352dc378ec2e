// What an adapter reports while it reads one provider's stream: events, then exactly one verdict.
import type { Failure } from "./failure.ts";
import type { JsonRecord } from "./json.ts";
import type { StopReason } from "./outcome.ts";
import type { Usage } from "./usage.ts";

/** Something the user can see. The first one is the attempt's commit point. */
export type ProviderOutput =
  | { type: "text"; text: string }
  | { type: "snapshot"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "tool_call_delta"; toolCallId: string; toolName?: string; inputText: string }
  | {
      type: "tool_call";
      toolCallId: string;
      toolName: string;
      input: Record<string, unknown>;
      /** The input's JSON text, where `input` cannot hold its numbers. */
      inputJson?: string;
      /** What the provider wants back with the call in the next request. Only the adapter that made it reads it. */
      echo?: JsonRecord;
    };

/** Facts about the attempt that show nothing. */
export type ProviderNote =
  | { type: "model"; model: string }
  /**
   * Cumulative for the attempt: a later report replaces an earlier one. `apart`: tokens that the model has read and that the
   * provider counts beside `inputTokens`, not in it.
   */
  | { type: "usage"; usage: Usage; apart?: number }
  | { type: "diagnostic"; code: string; parameter?: string }
  /** The answer is over; only usage or an end marker may follow. `proven`: it is complete whatever becomes of the connection. */
  | { type: "finishing"; proven?: true };

/** How an attempt ended. `finalText`, where a provider states it, is checked against the deltas. */
export type Verdict =
  | { type: "verdict"; verdict: "complete"; stopReason?: StopReason; finalText?: string }
  | { type: "verdict"; verdict: "truncated" }
  | { type: "verdict"; verdict: "failed"; failure: Failure }
  | { type: "verdict"; verdict: "aborted" };

export type ProviderEvent = ProviderOutput | ProviderNote | Verdict;
