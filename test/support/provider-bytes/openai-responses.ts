// Bytes of an OpenAI Responses stream and of its errors, in the documented order. It builds what the provider sends and never
// reads it back: the adapter under test must not share code with it.
import { sseEvent } from "./framing.ts";
import type { Spelling } from "./framing.ts";

export const RESPONSES_STREAM_TYPE = "text/event-stream; charset=utf-8";

type Fields = Readonly<Record<string, unknown>>;

export type ResponsesItem =
  | { readonly type: "message"; readonly deltas: readonly string[]; readonly refusal?: true }
  | {
      readonly type: "reasoning";
      readonly summary?: readonly string[];
      readonly text?: readonly string[];
      readonly sealed?: string;
    }
  | {
      readonly type: "function_call";
      readonly callId: string;
      readonly name: string;
      /** Pieces of the argument JSON; one event each. */
      readonly arguments: readonly string[];
    };

export interface ResponsesUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly input_tokens_details?: Readonly<Record<string, number>>;
  readonly output_tokens_details?: Readonly<Record<string, number>>;
}

export interface ResponsesOptions extends Spelling {
  /** Short for one message after `items`. */
  readonly deltas?: readonly string[];
  readonly items?: readonly ResponsesItem[];
  readonly usage?: ResponsesUsage;
  readonly model?: string;
  /** Default `completed`; null leaves the last event out. */
  readonly end?: "completed" | "incomplete" | null;
  /** Of an incomplete response. */
  readonly reason?: string;
}

/** The events of one answer, one string each. */
export function openAiResponses(options: ResponsesOptions = {}): string[] {
  const { deltas, usage = null, model = "test-model", end = "completed", reason = "max_output_tokens" } = options;
  const items: readonly ResponsesItem[] = [
    ...(options.items ?? []),
    ...(deltas === undefined ? [] : [{ type: "message" as const, deltas }]),
  ];
  const response = (status: string, more: Fields = {}): Fields => ({
    response: {
      id: "resp_test0001",
      object: "response",
      created_at: 1_780_000_000,
      status,
      error: null,
      incomplete_details: status === "incomplete" ? { reason } : null,
      model,
      output: [],
      usage: null,
      ...more,
    },
  });
  const events: [type: string, fields: Fields][] = [
    ["response.created", response("in_progress")],
    ["response.in_progress", response("in_progress")],
    ...items.flatMap(itemEvents),
  ];
  if (end !== null) events.push([`response.${end}`, response(end, { output: items.map(wholeItem), usage })]);
  return events.map(([type, fields], index) => responsesEvent(type, { sequence_number: index, ...fields }, options));
}

/** One event: its type as `event:` line and inside the payload, and its fields as they stand. */
export function responsesEvent(type: string, fields: Fields = {}, spelling: Spelling = {}): string {
  return sseEvent({ type, ...fields }, spelling, type);
}

/** The error event of a stream that answered 200. */
export function responsesErrorEvent(code: string | null, message = `scripted ${code}`): string {
  return responsesEvent("error", { code, message, param: null });
}

/** The last event of an answer that failed. */
export function responsesFailed(code: string, usage: ResponsesUsage | null = null): string {
  return responsesEvent("response.failed", {
    response: { status: "failed", error: { code, message: `scripted ${code}` }, output: [], usage },
  });
}

type Event = [type: string, fields: Fields];

function itemEvents(item: ResponsesItem, index: number): Event[] {
  const whole = wholeItem(item, index);
  return [
    ["response.output_item.added", { output_index: index, item: { ...whole, ...emptyOf(item) } }],
    ...pieceEvents(item, { item_id: whole["id"], output_index: index }),
    ["response.output_item.done", { output_index: index, item: whole }],
  ];
}

function pieceEvents(item: ResponsesItem, at: Fields): Event[] {
  switch (item.type) {
    case "message": {
      const field = item.refusal === true ? "refusal" : "text";
      const subject = item.refusal === true ? "response.refusal" : "response.output_text";
      const place = { ...at, content_index: 0 };
      return [
        ["response.content_part.added", { ...place, part: partOf(item, "") }],
        ...item.deltas.map((delta): Event => [`${subject}.delta`, { ...place, delta }]),
        [`${subject}.done`, { ...place, [field]: item.deltas.join("") }],
        ["response.content_part.done", { ...place, part: partOf(item, item.deltas.join("")) }],
      ];
    }
    case "reasoning":
      return [
        ...streamed("response.reasoning_text", { ...at, content_index: 0 }, "text", item.text ?? []),
        ...streamed("response.reasoning_summary_text", { ...at, summary_index: 0 }, "text", item.summary ?? []),
      ];
    case "function_call":
      return streamed("response.function_call_arguments", at, "arguments", item.arguments);
  }
}

function streamed(subject: string, at: Fields, field: string, deltas: readonly string[]): Event[] {
  if (deltas.length === 0) return [];
  return [
    ...deltas.map((delta): Event => [`${subject}.delta`, { ...at, delta }]),
    [`${subject}.done`, { ...at, [field]: deltas.join("") }],
  ];
}

function partOf(item: Extract<ResponsesItem, { type: "message" }>, text: string): Fields {
  return item.refusal === true
    ? { type: "refusal", refusal: text }
    : { type: "output_text", text, annotations: [], logprobs: [] };
}

function emptyOf(item: ResponsesItem): Fields {
  switch (item.type) {
    case "message":
      return { status: "in_progress", content: [] };
    case "reasoning":
      return { summary: [] };
    case "function_call":
      return { status: "in_progress", arguments: "" };
  }
}

function wholeItem(item: ResponsesItem, index: number): Fields {
  switch (item.type) {
    case "message":
      return {
        id: `msg_${index}`,
        type: "message",
        status: "completed",
        role: "assistant",
        content: [partOf(item, item.deltas.join(""))],
      };
    case "reasoning": {
      const { summary = [], text = [] } = item;
      return {
        id: `rs_${index}`,
        type: "reasoning",
        summary: summary.length === 0 ? [] : [{ type: "summary_text", text: summary.join("") }],
        ...(text.length > 0 && { content: [{ type: "reasoning_text", text: text.join("") }] }),
        ...(item.sealed !== undefined && { encrypted_content: item.sealed }),
      };
    }
    case "function_call":
      return {
        id: `fc_${index}`,
        type: "function_call",
        status: "completed",
        call_id: item.callId,
        name: item.name,
        arguments: item.arguments.join(""),
      };
  }
}
