// MCP servers inside workerd: the SDK's own server in its ways to speak, and servers that misbehave. Whatever they do, a call has a
// result and a listing has an end.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
// Loaded beforehand: the test's loader takes longer over it than a listing may take.
import "@modelcontextprotocol/sdk/client/index.js";
import "@modelcontextprotocol/sdk/client/streamableHttp.js";
import "@modelcontextprotocol/sdk/validation/cfworker";
import { afterEach, describe, expect, inject, test } from "vitest";
import { listTools, type ListPlace } from "../../durable-objects/tools/list-tools.ts";
import { mcpConnections, type McpConnections } from "../../durable-objects/tools/mcp-connections.ts";
import type { CallPlace, ToolTask } from "../../durable-objects/tools/tool-place.ts";
import { runTool } from "../../durable-objects/tools/run-tool.ts";
import type { HostServer } from "../../schemas/chat.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ServerTool, ToolResult, ToolServer } from "../../schemas/tool.ts";
import {
  call,
  closed,
  envWith,
  failure,
  forget,
  mcpSeen,
  mcpServer,
  mcpSessions,
  mcpTool,
  placeOf,
  seen,
} from "./tools.ts";

const UNKNOWN = "whether the call took effect is not known.";
const NO_ANSWER = `The server's answer ended without a result; ${UNKNOWN}`;
const NO_SERVER = "The MCP server could not be reached, or did not answer as one;";
const UNREACHABLE = `${NO_SERVER} ${UNKNOWN}`;
const NOT_MADE = `${NO_SERVER} the call was not made.`;

const real = (path: string): string => `${inject("mcpOrigin")}${path}`;
const scripted = (name: string): string => `${inject("toolOrigin")}/mcp/${name}`;

let opened: McpConnections[] = [];
afterEach(async () => {
  await Promise.all(opened.map((one) => one.close()));
  opened = [];
});
function connections(): McpConnections {
  const made = mcpConnections();
  opened.push(made);
  return made;
}

const at = (url: string, fields: Partial<CallPlace> = {}): Partial<CallPlace> => ({
  servers: [mcpServer(url)],
  connections: connections(),
  ...fields,
});
const ask = (
  url: string,
  toolName: string,
  fields: Partial<CallPlace> = {},
  input: JsonRecord = {},
): Promise<ToolResult> => call(mcpTool(toolName), at(url, fields), input);

const list = (servers: readonly ToolServer[], fields: Partial<ListPlace> = {}) =>
  listTools(servers, { ...placeOf({ connections: connections() }), rules: [], ...fields });
const namesOf = ({ tools }: { tools: readonly ServerTool[] }): string[] => tools.map(({ name }) => name);

const ways = ["/json", "/sse", "/stateless"];

