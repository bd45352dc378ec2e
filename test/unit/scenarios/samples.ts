// A small set of runs, made by the machine, that together hold every event type, every outcome and every optional field.
import type { ProviderEvent } from "../../../schemas/provider.ts";
import {
  agent,
  begin,
  cancel,
  charter,
  cut,
  done,
  drive,
  fails,
  gives,
  says,
  snapshot,
  stopped,
  text,
  type Drive,
} from "./drive.ts";

const call = (toolCallId: string, input: Record<string, unknown>): ProviderEvent => ({
  type: "tool_call",
  toolCallId,
  toolName: "weather",
  input,
});
const piece: ProviderEvent = { type: "tool_call_delta", toolCallId: "c1", toolName: "weather", inputText: '{"ci' };
const usage: ProviderEvent = {
  type: "usage",
  usage: { inputTokens: 2, outputTokens: 1, totalTokens: 3, reasoningTokens: 1, cachedInputTokens: 0 },
};
const model: ProviderEvent = { type: "model", model: "m-2026" };
const unsupported: ProviderEvent = { type: "diagnostic", code: "parameter_unsupported", parameter: "seed" };
const refused = fails("rate_limited", { httpStatus: 429, providerCode: "rate_limit_exceeded", retryAfterMs: 1500 });

const one = charter(["p1"]);
const two = charter(["p1", "p2"]);

const named = (toolCallId: string, toolName: string, input: Record<string, unknown> = {}): ProviderEvent => ({
  type: "tool_call",
  toolCallId,
  toolName,
  input,
});
const titled = { title: { provisional: "What is the weather", generate: true } };
const ofAgent = charter(["p1"], { agent: agent(["look", "ask_delete"], { maxSteps: 2, ...titled }) });

const found = { hits: [{ rank: 1, doc_path: "a.md" }], trace: { lexical: [] } };

export const sampleRuns: { name: string; run: Drive }[] = [
  {
    name: "completed",
    run: drive(one, [begin, says("p1", unsupported, model, text("Hello"), usage, stopped("stop"))]),
  },
  { name: "completed without a reason", run: drive(one, [begin, says("p1", snapshot("Hi"), done("Hello"))]) },
  { name: "completed without any output", run: drive(one, [begin, says("p1", done())]) },
  {
    name: "tool calls",
    run: drive(one, [
      begin,
      says("p1", { type: "reasoning", text: "Hm." }, piece, call("c1", { city: "Rome" }), call("c2", { apiKey: "k" })),
      says("p1", usage, stopped("tool_calls")),
    ]),
  },
  { name: "content filter", run: drive(one, [begin, says("p1", text("He"), stopped("content_filter"))]) },
  {
    name: "output limit",
    run: drive(charter(["p1"], { maxOutputBytes: 3 }), [begin, says("p1", text("Hello"))]),
  },
  { name: "fallback", run: drive(two, [begin, says("p1", refused), says("p2", text("Hi"), stopped("length"))]) },
  {
    name: "retraction",
    run: drive(charter(["p1", "p2"], { onMidStreamFailure: "retract" }), [
      begin,
      says("p1", text("wrong"), cut),
      says("p2", text("right"), stopped("stop")),
    ]),
  },
  { name: "exhausted chain", run: drive(two, [begin, says("p1", refused), says("p2", fails("auth"))]) },
  { name: "cut after output", run: drive(two, [begin, says("p1", text("so far"), usage, cut)]) },
  {
    name: "too slow",
    run: drive(one, [begin, says("p1", text("x")), says("p1", fails("timeout_progress", { floor: 3 }))]),
  },
  { name: "total clock", run: drive(two, [begin, { type: "deadline" }]) },
  { name: "restart", run: drive(one, [begin, says("p1", text("x")), { type: "crash", lost: 2 }]) },
  { name: "cancelled", run: drive(one, [begin, says("p1", text("one"), usage), cancel("user stopped")]) },
  { name: "cancelled before the start", run: drive(two, [cancel()]) },
  {
    name: "steps up to the limit",
    run: drive(ofAgent, [
      begin,
      says("p1", text("I look."), named("c1", "look", { token: "t" }), named("c2", "nobody"), usage, stopped("stop")),
      { type: "tool_progress", label: "Looking" },
      { type: "title", title: "Weather" },
      gives("c1", { token: "t" }, { renderHint: "resource_links", renderData: { links: [], apiKey: "k" } }),
      says("p1", named("c1", "look"), stopped("tool_calls")),
      gives("c1_2", null, { isError: true }),
    ]),
  },
  {
    name: "an approval that waits",
    run: drive(ofAgent, [begin, says("p1", named("c1", "ask_delete"), stopped("tool_calls")), { type: "title" }]),
  },
  {
    name: "an answer from documents",
    run: drive(charter(["p1"], { found: { retrieval: found } }), [
      begin,
      says("p1", text("So [#1]."), stopped("stop")),
    ]),
  },
  {
    name: "too little found",
    run: drive(charter(["p1"], { found: { retrieval: { hits: [] }, refusal: "Nothing on this." } }), [begin]),
  },
  {
    name: "work that a producer tells of",
    run: drive(charter(["p1"], { isPushed: true }), [
      begin,
      {
        type: "pushed",
        events: [
          {
            type: "preparation_progress",
            payload: { providerId: "documents", task: "chunk", fractionCompleted: 0.5, n: 1 },
          },
          { type: "preparation_progress", payload: { providerId: "documents", task: "keep" } },
          { type: "terminal", payload: { outcome: "completed", finalText: "Kept." } },
        ],
      },
    ]),
  },
  {
    name: "a decision carried out",
    run: drive(
      charter(["p1"], {
        agent: agent(["look"], {
          carried: [
            { toolCallId: "c1", toolName: "look", input: {}, execution: "server", decision: "approve" },
            { toolCallId: "c2", toolName: "look", input: {}, execution: "server", decision: "deny" },
          ],
        }),
      }),
      [begin, gives("c1", [1]), says("p1", text("Done."), stopped("stop"))],
    ),
  },
];
