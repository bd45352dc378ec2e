// The request of a run that goes on from another: the earlier conversation with what its calls were given, and which calls stay open. Pure.
import type { WaitingRun } from "../../schemas/continuation.ts";
import type { ValidationIssue } from "../../schemas/problem.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import type { CarriedCall } from "../../schemas/tool.ts";

export type ContinuedRequest =
  | { ok: true; request: StartRequest; carried: CarriedCall[] }
  | { ok: false; issues: ValidationIssue[] };

/** What `body` makes of the run before it: its own fields stand, all others are the earlier run's. */
export function continuedRequest(body: StartRequest, { request, turns, open }: WaitingRun): ContinuedRequest {
  const { previousRunId: _, toolResults = [], toolDecisions = [], ...own } = body;
  const isAnswered = toolResults.length + toolDecisions.length > 0 || open.length === 0;
  const issues = [
    ...(isAnswered ? [] : [unanswered]),
    ...answerIssues("/toolResults", toolResults, open, "client"),
    ...answerIssues("/toolDecisions", toolDecisions, open, "server"),
  ];
  if (issues.length > 0) return { ok: false, issues };
  const { prompt, messages = [{ role: "user", content: prompt ?? "" }], toolChoice, ...earlier } = request;
  // The model that was made to call a tool has done so.
  const forced = toolChoice === "required" || typeof toolChoice === "object";
  const chosen = own.route ?? own.targets;
  const { route, targets, ...others } = earlier;
  const results = toolResults.map(({ toolCallId, output, outputJson, isError }): Message => ({
    role: "tool",
    toolCallId,
    output,
    ...(outputJson !== undefined && { outputJson }),
    ...(isError !== undefined && { isError }),
  }));
  const given = new Set(toolResults.map(({ toolCallId }) => toolCallId));
  return {
    ok: true,
    request: {
      ...others,
      ...(chosen === undefined && route !== undefined && { route }),
      ...(chosen === undefined && targets !== undefined && { targets }),
      ...(!forced && toolChoice !== undefined && { toolChoice }),
      ...own,
      messages: [...messages, ...turns, ...results],
    },
    carried: open
      .filter(({ toolCallId }) => !given.has(toolCallId))
      .map(({ toolCallId: id, toolName, input, inputJson, execution, confirmation, echo, tool }) => ({
        toolCallId: id,
        toolName,
        input,
        ...(inputJson !== undefined && { inputJson }),
        execution,
        ...(confirmation !== undefined && { confirmation }),
        ...(echo !== undefined && { echo }),
        ...(tool !== undefined && { tool }),
        decision: toolDecisions.find(({ toolCallId }) => toolCallId === id)?.decision ?? "undecided",
      })),
  };
}

/** Ids of all calls of a conversation. */
export function callIdsOf(messages: readonly Message[]): string[] {
  return messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []).map(({ toolCallId }) => toolCallId) : [],
  );
}

/** Results are for the client's calls, decisions for those that wait for an approval. */
function* answerIssues(
  at: string,
  answers: readonly { toolCallId: string }[],
  open: WaitingRun["open"],
  execution: "client" | "server",
): Generator<ValidationIssue> {
  const seen = new Set<string>();
  for (const [index, { toolCallId }] of answers.entries()) {
    const path = `${at}/${index}/toolCallId`;
    const call = open.find((candidate) => candidate.toolCallId === toolCallId);
    if (seen.has(toolCallId)) yield { path, message: "stands twice", keyword: "uniqueItems" };
    else if (call === undefined) yield { path, message: "names no open call of that run", keyword: "enum" };
    else if (call.execution !== execution) yield { path, message: unfit[execution], keyword: "not" };
    seen.add(toolCallId);
  }
}

const unanswered: ValidationIssue = {
  path: "/previousRunId",
  message: "needs 'toolResults' or 'toolDecisions' for the calls of that run",
  keyword: "anyOf",
};

const unfit = {
  client: "names a call that waits for a decision, not for a result",
  server: "names a call of the client's, which needs a result",
};
