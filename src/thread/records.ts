// What of a run its thread keeps: each event of the run's log as the records it makes. Pure; the same log always makes the same records.
import type { LogEvent, Payload } from "../../schemas/event.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Outcome } from "../../schemas/outcome.ts";
import type { RecordDraft, ThreadRef, ThreadRunEnd } from "../../schemas/thread.ts";
import { endingOf } from "./ending.ts";
import { fitAnswer } from "./fit-answer.ts";
import { follow } from "./follow.ts";
import { followed, type Followed, type FollowedRun, type Told } from "./followed.ts";
import { answerMessage, resultMessage, usageMetadata, type Answer, type Called } from "./messages.ts";
import { cutTrace } from "./stored-content.ts";

/** A run with what it begins with in its thread. */
export interface RecordedRun extends FollowedRun, Pick<ThreadRef, "chain" | "human" | "results"> {}

export interface Recording {
  readonly run: RecordedRun;
  readonly followed: Followed;
  /** Part of the log could not be read. */
  readonly isDamaged: boolean;
}

export interface Recorded {
  recording: Recording;
  records: RecordDraft[];
  /** With the last event. */
  end?: ThreadRunEnd;
}

type Made = Pick<RecordDraft, "eventType" | "category" | "content"> & { metadata?: JsonRecord };

const LEAD = { caller: "lead_agent" } as const;

export const emptyRecording = (run: RecordedRun): Recording => ({ run, followed: followed(run), isDamaged: false });

/** Events of the log are missing here: of what they said only the outcome's text is left. */
export const damagedRecording = (recording: Recording): Recording => ({ ...recording, isDamaged: true });

/** The records of the next event. */
export function record(recording: Recording, event: LogEvent): Recorded {
  const { run, isDamaged } = recording;
  const before =
    isDamaged && event.type === "terminal" ? restored(recording.followed, event.payload) : recording.followed;
  const { state, told } = follow(before, event);
  const made = told.flatMap((one) => madeOf(one, event, run));
  const ended = told.find((one) => one.type === "ended");
  return {
    recording: { ...recording, followed: state },
    records: made.map(({ metadata = {}, ...rest }) =>
      cutTrace({ source: event.sequence, at: event.at, metadata, ...rest }),
    ),
    ...(ended !== undefined && { end: endingOf(ended.outcome, ended.pending) }),
  };
}

/** As if the last answer had shown all of the outcome's text that no message has. */
function restored(state: Followed, outcome: Outcome): Followed {
  const whole = outcome.outcome === "completed" ? outcome.finalText : outcome.partialText;
  const { text } = state.before;
  return whole.startsWith(text) ? { ...state, text: whole.slice(text.length) } : state;
}

function madeOf(told: Told, event: LogEvent, run: RecordedRun): Made[] {
  switch (told.type) {
    case "begun":
      return [
        { eventType: "run.start", category: "trace", content: { chain: run.chain }, metadata: LEAD },
        ...(run.human === undefined ? [] : [message("llm.human.input", run.human, LEAD)]),
        ...(run.results ?? []).map((result) => message("llm.tool.result", result)),
      ];
    case "call":
      // A restatement tells calls again.
      return event.type === "tool_call" && event.payload.toolCallId === told.call.toolCallId ? intentOf(told.call) : [];
    case "answered":
      return answerOf(told.answer);
    case "result":
      return [message("llm.tool.result", resultMessage(told.result))];
    case "attempt failed": {
      const { message: text, errorClass, failureClass, targetId, attempt } = told.failure;
      const content = text ?? errorClass ?? "";
      const metadata = { ...LEAD, error_type: errorClass ?? null, failure_class: failureClass ?? null };
      return [
        { eventType: "llm.error", category: "trace", content, metadata: { ...metadata, model: targetId, attempt } },
      ];
    }
    case "diagnostic": {
      const { code, maxOutputBytes } = told.diagnostic;
      return code === "output_limit" ? safety(code, { max_output_bytes: maxOutputBytes ?? null }) : [];
    }
    case "ended":
      return endOf(told);
    case "step":
    case "text":
    case "reasoning":
    case "call piece":
    case "withdrawn":
    case "tried again":
    case "title":
      return [];
  }
}

const message = (eventType: string, content: JsonRecord, metadata: JsonRecord = {}): Made => ({
  eventType,
  category: "message",
  content,
  metadata,
});

/** A call that the server makes is told before it is made. */
function intentOf({ toolCallId, toolName, input, inputJson, execution }: Called): Made[] {
  if (execution === "client") return [];
  const exact = inputJson !== undefined && { args_json: inputJson };
  const content = { tool_call_id: toolCallId, name: toolName, args: input, ...exact };
  return [{ eventType: "tool.intent", category: "trace", content, metadata: LEAD }];
}

function answerOf(whole: Answer): Made[] {
  const { answer, isCut } = fitAnswer(whole);
  const { usage, latencyMs, callIndex, finishReason, context } = answer;
  const metadata = {
    ...LEAD,
    usage: usage === undefined ? {} : usageMetadata(usage),
    latency_ms: latencyMs,
    llm_call_index: callIndex,
    ...(context !== undefined && { context_usage: contextUsage(context) }),
    ...(isCut && { content_truncated: true }),
  };
  return [
    message("llm.ai.response", answerMessage(answer), metadata),
    ...(finishReason === "content_filter" ? safety(finishReason, {}) : []),
  ];
}

const contextUsage = ({ usedTokens, maxTokens, percent }: Payload<"context_usage">): JsonRecord => ({
  token_count: usedTokens,
  max_context_tokens: maxTokens,
  percentage: percent,
});

const safety = (name: string, changes: JsonRecord): Made[] => [
  {
    eventType: "middleware:safety_termination",
    category: "middleware",
    content: { name, hook: "after_model", action: "terminate", changes },
  },
];

/** No run ends without a word on how. */
function endOf({ outcome, pending }: Extract<Told, { type: "ended" }>): Made[] {
  const { status, stopReason, error, title } = endingOf(outcome, pending);
  const content = { status, stop_reason: stopReason, error, outcome: outcome.outcome };
  const terminal = { eventType: "run.terminal", category: "outputs", content };
  switch (outcome.outcome) {
    case "completed": {
      // One that waits for somebody has not succeeded yet.
      if (status !== "success") return [terminal];
      const usage = outcome.usage === undefined ? null : usageMetadata(outcome.usage);
      const outputs = { usage_metadata: usage, ...(title !== undefined && { title }) };
      return [
        { eventType: "run.end", category: "outputs", content: outputs, metadata: { status: "success" } },
        terminal,
      ];
    }
    case "error": {
      const { errorClass, message: text } = outcome.error;
      return [
        { eventType: "run.error", category: "error", content: text, metadata: { error_type: errorClass } },
        terminal,
      ];
    }
    case "cancelled":
      return [terminal];
  }
}
