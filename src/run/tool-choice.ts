// Whether a request's choice among its tools means something: a choice of what is not there would be refused by every provider. Pure.
import type { ValidationIssue } from "../../schemas/problem.ts";
import type { StartRequest } from "../../schemas/run.ts";

/** `serverTools`: those that the run calls itself, beside the request's own. */
export function choiceIssue(
  { toolChoice, tools = [] }: Pick<StartRequest, "toolChoice" | "tools">,
  serverTools: readonly { name: string }[] = [],
): ValidationIssue | undefined {
  const offered = [...tools, ...serverTools];
  if (typeof toolChoice === "object" && !offered.some(({ name }) => name === toolChoice.name)) {
    return { path: "/toolChoice/name", message: "names no tool of this request", keyword: "enum" };
  }
  if (toolChoice === "required" && offered.length === 0) {
    return { path: "/toolChoice", message: "needs 'tools'", keyword: "dependentRequired" };
  }
  return undefined;
}
