// Which tools a run's MCP servers have. Bounded in time, pages and tools; a server that fails costs its own tools and nothing else.
import type { ServerTool, ToolRule, ToolServer, ToolSource } from "../../schemas/tool.ts";
import { concealed, hiddenAt } from "../../src/run/concealed.ts";
import { listedTool } from "../../src/run/mcp-listing.ts";
import { recordOf } from "../../src/run/json-values.ts";
import { allows, offers } from "../../src/run/tool-access.ts";
import { asArray, asText } from "../../src/wire/json.ts";
import { within } from "../within.ts";
import type { McpEndpoint } from "./mcp-connections.ts";
import { locate, serverId } from "./mcp-endpoint.ts";
import type { ToolPlace } from "./tool-place.ts";

/** Milliseconds for all servers, which are asked at the same time. */
const LIST_MS = 5000;
const PAGE_SIZE = 250;
const MAX_PAGES = 20;
/** Of one server; more than any model takes. */
const MAX_TOOLS = 128;
/** Characters. */
const MAX_INSTRUCTIONS = 4096;

export interface ListPlace extends ToolPlace {
  /** A tool that they do not allow is not counted. */
  rules: readonly ToolRule[];
}

export interface Listing {
  /** In the order of the servers; names are not unique between servers. */
  tools: ServerTool[];
  /** For the system message: what each server says about its tools. */
  instructions: string[];
  /** Ids of servers that could not be listed; `host` for the host page's. */
  failed: string[];
}

/** Never rejects. */
export async function listTools(servers: readonly ToolServer[], where: ListPlace): Promise<Listing> {
  const abort = new AbortController();
  try {
    const listed = await Promise.all(servers.map((server) => listServer(server, where, abort)));
    return {
      tools: listed.flatMap((one) => one?.tools ?? []),
      instructions: listed.flatMap((one) => one?.instructions ?? []),
      failed: servers.filter((_, index) => listed[index] === undefined).map(serverId),
    };
  } finally {
    abort.abort();
  }
}

interface Listed {
  tools: ServerTool[];
  instructions: string[];
}

async function listServer(server: ToolServer, where: ListPlace, abort: AbortController): Promise<Listed | undefined> {
  let listed: Listed | undefined;
  const work = async (): Promise<void> => {
    const located = await locate(server, where);
    if (located.ok) listed = await listAt(located.endpoint, server, where, abort.signal);
  };
  try {
    await within(work(), LIST_MS);
  } catch {
    // A fault in one listing must not keep the run from starting.
  }
  return listed;
}

async function listAt(
  endpoint: McpEndpoint,
  server: ToolServer,
  { connections, rules }: ListPlace,
  signal: AbortSignal,
): Promise<Listed | undefined> {
  const tools = new Map<string, ServerTool>();
  const cursors = new Set<string>();
  let cursor: string | undefined;
  const hidden = hiddenAt(endpoint.url, endpoint.token);
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = { per_page: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
    const answer = await connections.request(endpoint, { method: "tools/list", params, signal });
    if (!answer.ok || !Array.isArray(answer.result["tools"])) return undefined;
    for (const entry of asArray(answer.result["tools"])) {
      const tool = listedTool(entry, (toolName) => sourceOf(server, toolName));
      if (tool === undefined || tools.has(tool.name) || tools.size === MAX_TOOLS) continue;
      if (!offers(server, tool) || !allows(rules, tool)) continue;
      const { description, parameters } = tool;
      tools.set(tool.name, {
        ...tool,
        description: String(concealed(description, hidden)),
        parameters: recordOf(concealed(parameters, hidden)) ?? {},
      });
    }
    cursor = asText(answer.result["nextCursor"]);
    // A server that names a page twice would be read for ever.
    if (cursor === undefined || cursors.has(cursor)) break;
    cursors.add(cursor);
  }
  const said = asText(concealed((await connections.instructions(endpoint))?.trim(), hidden));
  const names = [...tools.keys()];
  return {
    tools: [...tools.values()],
    instructions:
      said === undefined || names.length === 0
        ? []
        : [`${said.slice(0, MAX_INSTRUCTIONS)}\n\nThis is about the tools ${names.join(", ")}.`],
  };
}

function sourceOf(server: ToolServer, toolName: string): ToolSource {
  return server.type === "mcp" ? { type: "mcp", serverId: server.id, toolName } : { type: "host", toolName };
}
