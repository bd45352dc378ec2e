// One call of a tool that the run executes itself, wherever the tool lives. Always ends in a result, within the tool's time; decides
// nothing about the run.
import type { CallableTool, ToolResult } from "../../schemas/tool.ts";
import { toolError } from "../../src/run/tool-output.ts";
import { httpTool } from "./http-tool.ts";
import { callMcpTool } from "./mcp-tool.ts";
import type { CallPlace, ToolCallInput } from "./tool-place.ts";

/** Never rejects: whatever goes wrong is a result with `isError`. */
export async function runTool(tool: CallableTool, call: ToolCallInput, where: CallPlace): Promise<ToolResult> {
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  const timer = setTimeout(stop, tool.timeoutMs);
  where.signal.addEventListener("abort", stop);
  const aborted = Promise.withResolvers<ToolResult>();
  abort.signal.addEventListener("abort", () => {
    const { aborted: ended } = where.signal;
    const happened = ended
      ? "The run ended while this tool ran"
      : `The tool did not answer within ${tool.timeoutMs} ms`;
    aborted.resolve(toolError(`${happened}; ${UNKNOWN}`));
  });
  try {
    if (where.signal.aborted) return toolError("The run ended before this tool was called.");
    return await Promise.race([execute(tool, call, { ...where, signal: abort.signal }), aborted.promise]);
  } catch {
    // The runtime's message may hold hosts and paths.
    return toolError(`The tool's server could not be reached, or broke off; ${UNKNOWN}`);
  } finally {
    clearTimeout(timer);
    where.signal.removeEventListener("abort", stop);
  }
}

const UNKNOWN = "whether it took effect is not known.";

function execute(tool: CallableTool, call: ToolCallInput, where: CallPlace): Promise<ToolResult> {
  const { source } = tool;
  switch (source.type) {
    case "http":
      return httpTool(source, call, where);
    case "mcp":
    case "host":
      return callMcpTool({ ...tool, source }, call, where);
  }
}