describe("listing", () => {
  test.each(ways)("R-TOOL-15 a server's list is read to its end (%s)", async (path) => {
    const listing = await list([mcpServer(real(path))]);
    expect(listing.failed).toEqual([]);
    expect(namesOf(listing)).toEqual(["echo", "structured", "count", "files_remove", "files_write", "fail", "hang"]);
    expect(listing.tools[3]).toEqual({
      name: "files_remove",
      description: "Removes a file.",
      parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      domain: "files",
      mode: "delete",
      confirmation: true,
      idempotent: false,
      timeoutMs: 30_000,
      source: { type: "mcp", serverId: "shop", toolName: "files.remove" },
    });
    expect(listing.tools[1]).toMatchObject({
      description: "Structured",
      domain: "other",
      mode: "read",
      confirmation: false,
      idempotent: true,
    });
    expect(listing.instructions).toEqual([
      "Remove files with care.\n\nThis is about the tools echo, structured, count, files_remove, files_write, fail, hang.",
    ]);
    const asked = (await mcpSeen(path)).filter(({ method }) => method === "tools/list").slice(-3);
    expect(asked.map(({ params }) => params)).toEqual([
      { per_page: 250 },
      { per_page: 250, cursor: "1" },
      { per_page: 250, cursor: "2" },
    ]);
  });

  test("R-TOOL-15 a server's allow-list is over its own names, and rules count too", async () => {
    expect(namesOf(await list([mcpServer(real("/json"), { allow: ["files.*", "echo"] })]))).toEqual([
      "echo",
      "files_remove",
      "files_write",
    ]);
    const rules = [{ allow: ["*"], domains: ["files"], maxMode: "write" as const, without: [] }];
    const listing = await list([mcpServer(real("/json"))], { rules });
    expect(namesOf(listing)).toEqual(["files_write"]);
    expect(listing.instructions[0]).toMatch(/This is about the tools files_write\.$/);
    expect((await list([mcpServer(real("/json"), { allow: [] })])).instructions).toEqual([]);
  });

  test("R-TOOL-15 entries that no model could be given are left out, the others stay", async () => {
    const { tools, failed } = await list([mcpServer(scripted("odd-tools"))]);
    expect(failed).toEqual([]);
    expect(tools.map(({ name }) => name)).toEqual([
      "no-schema",
      "null-schema",
      "odd-meta",
      "a_b",
      "_".repeat(64),
      "fine",
    ]);
    expect(tools[0]).toMatchObject({ description: "no-schema", parameters: { type: "object", properties: {} } });
    // What a server says in words that nobody knows is taken for the worst.
    expect(tools[2]).toMatchObject({ description: "Odd", domain: "other", mode: "delete", confirmation: true });
    expect(tools[3]?.source).toEqual({ type: "mcp", serverId: "shop", toolName: "a.b" });
  });

  test("R-TOOL-15 of many tools the first 128 that may be used are taken", async () => {
    const all = await list([mcpServer(scripted("many"))]);
    expect(namesOf(all)).toEqual(Array.from({ length: 128 }, (_, index) => `tool-${index}`));
    const some = await list([mcpServer(scripted("many"), { allow: ["*99"] })]);
    expect(namesOf(some).slice(0, 2)).toEqual(["tool-99", "tool-199"]);
  });

  test("R-TOOL-15 at most 20 pages are read, and none twice", async () => {
    expect(namesOf(await list([mcpServer(scripted("endless"))]))).toHaveLength(20);
    const before = (await seen("/mcp/loop")).length;
    expect(namesOf(await list([mcpServer(scripted("loop"))]))).toEqual(["one"]);
    const asked = (await seen("/mcp/loop")).slice(before).filter(({ body }) => body.includes("tools/list"));
    expect(asked).toHaveLength(2);
  });

  test("R-TOOL-18 a server that cannot be listed is named, and the others are listed", async () => {
    const bad = [
      "hang",
      "hang-stream",
      "rst",
      "html",
      "html-500",
      "refuses",
      "old",
      "no-list",
      "second-page-fails",
      "redirect",
    ];
    const servers = [
      ...bad.map((name) => mcpServer(scripted(name), { id: name })),
      mcpServer("http://127.0.0.1:9/", { id: "absent" }),
      mcpServer(real("/json"), { id: "no-secret", keyVar: "MISSING_KEY" }),
      mcpServer(real("/json"), { id: "good" }),
    ];
    const begun = Date.now();
    const listing = await list(servers);
    expect(Date.now() - begun).toBeLessThan(8000);
    expect(listing.failed).toEqual([...bad, "absent", "no-secret"]);
    expect(listing.tools.every(({ source }) => source.type === "mcp" && source.serverId === "good")).toBe(true);
    expect(listing.tools).toHaveLength(7);
  });

  test("R-TOOL-18 nothing is asked for no servers", async () => {
    expect(await list([])).toEqual({ tools: [], instructions: [], failed: [] });
  });
});

