// Tools on loopback for the tests inside workerd: scripted HTTP ones, a real MCP server, MCP servers that misbehave, and a place
// where a test can read what reached them.
import { once } from "node:events";
import { createServer } from "node:http";
import type { TestProject } from "vitest/node";
import type { Script, Step } from "../support/fault-provider/script.ts";
import { startFaultProvider, type FaultProvider, type ScriptMaker } from "../support/fault-provider/server.ts";
import { startMcpServer } from "../support/mcp-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Scripted HTTP tools below `/tool/`, MCP servers that misbehave below `/mcp/`. */
    toolOrigin: string;
    mcpOrigin: string;
    /** `GET /calls?path=`, `/closed?path=`, `/mcp-calls?path=`, `/mcp-sessions?path=`, `/forget?path=`; all answer JSON. */
    controlOrigin: string;
  }
}

const whole = (status: number, type: string, body: string | Uint8Array): Script => {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return [
    { step: "head", status, headers: { "content-type": type, "content-length": String(bytes.byteLength) } },
    { step: "write", bytes },
  ];
};
const head = (type: string): Step => ({
  step: "head",
  status: 200,
  headers: { "content-type": type, "transfer-encoding": "chunked" },
});
const JSON_TYPE = "application/json";

/** What tools and servers are sent, and tell everybody. */
const SHOP_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BARE_SECRET = SHOP_SECRET.slice("whsec_".length);
const PAGE_TOKEN = "page-token/+=";
const leak = (secret: string): string =>
  `no way to https://db.shop.example/x?y=1 (10.0.0.7:5432, [fd00::1]:80) with ${secret}`;

function scriptHttpTools(provider: FaultProvider): void {
  const on = (name: string, script: Script): void => provider.on(`/tool/${name}`, script);
  on("json", whole(200, JSON_TYPE, '{"sum": 3}'));
  on("created", whole(201, "application/vnd.shop+json; charset=utf-8", '{"id": 7}'));
  on("text", whole(200, "text/plain", "three"));
  on("untyped", [
    { step: "head", status: 200, headers: { "content-length": "2" } },
    { step: "write", bytes: "42" },
  ]);
  on("empty", [{ step: "head", status: 204 }]);
  on("blank", whole(200, JSON_TYPE, " \n"));
  on("html", whole(200, "text/html; charset=utf-8", "<p>Log in</p>"));
  on("hidden-html", whole(200, "text/plain", "\n<!DOCTYPE html><p>Log in</p>"));
  on("refusal", whole(422, JSON_TYPE, '{"error": {"message": "no such order", "trace": "at secret.js:1"}}'));
  on(
    "leaks",
    whole(200, JSON_TYPE, JSON.stringify({ note: `key ${SHOP_SECRET}`, [SHOP_SECRET]: [`a${BARE_SECRET}b`, 1] })),
  );
  on("leaks-text", whole(200, "text/plain", `key ${SHOP_SECRET}`));
  on("leaks-cut", [head("text/plain"), { step: "chunk", bytes: `key: ${SHOP_SECRET.repeat(100)}` }, { step: "hang" }]);
  on("leaks-error", whole(422, JSON_TYPE, JSON.stringify({ error: { message: leak(SHOP_SECRET) } })));
  on("crash", whole(500, "text/plain", "Traceback: secret at 10.0.0.7"));
  on("crash-json", whole(503, JSON_TYPE, '{"error": '));
  on("redirect", [{ step: "head", status: 307, headers: { location: "/tool/json", "content-length": "0" } }]);
  on("broken-json", whole(200, JSON_TYPE, '{"sum": '));
  on("broken-utf8", whole(200, "text/plain", new Uint8Array([0x61, 0xff, 0xc3, 0x28])));
  on("huge", [
    head("text/plain"),
    ...Array.from({ length: 64 }, (): Step => ({ step: "chunk", bytes: "é".repeat(32_768) })),
    { step: "hang" },
  ]);
  on("huge-json", [head(JSON_TYPE), { step: "chunk", bytes: `["${"a".repeat(200_000)}` }, { step: "hang" }]);
  on("hang", [{ step: "hang" }]);
  on("hang-body", [head(JSON_TYPE), { step: "chunk", bytes: '{"sum": ' }, { step: "hang" }]);
  on("reset", [{ step: "rst" }]);
  on("reset-body", [head(JSON_TYPE), { step: "chunk", bytes: '{"sum": 3}' }, { step: "rst" }]);
  on("cut-body", [head(JSON_TYPE), { step: "chunk", bytes: '{"sum": 3}' }, { step: "fin" }]);
  on("no-http", [{ step: "write", bytes: "SSH-2.0-shop\r\n" }, { step: "fin" }]);
}

