// What a model is sent for a step: the run's request with what servers say about their tools, the conversation that the run has added to it, and the tools that the run calls itself. Pure.
import type { Message, StartRequest } from "../schemas/run.ts";
import type { AgentPlan } from "../schemas/tool.ts";
import { messagesOf } from "../src/providers/conversation.ts";
import { clientTools } from "../src/run/asks.ts";
import type { RunState } from "../src/run/state.ts";
import { choiceIssue } from "../src/run/tool-choice.ts";
import { inCallOrder, turns } from "../src/run/turns.ts";

export function stepRequest(
  request: StartRequest,
  state: RunState,
  agent: Pick<AgentPlan, "tools" | "instructions"> | undefined,
): StartRequest {
  if (agent === undefined) return request;
  const { toolChoice, tools: _, ...rest } = request;
  const tools = [
    ...clientTools(request, agent.tools),
    ...agent.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
  ];
  // A model that was made to call a tool has done so: made to do it again, it would never answer.
  const isOver = state.step > 0 && toolChoice !== "none";
  const choice = isOver || choiceIssue(request, agent.tools) !== undefined ? undefined : toolChoice;
  return {
    ...rest,
    messages: inCallOrder([...instructed(messagesOf(request), agent.instructions ?? []), ...turns(state)]),
    ...(tools.length > 0 && { tools }),
    ...(choice !== undefined && { toolChoice: choice }),
  };
}

/** What servers say about their tools belongs to the system message. */
function instructed(messages: readonly Message[], instructions: readonly string[]): readonly Message[] {
  if (instructions.length === 0) return messages;
  const text = instructions.join("\n\n");
  const at = messages.findIndex(({ role }) => role === "system");
  const system = messages[at];
  if (system?.role !== "system") return [{ role: "system", content: text }, ...messages];
  const { content } = system;
  const longer = typeof content === "string" ? `${content}\n\n${text}` : [...content, { type: "text" as const, text }];
  return messages.with(at, { ...system, content: longer });
}
