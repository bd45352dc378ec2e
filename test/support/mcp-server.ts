// A real MCP server on loopback, of the official SDK, whose tools do what tests need. Each path is another way to speak the protocol.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  StreamableHTTPServerTransport,
  type EventStore,
  type StreamableHTTPServerTransportOptions,
} from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
  type ListToolsResult,
} from "@modelcontextprotocol/sdk/types.js";

export interface McpCall {
  path: string;
  httpMethod: string;
  /** JSON-RPC method, for a POST. */
  method?: string;
  params?: unknown;
  headers: IncomingHttpHeaders;
}

export interface McpServer {
  readonly origin: string;
  calls(path: string): readonly McpCall[];
  /** Sessions of a path that stand now. */
  sessions(path: string): number;
  /** Forgets the sessions of a path, as a server does that was restarted. */
  forget(path: string): Promise<void>;
  /** What fails from now on: a listing is answered by an error, any other request by nothing. */
  fail(what: "nothing" | "listings" | "everything"): void;
  stop(): Promise<void>;
}

const object = { type: "object" as const, properties: {} };

/** In three pages, the cursor of each its number. */
const pages: readonly ListToolsResult["tools"][] = [
  [
    { name: "echo", description: "Says what it was told.", inputSchema: object },
    { name: "structured", title: "Structured", inputSchema: object, annotations: { readOnlyHint: true } },
    { name: "count", inputSchema: object },
  ],
  [
    {
      name: "files.remove",
      description: "Removes a file.",
      inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      _meta: { domain: "files", mode: "delete", confirmation: "required" },
    },
    { name: "files.write", inputSchema: object, _meta: { domain: "files", mode: "write" } },
  ],
  [
    { name: "fail", inputSchema: object },
    { name: "hang", inputSchema: object },
  ],
];

const ways: Record<string, () => StreamableHTTPServerTransportOptions> = {
  "/json": () => ({ enableJsonResponse: true, sessionIdGenerator: randomUUID }),
  "/sse": () => ({ sessionIdGenerator: randomUUID }),
  "/stateless": () => ({}),
  "/resume": () => ({ sessionIdGenerator: randomUUID, eventStore: eventStore(), retryInterval: 10 }),
};

export async function startMcpServer(): Promise<McpServer> {
  const calls: McpCall[] = [];
  let failing: "nothing" | "listings" | "everything" = "nothing";
  const transports = new Map<string, { path: string; transport: StreamableHTTPServerTransport }>();

  const open = async (path: string, options: StreamableHTTPServerTransportOptions) => {
    const transport = new StreamableHTTPServerTransport({
      ...options,
      onsessioninitialized: (id) => {
        transports.set(id, { path, transport });
      },
      onsessionclosed: (id) => {
        transports.delete(id);
      },
    });
    await toolServer().connect(transport);
    return transport;
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "";
    const body = await jsonOf(request);
    calls.push({ path, httpMethod: request.method ?? "", ...methodOf(body), headers: request.headers });
    if (failing === "everything") {
      response.destroy();
      return;
    }
    if (failing === "listings" && methodOf(body).method === "tools/list") {
      response.writeHead(503).end();
      return;
    }
    const way = ways[path];
    const session = String(request.headers["mcp-session-id"] ?? "");
    const standing = transports.get(session);
    if (way === undefined || (session !== "" && standing === undefined)) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_001, message: "Session not found" } }),
      );
      return;
    }
    const transport = standing?.transport ?? (await open(path, way()));
    await transport.handleRequest(request, response, body);
  };

  const faults: unknown[] = [];
  const server = createServer((request, response) => {
    handle(request, response).catch((fault: unknown) => {
      faults.push(fault);
      response.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return {
    origin: `http://127.0.0.1:${address.port}`,
    calls: (path) => calls.filter((call) => call.path === path),
    sessions: (path) => [...transports.values()].filter((one) => one.path === path).length,
    fail(what) {
      failing = what;
    },
    async forget(path) {
      for (const [id, one] of transports) {
        if (one.path !== path) continue;
        transports.delete(id);
        await one.transport.close();
      }
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      if (faults.length > 0) throw new AggregateError(faults, "the MCP server failed");
    },
  };
}

/** One per session: `count` counts the calls of its session. */
function toolServer(): Server {
  const server = new Server(
    { name: "tools-of-the-tests", version: "1" },
    { capabilities: { tools: {} }, instructions: "Remove files with care." },
  );
  let count = 0;
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const page = Number(params?.cursor ?? 0);
    return { tools: pages[page] ?? [], ...(page + 1 < pages.length && { nextCursor: String(page + 1) }) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
    const text = (value: unknown): CallToolResult => ({ content: [{ type: "text", text: String(value) }] });
    const token = extra._meta?.progressToken;
    const progress = async (step: number, message?: string): Promise<void> => {
      if (token === undefined) return;
      await extra.sendNotification({
        method: "notifications/progress",
        params: { progressToken: token, progress: step, total: 2, ...(message !== undefined && { message }) },
      });
    };
    switch (params.name) {
      case "echo":
        return text(JSON.stringify(params.arguments));
      case "text":
        return text("only words");
      case "structured":
        return {
          content: [{ type: "text", text: "as text" }],
          structuredContent: { links: [{ name: "A", url: "https://a.test" }] },
        };
      case "nothing":
        return { content: [] };
      case "picture":
        return { content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] };
      case "huge":
        return text("x".repeat(5_000_000));
      case "files.remove":
        return text("removed");
      case "fail":
        return { ...text("The shop is closed."), isError: true };
      case "failSilently":
        return { content: [], isError: true };
      case "refuse":
        throw new McpError(-32_602, `No such order. ${"x".repeat(600)}`);
      case "count":
        return text(++count);
      case "slow":
        await progress(1, "half of it");
        await progress(2);
        return text("done");
      case "hang":
        await once(extra.signal, "abort");
        return text("called off");
      case "poll":
        extra.closeSSEStream?.();
        return text("fetched later");
    }
    throw new McpError(-32_601, "");
  });
  return server;
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const piece of request) text += String(piece);
  return text === "" ? undefined : JSON.parse(text);
}

function methodOf(body: unknown): Pick<McpCall, "method" | "params"> {
  if (typeof body !== "object" || body === null || !("method" in body)) return {};
  return { method: String(body.method), ...("params" in body && { params: body.params }) };
}

/** Keeps every event of a session, so that a client can go on where its stream ended. */
function eventStore(): EventStore {
  const events: { id: string; streamId: string; message: Parameters<EventStore["storeEvent"]>[1] }[] = [];
  return {
    storeEvent(streamId, message) {
      const id = `event-${events.length}`;
      events.push({ id, streamId, message });
      return Promise.resolve(id);
    },
    async replayEventsAfter(lastEventId, { send }) {
      const at = events.findIndex(({ id }) => id === lastEventId);
      const streamId = events[at]?.streamId ?? "";
      for (const event of events.slice(at + 1)) {
        if (event.streamId === streamId && "jsonrpc" in event.message) await send(event.id, event.message);
      }
      return streamId;
    },
  };
}
