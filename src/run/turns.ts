// The conversation that a run has added to its request: what the next model call is sent after the request's own messages. Pure.
import type { Message } from "../../schemas/run.ts";
import type { CallRecord } from "../../schemas/tool.ts";
import { presentStep, type FinishedStep, type RunState } from "./state.ts";

/** Results of carried calls, then each step with its calls and results; the present one once its model has ended. */
export function turns(state: RunState): Message[] {
  // A run without an agent logs no step's end.
  const ended = state.stepEnd !== undefined || state.outcome?.outcome === "completed";
  const steps = ended ? [...state.finished, presentStep(state)] : state.finished;
  return [...state.carried.flatMap(resultMessage), ...steps.flatMap(stepMessages)];
}

/** The text that messages end in, when they end in the assistant's: a model that is sent them goes on from it. */
export function begunIn(messages: readonly Message[]): string {
  let text = "";
  for (const message of messages.toReversed()) {
    if (message.role !== "assistant" || message.toolCalls !== undefined) break;
    text = textOf(message.content) + text;
  }
  return text;
}

const textOf = (content: Extract<Message, { role: "assistant" }>["content"] = ""): string =>
  typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("");

/** The text before that of the present step which its model is to go on from. */
export function begunBefore({ charter, finished }: RunState): string {
  let text = "";
  for (const step of finished.toReversed()) {
    if (step.calls.length > 0) return text;
    if (step.text.trim() !== "") text = step.text + text;
  }
  return (charter.begun ?? "") + text;
}

/** The results that stand together behind an answer in the order of its calls, as some providers want them. */
export function inCallOrder(messages: readonly Message[]): Message[] {
  const ordered: Message[] = [];
  for (let at = 0; at < messages.length;) {
    const message = messages[at++];
    if (message === undefined) break;
    ordered.push(message);
    if (message.role !== "assistant" || message.toolCalls === undefined) continue;
    const place = new Map(message.toolCalls.map(({ toolCallId }, index) => [toolCallId, index]));
    const placeOf = (result: Message): number =>
      (result.role === "tool" ? place.get(result.toolCallId) : undefined) ?? place.size;
    const results: Message[] = [];
    for (let next = messages[at]; next?.role === "tool"; next = messages[at]) {
      results.push(next);
      at++;
    }
    for (const result of results.toSorted((left, right) => placeOf(left) - placeOf(right))) ordered.push(result);
  }
  return ordered;
}

function stepMessages({ text, calls }: FinishedStep): Message[] {
  // No model takes a turn of nothing but white space.
  const content = text.trim() === "" ? undefined : text;
  if (content === undefined && calls.length === 0) return [];
  const toolCalls = calls.map(({ toolCallId, toolName, input, inputJson, echo }) => ({
    toolCallId,
    toolName,
    input,
    ...(inputJson !== undefined && { inputJson }),
    ...(echo !== undefined && { echo }),
  }));
  return [
    {
      role: "assistant",
      ...(content !== undefined && { content }),
      ...(toolCalls.length > 0 && { toolCalls }),
    },
    ...calls.flatMap(resultMessage),
  ];
}

function resultMessage({ toolCallId, result }: CallRecord): Message[] {
  if (result === undefined) return [];
  const { output, outputJson, isError } = result;
  return [
    {
      role: "tool",
      toolCallId,
      output,
      ...(outputJson !== undefined && { outputJson }),
      ...(isError === true && { isError }),
    },
  ];
}
