// Where an MCP server is and what it is sent with every request. A host page's address and token are asked of its visitor's object each
// time, and never kept.
import type { JsonRecord } from "../../schemas/json.ts";
import type { ToolServer } from "../../schemas/tool.ts";
import { hostUrlProblem } from "../../src/run/host-url.ts";
import { jsonText } from "../../src/wire/json.ts";
import { secretOf } from "../secret.ts";
import type { McpEndpoint } from "./mcp-connections.ts";
import type { ToolPlace } from "./tool-place.ts";

export type Located = { ok: true; endpoint: McpEndpoint } | { ok: false; error: string };

/** Characters of the page context as a header. */
const MAX_CONTEXT = 24_000;

/** The name of the host page's server, in reports of servers that failed. */
const HOST = "host";

export const serverId = (server: ToolServer): string => (server.type === "mcp" ? server.id : HOST);

export async function locate(server: ToolServer, where: ToolPlace): Promise<Located> {
  return server.type === "mcp" ? configured(server, where.env) : await host(server, where);
}

function configured({ id, url, keyVar }: Extract<ToolServer, { type: "mcp" }>, env: Env): Located {
  const token = keyVar === undefined ? undefined : secretOf(env, keyVar);
  if (keyVar !== undefined && token === undefined) {
    return { ok: false, error: `The secret ${keyVar} is not set on this server.` };
  }
  if (token !== undefined && !isHeaderSafe(token)) {
    return { ok: false, error: `The secret ${keyVar} holds characters that a header cannot carry.` };
  }
  return { ok: true, endpoint: { id: `mcp ${id}`, url, token, headers: {} } };
}

async function host(
  { visitor, chatId, origins }: Extract<ToolServer, { type: "host" }>,
  { env, context, hostServer }: ToolPlace,
): Promise<Located> {
  const known = await hostServer(visitor);
  if (known === undefined || known.expiresAt <= Date.now()) {
    return { ok: false, error: "The page's MCP server is not known any more." };
  }
  const problem = hostUrlProblem(known.url, { open: env.API_KEYS === undefined, origins });
  if (problem !== undefined) return { ok: false, error: `The address of the page's MCP server ${problem}.` };
  if (known.token !== undefined && !isHeaderSafe(known.token)) {
    return { ok: false, error: "The token of the page's MCP server cannot be sent in a header." };
  }
  return {
    ok: true,
    endpoint: { id: HOST, url: known.url, token: known.token, headers: pageHeaders(chatId, context) },
  };
}

function pageHeaders(chatId: string, context: JsonRecord | undefined): Record<string, string> {
  // What a header cannot carry, JSON can say in other words.
  const page = (context === undefined ? undefined : jsonText(context))?.replaceAll(/[^\x20-\x7e]/g, escaped);
  return {
    ...(isHeaderSafe(chatId) && { "X-Sveda-Chat-Id": chatId }),
    ...(page !== undefined && page.length <= MAX_CONTEXT && { "X-Sveda-Page-Context": page }),
  };
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

const isHeaderSafe = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);
