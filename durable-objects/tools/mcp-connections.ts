// A run's connections to MCP servers: one per server, opened at the first need, so that what a server remembers of a conversation
// lasts for the run. Knows the protocol only through its official client.
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JsonRecord } from "../../schemas/json.ts";
import { ownMessage } from "../../src/run/tool-output.ts";
import { parseJson } from "../../src/wire/json.ts";
import { within } from "../within.ts";
import { mcpFetch } from "./mcp-fetch.ts";

/** Milliseconds to agree on a protocol with a server. */
const CONNECT_MS = 10_000;
/** Milliseconds to take leave of a server. */
const LEAVE_MS = 2000;
/** The client's own clock: beyond any tool's, whose end comes by its signal. */
const BEYOND_MS = 900_000;

export interface McpEndpoint {
  /** Unique among the run's servers. */
  id: string;
  url: string;
  token: string | undefined;
  headers: Readonly<Record<string, string>>;
}

export interface McpRequest {
  method: "tools/list" | "tools/call";
  params: JsonRecord;
  signal: AbortSignal;
  onProgress?: (progress: { progress: number; total?: number | undefined; message?: string | undefined }) => void;
}

/** `error`: what the server said, or what became of the request. What the server said may hold secrets. */
export type McpAnswer = { ok: true; result: JsonRecord } | { ok: false; error: string };

export interface McpConnections {
  /** Connects when needed, once more when the server has forgotten us. Rejects only by a fault of ours. */
  request(endpoint: McpEndpoint, request: McpRequest): Promise<McpAnswer>;
  /** What the server says about itself at the beginning; `undefined` before the first request. */
  instructions(endpoint: McpEndpoint): Promise<string | undefined>;
  /** Ends all of them. */
  close(): Promise<void>;
}

interface Connection {
  client: Client;
  transport: StreamableHTTPClientTransport;
  /** Requests without an answer. */
  waiting: number;
}

interface Opened {
  endpoint: McpEndpoint;
  connection: Promise<Connection>;
}

export function mcpConnections(): McpConnections {
  const opened = new Map<string, Opened>();
  /** Of servers whose address or token is another by now; calls may still wait there. */
  const replaced: Opened[] = [];

  const connectionTo = (endpoint: McpEndpoint): Opened => {
    const standing = opened.get(endpoint.id);
    if (standing?.endpoint.url === endpoint.url && standing.endpoint.token === endpoint.token) return standing;
    const entry = { endpoint, connection: connect(endpoint) };
    opened.set(endpoint.id, entry);
    // A server that could not be reached may be back at the next call.
    entry.connection.catch(() => forget(entry));
    if (standing !== undefined) replaced.push(standing);
    return entry;
  };
  const forget = (entry: Opened): void => {
    if (opened.get(entry.endpoint.id) === entry) opened.delete(entry.endpoint.id);
  };

  const ask = async (endpoint: McpEndpoint, request: McpRequest, again: boolean): Promise<McpAnswer> => {
    const entry = connectionTo(endpoint);
    let connection: Connection | undefined;
    try {
      connection = await entry.connection;
      return { ok: true, result: await answer(connection, request) };
    } catch (error) {
      const { transport } = (await settled(entry.connection)) ?? {};
      // So a server says that it knows our session no more; then it has not done what it was asked.
      if (again && transport?.sessionId !== undefined && httpStatus(error) === 404) {
        forget(entry);
        return await ask(endpoint, request, false);
      }
      return { ok: false, error: wordsFor(error, connection === undefined ? UNREACHED : BROKEN) };
    }
  };

  return {
    request: (endpoint, request) => ask(endpoint, request, true),
    async instructions({ id }) {
      return (await settled(opened.get(id)?.connection))?.client.getInstructions();
    },
    async close() {
      const all = [...opened.values(), ...replaced.splice(0)];
      opened.clear();
      await Promise.all(all.map(leave));
    },
  };
}

async function settled(connection: Promise<Connection> | undefined): Promise<Connection | undefined> {
  try {
    return await connection;
  } catch {
    return undefined;
  }
}

async function connect({ url, token, headers }: McpEndpoint): Promise<Connection> {
  // Loaded when first needed: its schemas take longer to make than the rest of the Worker takes to start.
  const [{ Client }, { StreamableHTTPClientTransport }, { CfWorkerJsonSchemaValidator }] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/validation/cfworker"),
  ]);
  // The client's other validator makes code at run time, which workerd refuses.
  const client = new Client(
    { name: "holdfast", version: "1" },
    { jsonSchemaValidator: new CfWorkerJsonSchemaValidator() },
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: {
      redirect: "manual",
      headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    },
    fetch: mcpFetch(() => connection.waiting),
  });
  const connection: Connection = { client, transport, waiting: 0 };
  const connected = await within(client.connect(transport), CONNECT_MS);
  if (connected) return connection;
  await client.close();
  throw new Error("no agreement in time");
}

async function answer(connection: Connection, { method, params, signal, onProgress }: McpRequest): Promise<JsonRecord> {
  const { ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
  // The client goes on listening to a signal, and would call off what is long done.
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  signal.addEventListener("abort", stop);
  const options = {
    signal: abort.signal,
    timeout: BEYOND_MS,
    ...(onProgress !== undefined && { onprogress: onProgress }),
  };
  connection.waiting++;
  try {
    signal.throwIfAborted();
    return { ...(await connection.client.request({ method, params }, ResultSchema, options)) };
  } finally {
    connection.waiting--;
    signal.removeEventListener("abort", stop);
  }
}

async function leave({ connection }: Opened): Promise<void> {
  const { client, transport } = (await settled(connection)) ?? {};
  try {
    if (transport?.sessionId !== undefined) await within(transport.terminateSession(), LEAVE_MS);
  } catch {
    // A server that does not hear it forgets us by itself.
  } finally {
    await client?.close();
  }
}

/** The status of an HTTP answer that the client could not use. */
function httpStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || error instanceof TypeError || !("code" in error)) return undefined;
  const { code } = error;
  return typeof code === "number" && code >= 100 && code < 600 ? code : undefined;
}

/** The client puts it before what the server said, and so may the server. */
const RPC_PREFIX = /^(MCP error -?\d+: ?)+/;
const HTTP_PREFIX = /^Streamable HTTP error: Error POSTing to endpoint: /;

/** `unheard`: what to say when the server said nothing. */
function wordsFor(error: unknown, unheard: string): string {
  if (!(error instanceof Error)) return unheard;
  const status = httpStatus(error);
  const said = error.name === "McpError" ? error.message.replace(RPC_PREFIX, "") : ownWords(error.message);
  return error.name === "McpError" ? said || "MCP error." : httpWords(status, said, unheard);
}

const httpWords = (status: number | undefined, said: string, unheard: string): string =>
  status === undefined ? unheard : `mcp http ${status}${said === "" ? "" : `: ${said}`}`;

/** The message in an error answer's JSON; of any other body nothing is repeated. */
const ownWords = (message: string): string => ownMessage(parseJson(message.replace(HTTP_PREFIX, ""))?.value) ?? "";

const UNREACHED = "The MCP server could not be reached, or did not answer as one; the call was not made.";
const BROKEN =
  "The MCP server could not be reached, or did not answer as one; whether the call took effect is not known.";
