// One call of a tool at an MCP server. Always gives a result, but for faults of ours.
import type { CallableTool, ToolResult, ToolSource } from "../../schemas/tool.ts";
import { concealedError, hiddenAt } from "../../src/run/concealed.ts";
import { mcpResult } from "../../src/run/mcp-result.ts";
import { offers } from "../../src/run/tool-access.ts";
import { toolError } from "../../src/run/tool-output.ts";
import { exactValue, parseExact } from "../../src/wire/exact-json.ts";
import { locate } from "./mcp-endpoint.ts";
import type { CallPlace, ToolCallInput } from "./tool-place.ts";

type McpSource = Exclude<ToolSource, { type: "http" }>;

export async function callMcpTool(
  { name, source }: CallableTool & { source: McpSource },
  { toolCallId, input, inputJson }: ToolCallInput,
  where: CallPlace,
): Promise<ToolResult> {
  const server = where.servers.find((one) => offers(one, { source }));
  const located = server === undefined ? undefined : await locate(server, where);
  if (located === undefined) return toolError("The MCP server of this tool is not configured any more.");
  if (!located.ok) return toolError(located.error);
  const hidden = hiddenAt(located.endpoint.url, located.endpoint.token);
  let reported = false;
  const tell = (status: "running" | "completed" | "failed", detail?: string): void => {
    reported = true;
    where.progress([{ id: toolCallId, label: name, status, ...(detail !== undefined && { detail }) }]);
  };
  const answer = await where.connections.request(located.endpoint, {
    method: "tools/call",
    params: { name: source.toolName, arguments: exactValue(inputJson, input) },
    signal: where.signal,
    onProgress: (progress) => {
      if (!where.signal.aborted) tell("running", concealedError(detailOf(progress), hidden).slice(0, MAX_DETAIL));
    },
  });
  const result = answer.ok
    ? mcpResult(answer.result, where.maxOutputBytes, hidden, parseExact)
    : toolError(answer.error, hidden);
  if (reported && !where.signal.aborted) tell(result.isError === true ? "failed" : "completed");
  return result;
}

/** Characters. */
const MAX_DETAIL = 200;

function detailOf({
  progress,
  total,
  message,
}: {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}): string {
  return message ?? (total === undefined ? String(progress) : `${progress}/${total}`);
}
