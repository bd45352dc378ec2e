// Logs of whole turns, one for each way in which a turn can go. Their frames are in golden/, under the same names.
import type { Draft, LogEntry } from "../../../schemas/event.ts";
import type { DialectRun } from "../../../src/dialects/dialect.ts";
import type { Outcome } from "../../../schemas/outcome.ts";

/** 2026-01-01T00:00:00Z */
const STARTED_AT = 1_767_225_600_000;

export const turnRun: DialectRun = { runId: "sv_1", startedAt: STARTED_AT, chatId: "c1" };

/** Numbered as they stand, one every 100 ms. */
export const logOf = (drafts: readonly Draft[]): LogEntry[] =>
  drafts.map(({ type, payload }, sequence) => {
    const entry = { sequence, at: STARTED_AT + sequence * 100, type, payload: JSON.stringify(payload) };
    return type === "content_delta" || type === "reasoning_delta" ? { ...entry, text: payload.text } : entry;
  });

const selected: Draft = { type: "lifecycle", payload: { phase: "provider_selected", providerId: "main" } };
const title = (text: string): Draft => ({ type: "title", payload: { title: text } });
const started: Draft = { type: "lifecycle", payload: { phase: "started" } };
const text = (value: string): Draft => ({ type: "content_delta", payload: { text: value } });
const reasoning = (value: string): Draft => ({ type: "reasoning_delta", payload: { text: value } });
const attempt = (phase: "started" | "committed" | "failed", number = 0): Draft => ({
  type: "attempt",
  payload: { attempt: number, step: number, targetId: "main", phase },
});
const begun = (step = 0): Draft[] => [
  { type: "step", payload: { step, phase: "started" } },
  attempt("started", step),
  attempt("committed", step),
];
const over = (step: number, finishReason: "stop" | "tool_calls", usedTokens = 42): Draft[] => [
  { type: "usage", payload: { attempt: step, inputTokens: 40, outputTokens: 2, totalTokens: usedTokens } },
  { type: "context_usage", payload: { usedTokens, maxTokens: 128_000, percent: 0.1 } },
  { type: "step", payload: { step, phase: "finished", finishReason } },
];
const call = (fields: Partial<Extract<Draft, { type: "tool_call" }>["payload"]> = {}): Draft => ({
  type: "tool_call",
  payload: { toolCallId: "t1", toolName: "get_courses", input: { page: 1 }, execution: "server", ...fields },
});
const result = (fields: Partial<Extract<Draft, { type: "tool_result" }>["payload"]> = {}): Draft => ({
  type: "tool_result",
  payload: { toolCallId: "t1", toolName: "get_courses", output: [{ id: 1 }], ...fields },
});

const common = { schemaVersion: "1.0" as const, runId: "sv_1", titles: ["Courses"] };
const usage = { inputTokens: 40, outputTokens: 2, totalTokens: 42 };
const terminal = (payload: Outcome): Draft => ({ type: "terminal", payload });
export const completed = (fields: Partial<Extract<Outcome, { outcome: "completed" }>> = {}): Draft =>
  terminal({ ...common, outcome: "completed", finalText: "", stopReason: "stop", usage, ...fields });
export const failed = (failureClass: string | undefined, message: string): Draft =>
  terminal({
    ...common,
    outcome: "error",
    partialText: "",
    error: {
      schemaVersion: "1.0",
      errorClass: "Unavailable",
      message,
      ...(failureClass !== undefined && { details: { failureClass } }),
    },
  });

const head = [selected, title("Courses")];
const denied = { success: false, denied: true, error: "The user denied this action and it was not executed." };

export const turns: Record<string, Draft[]> = {
  "text only": [...head, ...begun(), started, text("Hel"), text("lo"), ...over(0, "stop"), completed()],
  "reasoning then text": [
    ...head,
    ...begun(),
    started,
    reasoning("Hm."),
    text("Hello"),
    ...over(0, "stop"),
    completed(),
  ],
  "backend tool then answer": [
    ...head,
    ...begun(),
    started,
    { type: "tool_call_delta", payload: { toolCallId: "t1", toolName: "get_courses", inputText: "{" } },
    call(),
    ...over(0, "tool_calls"),
    result(),
    ...begun(1),
    text("One course."),
    ...over(1, "stop", 60),
    completed({ usage: { inputTokens: 90, outputTokens: 12, totalTokens: 102 } }),
  ],
  "frontend tool": [
    ...head,
    ...begun(),
    started,
    call({ toolName: "open_page", execution: "client" }),
    ...over(0, "tool_calls"),
    completed({ stopReason: "tool_calls" }),
  ],
  "confirmation required": [
    ...head,
    ...begun(),
    started,
    call({ toolName: "delete_course", confirmation: "required" }),
    ...over(0, "tool_calls"),
    completed({ stopReason: "tool_calls" }),
  ],
  "decision turn (approve)": [
    ...head,
    result({ toolName: "delete_course", output: { deleted: 1 }, decision: "approve" }),
    ...begun(),
    started,
    text("Deleted."),
    ...over(0, "stop"),
    completed(),
  ],
  "decision turn, one still open": [
    selected,
    { type: "tool_progress", payload: { carried: true, tasks: [{ id: "t1", label: "Delete", status: "running" }] } },
    result({ toolName: "delete_course", output: denied, decision: "deny" }),
    terminal({ ...common, titles: [], outcome: "completed", finalText: "", stopReason: "tool_calls" }),
  ],
  "max steps": [
    ...head,
    ...begun(),
    started,
    call(),
    ...over(0, "tool_calls"),
    result(),
    { type: "max_steps", payload: { maxSteps: 1, canContinue: true } },
    completed({ stopReason: "max_steps" }),
  ],
  "mid-stream failure": [...head, ...begun(), started, text("Hel"), attempt("failed"), failed("reset", "Cut off.")],
  "failure before anything": [...head, attempt("started"), attempt("failed"), failed("rate_limited", "Too many.")],
  "content filter": [
    ...head,
    ...begun(),
    started,
    text("Hel"),
    ...over(0, "stop"),
    completed({ stopReason: "content_filter" }),
  ],
  cancelled: [
    ...head,
    ...begun(),
    started,
    text("Hel"),
    terminal({ ...common, outcome: "cancelled", partialText: "Hel", reason: "user" }),
  ],
  "generated title, progress and links": [
    ...head,
    ...begun(),
    started,
    call({ toolCallId: "t2", input: undefined, inputJson: '{"apiKey":"k"}' }),
    ...over(0, "tool_calls"),
    {
      type: "tool_progress",
      payload: { phase: "search", tasks: [{ id: "a", label: "Look", status: "running", detail: "1 of 2" }] },
    },
    title("Courses of Ann"),
    result({
      toolCallId: "t2",
      output: undefined,
      outputJson: '{"accessToken":"t"}',
      renderHint: "resource_links",
      renderData: { links: [{ label: "One", url: "https://a.test/1" }] },
    }),
    ...begun(1),
    text("Here."),
    ...over(1, "stop"),
    completed({ titles: ["Courses", "Courses of Ann"], usage: { inputTokens: 3, outputTokens: 4 } }),
  ],
  "restated after a crash": [
    ...head,
    ...begun(),
    started,
    text("Hel"),
    { type: "diagnostic", payload: { code: "sequence_released" } },
    { type: "content_snapshot", payload: { text: "Hel", reasoning: "", releasedFrom: 7 } },
    text("lo"),
    ...over(0, "stop"),
    completed(),
  ],
};
