// Whole runs as the run machine plays them, one for each way in which a run of a thread can go.
import type { ProviderEvent } from "../../../schemas/provider.ts";
import type { Charter } from "../../../src/run/state.ts";
import {
  agent,
  begin,
  cancel,
  charter,
  cut,
  drive,
  fails,
  gives,
  says,
  snapshot,
  stopped,
  text,
  type Act,
  type Drive,
} from "../scenarios/drive.ts";

const reasoning = (value: string): ProviderEvent => ({ type: "reasoning", text: value });
const usage = (inputTokens: number, outputTokens: number): ProviderEvent => ({
  type: "usage",
  usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
});
export const call = (toolCallId: string, toolName = "look", input = { page: 1 }): ProviderEvent => ({
  type: "tool_call",
  toolCallId,
  toolName,
  input,
});
export const piece = (toolCallId: string, inputText: string, toolName?: string): ProviderEvent => ({
  type: "tool_call_delta",
  toolCallId,
  inputText,
  ...(toolName !== undefined && { toolName }),
});

export const playIn = (fields: Partial<Charter>, ...acts: Act[]): Drive =>
  drive(
    charter(["p1", "p2"], {
      asks: { promptBytes: 40, tools: true, json: false, clientTools: ["here"] },
      agent: agent(["look", "ask_delete"], { title: { provisional: "Courses", generate: false } }),
      ...fields,
    }),
    [begin, ...acts],
  );

const play = (...acts: Act[]): Drive => playIn({}, ...acts);
const answers = (value: string) => says("p1", text(value), usage(50, 3), stopped("stop"));
const looks = says("p1", reasoning("I look."), text("Let me look."), call("c1"), usage(40, 2), stopped("tool_calls"));

export const plays = {
  "too little found": playIn({ found: { retrieval: { hits: [] }, refusal: "Not enough." } }),
  "text only": play(says("p1", text("One "), text("course."), usage(40, 2), stopped("stop"))),
  "reasoning then text": play(says("p1", reasoning("H"), reasoning("m."), text("One."), usage(40, 2), stopped("stop"))),
  "tools then answer": play(looks, gives("c1", [{ id: 1 }]), answers("One.")),
  "two tools, one in pieces": play(
    says(
      "p1",
      piece("c1", '{"pa', "look"),
      piece("c1", 'ge":1}'),
      call("c1"),
      call("c2"),
      usage(40, 2),
      stopped("tool_calls"),
    ),
    gives("c2", "Two."),
    gives("c1", { apiKey: "k" }, { isError: true }),
    answers("One."),
  ),
  retraction: playIn(
    { onMidStreamFailure: "retract" },
    says("p1", reasoning("Hm."), text("Wrong"), cut),
    says("p2", text("Right."), usage(40, 2), stopped("stop")),
  ),
  "retraction in a later step": playIn(
    { onMidStreamFailure: "retract" },
    looks,
    gives("c1", [1]),
    says("p1", text("Wrong"), cut),
    says("p2", text("Right."), usage(40, 2), stopped("stop")),
  ),
  "failed before it showed anything, then answered": play(
    says("p1", fails("rate_limited")),
    says("p2", text("One."), usage(40, 2), stopped("stop")),
  ),
  cancelled: play(says("p1", text("On")), cancel("user")),
  "rolled back": play(says("p1", text("On")), cancel("rollback")),
  "failure with text": play(says("p1", text("On"), cut)),
  "failure before anything": play(says("p1", fails("invalid_request"))),
  "out of time": play(says("p1", text("On")), { type: "deadline" }),
  "waits for a client's result": play(
    says("p1", text("Wait."), call("c1", "here"), usage(40, 2), stopped("tool_calls")),
  ),
  "waits for an approval": play(says("p1", call("c1", "ask_delete"), usage(40, 2), stopped("tool_calls"))),
  "goes on with an approved call": playIn(
    {
      agent: agent(["look"], {
        carried: [{ toolCallId: "c1", toolName: "look", input: {}, execution: "server", decision: "approve" }],
      }),
    },
    gives("c1", [1]),
    answers("Done."),
  ),
  "recovery, then retracted": playIn(
    { onMidStreamFailure: "retract" },
    says("p1", text("One ")),
    { type: "crash", lost: 3 },
    says("p1", text("Once more."), usage(40, 2), stopped("stop")),
  ),
  "recovery, then the end": play(says("p1", text("One ")), { type: "crash", lost: 2 }),
  "recovery while a tool runs": playIn(
    { agent: agent(["look_again"], {}) },
    says("p1", text("I look."), call("c1", "look_again"), usage(40, 2), stopped("tool_calls")),
    { type: "crash", lost: 4 },
    gives("c1", [1]),
    answers("One."),
  ),
  "cut off at the limit": playIn({ maxOutputBytes: 5 }, says("p1", text("One course."), stopped("stop"))),
  filtered: play(says("p1", text("On"), usage(40, 2), stopped("content_filter"))),
  "final text alone": play(says("p1", snapshot("One."), usage(40, 2), stopped("stop"))),
  "final text that differs": play(says("p1", text("Ona"), snapshot("One."), usage(40, 2), stopped("stop"))),
  "without an agent": playIn(
    { agent: undefined },
    says("p1", text("One."), call("c1", "here"), usage(40, 2), stopped("tool_calls")),
  ),
} satisfies Record<string, Drive>;
