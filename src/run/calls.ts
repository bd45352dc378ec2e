// Tool calls of a run: whose they are, under which id, which of them run now and which wait for somebody. Reads the state, changes nothing.
import type { PendingTool, StopReason } from "../../schemas/outcome.ts";
import type { CallRecord, CarriedCall } from "../../schemas/tool.ts";
import type { Charter, RunState } from "./state.ts";

type Whose = Pick<CallRecord, "execution" | "confirmation">;

const serverTool = ({ agent }: Charter, name: string) => agent?.tools.find((tool) => tool.name === name);

/** What is called: of a call that is carried on what came with it, whatever else has that name by now. */
export const toolOf = (charter: Charter, call: CallRecord | CarriedCall) =>
  "decision" in call ? call.tool : serverTool(charter, call.toolName);

/** Who makes a call to a tool of this name. One that nobody knows is answered by the server. */
export function whoseCall(charter: Charter, toolName: string): Whose {
  const tool = serverTool(charter, toolName);
  if (tool !== undefined) return { execution: "server", ...(tool.confirmation && { confirmation: "required" }) };
  const isClients = charter.agent === undefined || charter.asks.clientTools?.includes(toolName) === true;
  return { execution: isClients ? "client" : "server" };
}

/** The id under which a provider's call is logged: its own, or the first free one made from it. Storage keeps whole characters only. */
export function loggedId({ charter, calls, finished, carried, volatile }: RunState, toolCallId: string): string {
  if (charter.agent === undefined && toolCallId.isWellFormed()) return toolCallId;
  const id = toolCallId.toWellFormed();
  const begun = volatile.renamed.find(({ from }) => from === toolCallId);
  if (begun !== undefined) return begun.to;
  const made = [...carried, ...calls, ...finished.flatMap((step) => step.calls)];
  const taken = new Set([
    ...(charter.agent?.callIds ?? []),
    ...made.map((call) => call.toolCallId),
    ...volatile.renamed.map(({ to }) => to),
  ]);
  let free = id;
  for (let again = 2; taken.has(free); again++) free = `${id}_${again}`;
  return free;
}

/** Whether a step that ended so has its calls carried out; one that was cut off has not. */
export const isCarriedOut = (stopReason: StopReason | undefined): boolean =>
  stopReason === "tool_calls" || stopReason === "continue";

/** The server's calls that are being carried out. */
export function runningCalls({ calls, carried, stepBegun, stepEnd }: RunState): (CallRecord | CarriedCall)[] {
  const isOpen = ({ execution, result }: CallRecord): boolean => execution === "server" && result === undefined;
  if (!stepBegun) return carried.filter((call) => isOpen(call) && call.decision === "approve");
  if (stepEnd === undefined || !isCarriedOut(stepEnd.stopReason)) return [];
  return calls.filter((call) => isOpen(call) && call.confirmation === undefined);
}

/** Calls without a result. When none is being carried out, they wait for the client or for an approval. */
export function pendingCalls({ calls, carried }: RunState): PendingTool[] {
  return [...carried, ...calls]
    .filter(({ result }) => result === undefined)
    .map(({ toolCallId, toolName, execution, confirmation }) => ({
      toolCallId,
      toolName,
      execution,
      ...(confirmation !== undefined && { confirmation }),
    }));
}