describe("calls", () => {
  test.each(ways)("R-TOOL-17 a call and its results (%s)", async (path) => {
    const place = at(real(path));
    const results = async (...names: string[]): Promise<unknown[]> => {
      const all: unknown[] = [];
      for (const name of names) all.push(await call(mcpTool(name), place, { a: 1 }));
      return all;
    };
    expect(
      await results("echo", "text", "structured", "nothing", "picture", "fail", "failSilently", "unknown"),
    ).toEqual([
      { output: { a: 1 } },
      { output: "only words" },
      {
        output: { links: [{ name: "A", url: "https://a.test" }] },
        renderHint: "resource_links",
        renderData: { links: [{ label: "A", url: "https://a.test" }] },
      },
      { output: { success: true, data: null } },
      { output: { success: true, data: null } },
      failure("The shop is closed."),
      failure("MCP tool error."),
      failure("MCP error."),
    ]);
  });

  test("R-TOOL-17 R-TOOL-21 a JSON-RPC error is given in the server's words, cut to 500 characters", async () => {
    for (const path of ways) {
      const { output, isError } = await ask(real(path), "refuse");
      expect(isError).toBe(true);
      expect(output).toEqual({
        success: false,
        error: `No such order. ${"x".repeat(600)}`.slice(0, 500),
      });
    }
  });

  test("R-TOOL-14 output over the limit is cut with a mark", async () => {
    for (const path of ways) {
      expect(await ask(real(path), "huge", { maxOutputBytes: 64 })).toEqual({
        output: `${"x".repeat(36)}\n[cut: longer than 64 bytes]`,
      });
    }
  });

  test("R-TOOL-20 calls of a run share a session, which is ended with the run", async () => {
    const before = await mcpSessions("/sse");
    const place = at(real("/sse"));
    // Which of them comes first is not said.
    const counts = await Promise.all([1, 2, 3].map(() => call(mcpTool("count"), place)));
    expect(new Set(counts.map(({ output }) => output))).toEqual(new Set([1, 2, 3]));
    expect(await mcpSessions("/sse")).toBe(before + 1);
    expect(await ask(real("/sse"), "count")).toEqual({ output: 1 });
    await Promise.all(opened.map((one) => one.close()));
    expect(await mcpSessions("/sse")).toBe(before);
  });

  test.each(["/json", "/sse"])(
    "R-TOOL-20 a server that has forgotten the session is asked once more in a new one (%s)",
    async (path) => {
      const place = at(real(path));
      expect(await call(mcpTool("count"), place)).toEqual({ output: 1 });
      expect(await call(mcpTool("count"), place)).toEqual({ output: 2 });
      await forget(path);
      const counts = await Promise.all([call(mcpTool("count"), place), call(mcpTool("count"), place)]);
      expect(new Set(counts.map(({ output }) => output))).toEqual(new Set([1, 2]));
    },
  );

  test("R-TOOL-20 once more, and not for ever", async () => {
    expect(await ask(scripted("forgets"), "any")).toEqual(failure("mcp http 404"));
    const asked = (await seen("/mcp/forgets")).filter(({ body }) => body.includes("tools/call"));
    expect(asked).toHaveLength(2);
    expect(await ask(scripted("never-there"), "any")).toEqual(failure("mcp http 404"));
    expect((await seen("/mcp/never-there")).filter(({ body }) => body.includes("tools/call"))).toHaveLength(1);
  });

  test("R-TOOL-20 a stream that the server breaks off and names a place in is taken up again", async () => {
    expect(await ask(real("/resume"), "poll")).toEqual({ output: "fetched later" });
    const [resumed] = (await mcpSeen("/resume")).filter(({ httpMethod }) => httpMethod === "GET");
    expect(resumed?.headers["last-event-id"]).toMatch(/^event-\d+$/);
  });

  test("R-TOOL-20 no stream stands open beside the calls", async () => {
    await ask(real("/stateless"), "echo");
    expect((await mcpSeen("/stateless")).filter(({ httpMethod }) => httpMethod === "GET")).toEqual([]);
  });

  test.each([
    ["fin-stream", NO_ANSWER],
    ["rst-stream", NO_ANSWER],
    ["resume-404", NO_ANSWER],
    ["resume-405", NO_ANSWER],
    ["resume-503", NO_ANSWER],
    ["resume-rst", NO_ANSWER],
    ["resume-204", NO_ANSWER],
    ["resume-json", NO_ANSWER],
    ["resume-fin", NO_ANSWER],
    ["half-place", NO_ANSWER],
    ["rst", UNREACHABLE],
    ["html", UNREACHABLE],
    ["html-500", "mcp http 500"],
    ["json-500", "mcp http 500: database is down"],
    ["redirect", "mcp http 307"],
    ["broken-json", NO_ANSWER],
    ["wrong-id", NO_ANSWER],
    ["no-message", UNREACHABLE],
    ["accepted", NO_ANSWER],
    ["array-result", UNREACHABLE],
    ["refuses", "mcp http 401"],
    ["old", NOT_MADE],
  ])("R-TOOL-17 R-TOOL-21 a server that answers with %s fails the call at once", async (name, error) => {
    const begun = Date.now();
    expect(await ask(scripted(name), "any")).toEqual(failure(error));
    expect(Date.now() - begun).toBeLessThan(5000);
  });

  test("R-TOOL-23 R-TOOL-24 a large number reaches a server as it is, and comes back from text that says it", async () => {
    const exact = { output: { id: 9007199254740992 }, outputJson: '{"id":9007199254740993}' };
    const server = at(scripted("large-number"));
    const input = { input: { id: 9007199254740992 }, inputJson: '{"id":9007199254740993}' };
    const asked = (toolName: string) =>
      runTool(mcpTool(toolName), { toolCallId: "call_1", ...input }, placeOf({ ...server }));
    expect(await asked("said")).toEqual(exact);
    expect(await asked("unsaid")).toEqual(
      failure("The call was made, but its result holds a number that cannot be passed on with all its digits."),
    );
    const sent = (await seen("/mcp/large-number"))
      .map(({ body }) => body)
      .filter((body) => body.includes("tools/call"));
    expect(sent).toHaveLength(2);
    for (const body of sent) expect(body).toContain('"arguments":{"id":9007199254740993}');
  });

  test("R-TOOL-17 a result that holds nothing of use is a success without a value", async () => {
    expect(await ask(scripted("odd-result"), "any")).toEqual({ output: { success: true, data: null } });
  });

  test("R-TOOL-13 a server that is not there, not configured, or whose secret is missing, fails the call", async () => {
    expect(await ask("http://127.0.0.1:9/", "any")).toEqual(failure(NOT_MADE));
    expect(await call(mcpTool("any"), { servers: [] })).toEqual(
      failure("The MCP server of this tool is not configured any more."),
    );
    const servers = [mcpServer(real("/json"), { keyVar: "SHOP_KEY" })];
    expect(await ask("", "any", { servers })).toEqual(failure("The secret SHOP_KEY is not set on this server."));
    expect(await ask("", "any", { servers, env: envWith({ SHOP_KEY: "ü" }) })).toEqual(
      failure("The secret SHOP_KEY holds characters that a header cannot carry."),
    );
  });

  test.each(["hang", "hang-stream"])(
    "R-TOOL-13 a silent server (%s) ends at the tool's time, and its connection with it",
    async (name) => {
      expect(await call(mcpTool("any", { timeoutMs: 300 }), at(scripted(name)))).toEqual(
        failure("The tool did not answer within 300 ms; whether it took effect is not known."),
      );
      expect(await closed(`/mcp/${name}`)).toMatch(/^(fin|rst)$/);
    },
  );

  test("R-TOOL-13 a call that ends early is called off at the server, one that has ended is not", async () => {
    const run = new AbortController();
    const place = at(real("/sse"), { signal: run.signal });
    await call(mcpTool("echo"), place);
    const result = call(mcpTool("hang"), place);
    const calledOff = async () => (await mcpSeen("/sse")).filter(({ method }) => method === "notifications/cancelled");
    const before = await calledOff();
    await expect.poll(async () => (await mcpSeen("/sse")).some(({ params }) => params?.["name"] === "hang")).toBe(true);
    run.abort();
    expect(await result).toEqual(failure("The run ended while this tool ran; whether it took effect is not known."));
    await expect.poll(calledOff).toHaveLength(before.length + 1);
  });

  test("R-TOOL-21 what a server says never holds the token it is sent, and its error no address", async () => {
    const leaky = (name: string): Partial<CallPlace> => ({
      servers: [mcpServer(scripted(name), { keyVar: "SHOP_KEY" })],
      connections: connections(),
      env: envWith({ SHOP_KEY: "page-token/+=" }),
    });
    const told = (name: string) => call(mcpTool("any"), leaky(name), {});
    const hidden = "no way to *** (***, ***) with ***";
    expect(await told("leaks-error")).toEqual(failure(hidden));
    expect(await told("leaks-rpc")).toEqual(failure(hidden));
    expect(await told("leaks-500")).toEqual(failure(`mcp http 500: ${hidden}`));
    expect(await told("leaks-text")).toEqual({ output: { note: "Bearer ***" } });
    expect(await told("leaks")).toEqual({ output: { note: ["***"] } });
    const listing = await list([mcpServer(scripted("leaks"), { keyVar: "SHOP_KEY" })], leaky("leaks"));
    expect(listing.tools[0]).toMatchObject({ description: "with ***", parameters: { type: "object", title: "***" } });
  });

  test("R-TOOL-20 progress is told as it comes, and how it ended", async () => {
    for (const path of ["/sse", "/stateless"]) {
      const told: ToolTask[] = [];
      expect(await ask(real(path), "slow", { progress: (tasks) => told.push(...tasks) })).toEqual({ output: "done" });
      const task = { id: "call_1", label: "tool" };
      expect(told).toEqual([
        { ...task, status: "running", detail: "half of it" },
        { ...task, status: "running", detail: "2/2" },
        { ...task, status: "completed" },
      ]);
    }
  });

  test("R-TOOL-17 a configured server is sent its secret, and no error repeats it", async () => {
    const place = {
      servers: [mcpServer(real("/json"), { keyVar: "SHOP_KEY" })],
      env: envWith({ SHOP_KEY: "mcp-secret-token\n" }),
    };
    expect(await ask("", "echo", place)).toEqual({ output: {} });
    expect((await mcpSeen("/json")).at(-1)?.headers["authorization"]).toBe("Bearer mcp-secret-token");
    const leaky = { ...place, servers: [mcpServer(scripted("echoes-token"), { keyVar: "SHOP_KEY" })] };
    expect(await ask("", "any", leaky)).toEqual(failure("bad token ***"));
  });

  test("R-TOOL-20 all of it works from inside an object", async () => {
    const stub = env.TENANT.getByName(`tools-${crypto.randomUUID()}`);
    const results = await runInDurableObject(stub, async () => {
      const mine = mcpConnections();
      const place = { ...placeOf({ servers: [mcpServer(real("/sse"))], connections: mine }), rules: [] };
      const listing = await listTools(place.servers, place);
      const counted = await call(mcpTool("count"), place);
      await mine.close();
      return { names: namesOf(listing).length, counted };
    });
    expect(results).toEqual({ names: 7, counted: { output: 1 } });
  });
});