const notAllowed: Script = [{ step: "head", status: 405, headers: { "content-length": "0" } }];

/** `answer`: to what comes after the beginning, which goes well. `resumed`: to a client that asks for the rest of a stream. */
type Answer = (message: { id: unknown; method: string; params: { cursor?: string; name?: string } }) => Script;

function mcp(answer: Answer, headers: Record<string, string> = {}, resumed: Script = notAllowed): ScriptMaker {
  return (call) => {
    if (call.method !== "POST") return resumed;
    const message = JSON.parse(call.body);
    if (message.method === "initialize") {
      const result = {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "x", version: "1" },
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
      return [
        {
          step: "head",
          status: 200,
          headers: { "content-type": JSON_TYPE, "content-length": String(body.length), ...headers },
        },
        { step: "write", bytes: body },
      ];
    }
    if (message.id === undefined) return [{ step: "head", status: 202, headers: { "content-length": "0" } }];
    return answer(message);
  };
}

const result = (id: unknown, value: unknown): Script =>
  whole(200, JSON_TYPE, JSON.stringify({ jsonrpc: "2.0", id, result: value }));

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });

const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });

/** MCP servers whose list is good for nothing, or good but for some tools. */
function scriptMcpLists(provider: FaultProvider): void {
  const on = (name: string, answer: Answer): void => provider.on(`/mcp/${name}`, mcp(answer));
  on("many", ({ id }) => result(id, { tools: Array.from({ length: 10_000 }, (_, index) => tool(`tool-${index}`)) }));
  on("endless", ({ id, params }) => {
    const page = Number(params.cursor ?? 0);
    return result(id, { tools: [tool(`tool-${page}`)], nextCursor: String(page + 1) });
  });
  on("loop", ({ id }) => result(id, { tools: [tool("one")], nextCursor: "again" }));
  on("no-list", ({ id }) => result(id, { tools: "none" }));
  on("second-page-fails", ({ id, params }) =>
    params.cursor === undefined
      ? result(id, { tools: [tool("one")], nextCursor: "2" })
      : whole(500, "text/plain", "no"),
  );
  on("odd-tools", ({ id }) =>
    result(id, {
      tools: [
        null,
        "text",
        {},
        { name: 7 },
        { name: "" },
        tool("text-schema", { inputSchema: "none" }),
        tool("array-schema", { inputSchema: [] }),
        tool("list-schema", { inputSchema: { type: "array" } }),
        tool("odd-type", { inputSchema: { type: "object", properties: { a: { type: "text" } } } }),
        tool("odd-required", { inputSchema: { type: "object", required: "a" } }),
        tool("deep-schema", { inputSchema: { type: "object", not: nested(70) } }),
        { name: "no-schema" },
        tool("null-schema", { inputSchema: null }),
        tool("odd-meta", { description: 7, title: "Odd", _meta: { domain: 7, mode: "burn", confirmation: true } }),
        tool("a.b"),
        tool("a_b"),
        tool("ü".repeat(80)),
        tool("fine", {
          inputSchema: { type: "object", properties: { a: true, b: { anyOf: [{ type: ["string", "null"] }] } } },
        }),
      ],
    }),
  );
}

