// Turns as the run machine plays them, with the order of Sveda's events that each must have.
import type { ProviderEvent } from "../../../schemas/provider.ts";
import {
  agent,
  begin,
  charter,
  cut,
  drive,
  gives,
  says,
  stopped,
  text,
  type Act,
  type Drive,
} from "../scenarios/drive.ts";

const call = (toolName: string): ProviderEvent => ({ type: "tool_call", toolCallId: "c1", toolName, input: {} });
const usage: ProviderEvent = { type: "usage", usage: { inputTokens: 40, outputTokens: 2, totalTokens: 42 } };
const titled = { title: { provisional: "Courses", generate: false } };

const turn = (fields: Parameters<typeof agent>[1], ...acts: Act[]): Drive =>
  drive(
    charter(["p1"], {
      asks: { promptBytes: 40, tools: true, json: false, clientTools: [] },
      agent: agent(["look", "ask_delete"], { ...titled, ...fields }),
    }),
    [begin, ...acts],
  );
const answers = says("p1", text("One "), text("course."), usage, stopped("stop"));
const looks = says("p1", call("look"), usage, stopped("tool_calls"));

export interface Order {
  name: string;
  run: Drive;
  events: string[];
  finishReason: string;
}

export const orders: Order[] = [
  {
    name: "text only",
    run: turn({}, answers),
    events: ["message.start", "text.delta", "text.delta", "context.usage", "message.end", "chat.title"],
    finishReason: "stop",
  },
  {
    name: "reasoning then text",
    run: turn({}, says("p1", { type: "reasoning", text: "Hm." }, text("One."), usage, stopped("stop"))),
    events: ["message.start", "reasoning.delta", "text.delta", "context.usage", "message.end", "chat.title"],
    finishReason: "stop",
  },
  {
    name: "backend tool then answer",
    run: turn({}, looks, gives("c1", [1]), says("p1", text("One."), usage, stopped("stop"))),
    events: [
      "message.start",
      "tool.call",
      "context.usage",
      "tool.result",
      "text.delta",
      "context.usage",
      "message.end",
      "chat.title",
    ],
    finishReason: "stop",
  },
  {
    name: "confirmation required",
    run: turn({}, says("p1", call("ask_delete"), usage, stopped("tool_calls"))),
    events: ["message.start", "tool.call", "context.usage", "message.end", "chat.title"],
    finishReason: "tool_calls",
  },
  {
    name: "decision turn (approve)",
    run: turn(
      {
        carried: [{ toolCallId: "c1", toolName: "look", input: {}, execution: "server", decision: "approve" }],
      },
      gives("c1", [1]),
      says("p1", text("Done."), usage, stopped("stop")),
    ),
    events: ["tool.result", "message.start", "text.delta", "context.usage", "message.end", "chat.title"],
    finishReason: "stop",
  },
  {
    name: "max steps",
    run: turn({ maxSteps: 1 }, looks, gives("c1", [1])),
    events: ["message.start", "tool.call", "context.usage", "tool.result", "max_steps", "message.end", "chat.title"],
    finishReason: "stop",
  },
  {
    name: "mid-stream failure",
    run: turn({}, says("p1", text("One "), cut)),
    events: ["message.start", "text.delta", "error", "message.end", "chat.title"],
    finishReason: "error",
  },
];
