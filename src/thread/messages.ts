// Messages as LangChain dumps them: what a person, a model and a tool said, whole or in pieces. Pure; every id that a run's messages have is made here.
import type { Payload } from "../../schemas/event.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Message } from "../../schemas/run.ts";
import type { LangMessage } from "../../schemas/thread.ts";
import type { AccountedUsage } from "../../schemas/usage.ts";
import { jsonText } from "../wire/json.ts";

/** A call that a model made. */
export interface Called {
  toolCallId: string;
  toolName: string;
  input: JsonRecord;
  /** The input as JSON text, where it has numbers that a JavaScript number cannot hold. */
  inputJson?: string | undefined;
  execution: "server" | "client";
  confirmation?: "required";
}

/** What a model said in one step, whole or as far as it came. */
export interface Answer {
  id: string;
  step: number;
  text: string;
  reasoning: string;
  calls: readonly Called[];
  /** Of all attempts that the answer took. */
  usage: AccountedUsage | undefined;
  /** As the provider reports it, else as it is configured, else the target's id; `undefined` when none was asked. */
  model: string | undefined;
  finishReason: string | undefined;
  /** From the request of the attempt that answered; `null` when none was made. */
  latencyMs: number | null;
  /** From 1, over the whole run. */
  callIndex: number;
  /** How full the model's context was, where the run tells it. */
  context?: Payload<"context_usage">;
}

/** What became of a call. */
export interface Result {
  id: string;
  toolCallId: string;
  toolName: string;
  /** To be written as text and for nothing else: its numbers have every digit. */
  output: unknown;
  isError: boolean;
  /** The call is of an earlier run, and this is what was decided about it. */
  decision?: "approve" | "deny";
}

/** `withdrawnAt`: number of the event that took back what the step had shown before; numbers are never used again, not even after a crash. */
export const answerId = (runId: string, step: number, withdrawnAt?: number): string =>
  `lc_run--${runId}-${step}${withdrawnAt === undefined ? "" : `-r${withdrawnAt}`}`;

/** Named for the run too: the same call id may come again in another branch of the thread. */
export const resultId = (runId: string, toolCallId: string): string => `tool-${runId}-${toolCallId}`;

export function humanMessage(id: string, content: Extract<Message, { role: "user" }>["content"]): LangMessage {
  return { ...common("human", id), content: contentOf(content) };
}

export function answerMessage(answer: Answer): LangMessage {
  const { id, text, reasoning, calls, usage } = answer;
  return {
    ...common("ai", id),
    content: text,
    additional_kwargs: reasoning === "" ? {} : { reasoning_content: reasoning },
    response_metadata: responseMetadata(answer),
    tool_calls: calls.map(({ toolName, input, inputJson, toolCallId }) => ({
      name: toolName,
      args: input,
      ...(inputJson !== undefined && { args_json: inputJson }),
      id: toolCallId,
      type: "tool_call",
    })),
    invalid_tool_calls: [],
    usage_metadata: usage === undefined ? null : usageMetadata(usage),
  };
}

export function resultMessage({ id, toolCallId, toolName, output, isError }: Result): LangMessage {
  return {
    ...common("tool", id),
    content: typeof output === "string" ? output : (jsonText(output) ?? ""),
    name: toolName,
    tool_call_id: toolCallId,
    status: isError ? "error" : "success",
    artifact: null,
  };
}

/** A piece of an answer. Its readers put pieces of one id together: texts are appended, calls by their `index`. */
export interface Piece {
  text?: string;
  reasoning?: string;
  call?: { index: number; id: string | null; name: string | null; args: string };
  /** The answer is whole: the last piece has what only its end tells. */
  end?: Answer;
}

export function pieceMessage(id: string, { text = "", reasoning, call, end }: Piece): LangMessage {
  return {
    ...common("AIMessageChunk", id),
    content: text,
    additional_kwargs: reasoning === undefined ? {} : { reasoning_content: reasoning },
    response_metadata: end === undefined ? {} : responseMetadata(end),
    tool_calls: [],
    invalid_tool_calls: [],
    tool_call_chunks: call === undefined ? [] : [{ ...call, type: "tool_call_chunk" }],
    usage_metadata: end?.usage === undefined ? null : usageMetadata(end.usage),
  };
}

const common = (type: string, id: string): LangMessage => ({
  content: "",
  additional_kwargs: {},
  response_metadata: {},
  type,
  name: null,
  id,
});

function contentOf(content: Extract<Message, { role: "user" }>["content"]): string | JsonRecord[] {
  if (typeof content === "string") return content;
  return content.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: part.url ?? `data:${part.mediaType ?? ""};base64,${part.data ?? ""}` } },
  );
}

const responseMetadata = ({ model, finishReason }: Answer): JsonRecord => ({
  ...(model !== undefined && { model_name: model }),
  ...(finishReason !== undefined && { finish_reason: finishReason }),
});

/** As LangChain has it. A total that no provider stated is the sum of both. */
export function usageMetadata(usage: AccountedUsage): JsonRecord {
  const { inputTokens = 0, outputTokens = 0, totalTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: totalTokens ?? inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && { input_token_details: { cache_read: cachedInputTokens } }),
    ...(reasoningTokens !== undefined && { output_token_details: { reasoning: reasoningTokens } }),
  };
}