describe("a host page's server", () => {
  const host: ToolServer = { type: "host", visitor: "v-1", chatId: "chat-1", origins: [] };
  const hostTool: ServerTool = mcpTool("echo", { source: { type: "host", toolName: "echo" } });
  const knowing = (known: Partial<HostServer> | undefined, fields: Partial<CallPlace> = {}): Partial<CallPlace> => ({
    servers: [host],
    connections: connections(),
    hostServer: (visitor) =>
      Promise.resolve(
        known === undefined || visitor !== "v-1"
          ? undefined
          : { url: real("/json"), expiresAt: Date.now() + 60_000, ...known },
      ),
    ...fields,
  });

  test("R-TOOL-19 it is sent its token, the page and the chat, and its tools are listed", async () => {
    const context = { page: "Кошик", cart: [1, 2] };
    expect(await call(hostTool, knowing({ token: "host-token" }, { context }), { a: 1 })).toEqual({ output: { a: 1 } });
    const headers = (await mcpSeen("/json")).at(-1)?.headers ?? {};
    expect(headers).toMatchObject({
      authorization: "Bearer host-token",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
      "x-sveda-chat-id": "chat-1",
    });
    expect(JSON.parse(headers["x-sveda-page-context"] ?? "")).toEqual(context);

    const listing = await list([host], knowing({}));
    expect(listing.failed).toEqual([]);
    expect(listing.tools[3]?.source).toEqual({ type: "host", toolName: "files.remove" });
  });

  test("R-TOOL-19 a context that is too long, and a chat that no header can carry, are left out", async () => {
    const fields = { context: { text: "x".repeat(24_000) }, servers: [{ ...host, chatId: "чат" }] };
    expect(await call(hostTool, knowing({}, fields))).toEqual({ output: { a: 1 } });
    const headers = (await mcpSeen("/json")).at(-1)?.headers ?? {};
    expect(headers).not.toHaveProperty("x-sveda-page-context");
    expect(headers).not.toHaveProperty("x-sveda-chat-id");
    expect(headers).not.toHaveProperty("authorization");
  });

  const judged: [string, Partial<HostServer> | undefined, Partial<CallPlace>, string][] = [
    ["is not known", undefined, {}, "The page's MCP server is not known any more."],
    ["has expired", { expiresAt: 1 }, {}, "The page's MCP server is not known any more."],
    ["is not https", {}, { env: envWith({ API_KEYS: "{}" }) }, "The address of the page's MCP server is not https."],
    ["is private", { url: "https://10.0.0.7/" }, {}, "The address of the page's MCP server is not a public host."],
    [
      "is elsewhere",
      {},
      { servers: [{ ...host, origins: ["https://shop.example"] }] },
      "The address of the page's MCP server is not at an allowed origin.",
    ],
    ["has a bad token", { token: "a\nb" }, {}, "The token of the page's MCP server cannot be sent in a header."],
  ];
  test.each(judged)("R-TOOL-19 it is asked nothing when it %s", async (_, known, fields, error) => {
    const before = (await mcpSeen("/json")).length;
    const place = knowing(known, fields);
    expect(await call(hostTool, place)).toEqual(failure(error));
    expect((await list(place.servers ?? [], place)).failed).toEqual(["host"]);
    expect((await mcpSeen("/json")).length).toBe(before);
  });
});