/** MCP servers that fail in a call. */
function scriptMcpCalls(provider: FaultProvider): void {
  const on = (name: string, answer: Answer, headers?: Record<string, string>, resumed?: Script): void =>
    provider.on(`/mcp/${name}`, mcp(answer, headers, resumed));
  const events = "text/event-stream";
  /** A stream that names a place, and breaks off before its answer. */
  const named = (name: string, resumed: Script): void =>
    on(
      name,
      () => [head(events), { step: "chunk", bytes: "retry: 10\nid: place\ndata: \n\n" }, { step: "fin" }],
      { "mcp-session-id": "s" },
      resumed,
    );
  named("resume-404", whole(404, JSON_TYPE, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Gone"}}'));
  named("resume-405", notAllowed);
  named("resume-503", whole(503, "text/plain", "busy"));
  named("resume-rst", [{ step: "rst" }]);
  named("resume-204", [{ step: "head", status: 204 }]);
  named("resume-json", whole(200, JSON_TYPE, "{}"));
  named("resume-fin", [head(events), { step: "chunk", bytes: ": wait\n\n" }, { step: "lastChunk" }]);
  on("half-place", () => [head(events), { step: "chunk", bytes: "id: place\ndata: " }, { step: "fin" }]);
  on("hang", () => [{ step: "hang" }]);
  on("hang-stream", () => [head(events), { step: "chunk", bytes: ": wait\n\n" }, { step: "hang" }]);
  on("fin-stream", () => [head(events), { step: "chunk", bytes: ": wait\n\n" }, { step: "lastChunk" }]);
  on("rst-stream", () => [head(events), { step: "chunk", bytes: 'data: {"jsonrpc":"2.0",' }, { step: "rst" }]);
  on("rst", () => [{ step: "rst" }]);
  on("html", () => whole(200, "text/html", "<p>Log in at http://10.0.0.7</p>"));
  on("html-500", () => whole(500, "text/html", "<p>secret at http://10.0.0.7</p>"));
  on("json-500", () =>
    whole(500, JSON_TYPE, '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"database is down"}}'),
  );
  on("echoes-token", ({ id }) =>
    whole(
      200,
      JSON_TYPE,
      JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: "bad token mcp-secret-token" } }),
    ),
  );
  on("leaks-error", ({ id }) => result(id, { isError: true, content: [{ type: "text", text: leak(PAGE_TOKEN) }] }));
  on("leaks-rpc", ({ id }) =>
    whole(200, JSON_TYPE, JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: leak(PAGE_TOKEN) } })),
  );
  on("leaks-500", () => whole(500, JSON_TYPE, JSON.stringify({ error: leak(PAGE_TOKEN) })));
  on("leaks-text", ({ id }) => {
    const text = JSON.stringify({ note: `Bearer ${PAGE_TOKEN}` }).replaceAll("/", "\\/");
    return result(id, { content: [{ type: "text", text }] });
  });
  on("leaks", ({ id, method }) =>
    result(
      id,
      method === "tools/list"
        ? {
            tools: [
              tool("one", { description: `with ${PAGE_TOKEN}`, inputSchema: { type: "object", title: PAGE_TOKEN } }),
            ],
          }
        : { structuredContent: { note: [PAGE_TOKEN] } },
    ),
  );
  on("redirect", () => [
    { step: "head", status: 307, headers: { location: `${provider.origin}/mcp/fine`, "content-length": "0" } },
  ]);
  on("broken-json", () => whole(200, JSON_TYPE, '{"jsonrpc":'));
  on("wrong-id", () => result(999, { content: [] }));
  on("no-message", () => whole(200, JSON_TYPE, '{"hello":"world"}'));
  on("accepted", () => [{ step: "head", status: 202, headers: { "content-length": "0" } }]);
  on("large-number", ({ id, params }) => {
    const number = '{"id":9007199254740993}';
    const says = params.name === "said" ? JSON.stringify(number) : '"Done."';
    const answer = `{"content":[{"type":"text","text":${says}}],"structuredContent":${number}}`;
    return whole(200, JSON_TYPE, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${answer}}`);
  });
  on("odd-result", ({ id }) =>
    result(id, { content: [null, { type: "text" }, { type: "text", text: 7 }, "text"], structuredContent: [] }),
  );
  on("array-result", ({ id }) => result(id, []));
  on("forgets", () => whole(404, "text/plain", "no such session"), { "mcp-session-id": "s" });
  on("never-there", () => whole(404, "text/plain", "no such page"));
  provider.on("/mcp/refuses", whole(401, "text/plain", "who are you"));
  provider.on("/mcp/old", (call) => {
    const { id } = JSON.parse(call.body);
    return result(id, { protocolVersion: "1999-01-01", capabilities: {}, serverInfo: { name: "x", version: "1" } });
  });
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const provider = await startFaultProvider();
  const mcpServer = await startMcpServer();
  scriptHttpTools(provider);
  scriptMcpLists(provider);
  scriptMcpCalls(provider);

  const facts: Record<string, (path: string) => unknown> = {
    "/calls": (path) => provider.calls(path),
    // Of an MCP server the connection of the tool's call: the handshake before it may have had another.
    "/closed": async (path) => {
      const first = await provider.waitForCall(path);
      const made = provider.calls(path).find(({ body }) => body.includes('"tools/call"'));
      return (await (made ?? first).closed).how;
    },
    "/mcp-calls": (path) => mcpServer.calls(path),
    "/mcp-sessions": (path) => mcpServer.sessions(path),
    "/forget": async (path) => (await mcpServer.forget(path)) ?? true,
  };
  const control = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://control");
    Promise.resolve(facts[pathname]?.(searchParams.get("path") ?? ""))
      .then((fact) => response.end(JSON.stringify(fact)))
      .catch(() => response.destroy());
  });
  control.listen(0, "127.0.0.1");
  await once(control, "listening");
  const address = control.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");

  project.provide("toolOrigin", provider.origin);
  project.provide("mcpOrigin", mcpServer.origin);
  project.provide("controlOrigin", `http://127.0.0.1:${address.port}`);
  return async () => {
    control.closeAllConnections();
    control.close();
    await mcpServer.stop();
    await provider.stop();
  };
}
