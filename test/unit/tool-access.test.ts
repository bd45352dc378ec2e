// Which tools may be used: patterns, rules, policies and grants. A further rule can only take away.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Policy } from "../../schemas/config.ts";
import type { ServerTool, ToolMode, ToolRule } from "../../schemas/tool.ts";
import { allows, allowsClient, clientRules, matches, toolRules } from "../../src/run/tool-access.ts";

type Tool = Pick<ServerTool, "name" | "domain" | "mode" | "source">;

const mcp = (toolName: string, domain = "other", mode: ToolMode = "read"): Tool => ({
  name: toolName.replaceAll(".", "_"),
  domain,
  mode,
  source: { type: "mcp", serverId: "files", toolName },
});
const http = (name: string, domain = "other", mode: ToolMode = "read"): Tool => ({
  name,
  domain,
  mode,
  source: { type: "http", url: "https://tools.test/" },
});
const open: ToolRule = { allow: ["*"], domains: [], without: [] };

test.each([
  ["*", "anything", true],
  ["*", "", true],
  ["", "anything", false],
  ["", "", false],
  ["get_*", "get_order", true],
  ["get_*", "get_", true],
  ["get_*", "forget_order", false],
  ["*_order", "get_order", true],
  ["*_order", "get_orders", false],
  ["get_order", "get_order", true],
  ["get_order", "get_orders", false],
  ["Get_order", "get_order", false],
  ["get.order", "get_order", false],
  ["**", "get_order", false],
  ["*a*", "bab", false],
  ["(get|set)", "get", false],
])("R-TOOL-16 the pattern %j on %j: %j", (pattern, name, expected) => {
  expect(matches(pattern, name)).toBe(expected);
});

describe("rules", () => {
  test("R-TOOL-16 no rule allows every tool, a rule without patterns allows none", () => {
    expect(allows([], mcp("read"))).toBe(true);
    expect(allows([{ ...open, allow: [] }], mcp("read"))).toBe(false);
    expect(allows([{ ...open, allow: [] }], http("read"))).toBe(false);
  });

  test("R-TOOL-16 patterns are over the name that a tool has at its server", () => {
    const rule = { ...open, allow: ["files.*"] };
    expect(allows([rule], mcp("files.read"))).toBe(true);
    expect(allows([rule], mcp("files_read"))).toBe(false);
  });

  test("R-TOOL-2 a request's patterns are over either name, and a rule beside them stays what it is", () => {
    const asked: ToolRule = { ...open, allow: ["files_read", "*_write"], asCalled: true };
    expect(allows([asked], mcp("files.read"))).toBe(true);
    expect(allows([asked], mcp("files.write"))).toBe(true);
    expect(allows([asked], mcp("files.remove"))).toBe(false);
    expect(allows([{ ...asked, allow: ["files.*"] }], mcp("files.read"))).toBe(true);
    expect(allows([asked, { ...open, allow: ["files_*"] }], mcp("files.read"))).toBe(false);
  });

  test("R-TOOL-16 a name that was cut for models is judged as it is at its server", () => {
    const long = `${"a".repeat(60)}_get_and_remove`;
    const tool = { ...mcp(long), name: long.slice(0, 64) };
    expect(allows([{ ...open, allow: ["*_get"] }], tool)).toBe(false);
    expect(allows([{ ...open, allow: ["*_remove"] }], tool)).toBe(true);
  });

  test.each<[ToolMode, ToolMode, boolean]>([
    ["read", "read", true],
    ["read", "write", false],
    ["read", "delete", false],
    ["write", "read", true],
    ["write", "write", true],
    ["write", "delete", false],
    ["delete", "delete", true],
  ])("R-TOOL-16 a rule up to %s on a tool that does %s: %j", (maxMode, mode, expected) => {
    expect(allows([{ ...open, maxMode }], mcp("tool", "other", mode))).toBe(expected);
    expect(allows([{ ...open, maxMode, opened: ["web"] }], http("tool", "web", mode))).toBe(expected);
  });

  test("R-TOOL-16 domains narrow, and none means any", () => {
    const rule = { ...open, domains: ["crm", "shop*"] };
    expect(allows([rule], mcp("tool", "crm"))).toBe(true);
    expect(allows([rule], mcp("tool", "shop-eu"))).toBe(true);
    expect(allows([rule], mcp("tool", "other"))).toBe(false);
  });

  const patterns = fc.constantFrom("*", "a*", "*b", "ab", "b", "");
  const rules = fc.record<ToolRule>({
    allow: fc.array(patterns, { maxLength: 3 }),
    domains: fc.array(fc.constantFrom("web", "code", "crm", "*"), { maxLength: 2 }),
    maxMode: fc.constantFrom<ToolMode>("read", "write", "delete"),
    without: fc.array(fc.constantFrom("web", "code"), { maxLength: 2 }),
    opened: fc.array(fc.constantFrom("web", "code"), { maxLength: 2 }),
  });
  const tools = fc
    .tuple(
      fc.boolean(),
      fc.constantFrom("a", "ab", "b", "bab"),
      fc.constantFrom("web", "code", "crm", "other"),
      fc.constantFrom<ToolMode>("read", "write", "delete"),
    )
    .map(([configured, name, domain, mode]) => (configured ? http : mcp)(name, domain, mode));

  test("R-TOOL-16 every rule must allow a tool by itself", () => {
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 4 }), tools, (all, tool) => {
        expect(allows(all, tool)).toBe(all.every((rule) => allows([rule], tool)));
      }),
    );
  });
});

describe("policies and grants", () => {
  const may = (policy: Policy | undefined, grants: Policy | undefined, tool: Tool): boolean =>
    allows(toolRules(policy, grants), tool);

  test("R-TOOL-16 neither a policy nor grants: everything is allowed", () => {
    expect(toolRules(undefined, undefined)).toEqual([]);
    expect(clientRules(undefined, undefined)).toEqual([]);
  });

  test.each<[string, Policy | undefined, Policy | undefined, Tool, boolean]>([
    ["what a policy leaves out is denied", {}, undefined, mcp("read"), false],
    ["what grants alone leave out is denied", undefined, {}, mcp("read"), false],
    ["patterns that a policy leaves out are none", { mcp: {} }, undefined, mcp("read"), false],
    ["a policy alone", { mcp: { allow: ["r*"] } }, undefined, mcp("read"), true],
    ["grants alone", undefined, { mcp: { allow: ["r*"] } }, mcp("read"), true],
    ["what grants beside a policy leave out is no limit", { mcp: { allow: ["*"] } }, {}, mcp("read"), true],
    [
      "patterns that grants beside a policy leave out are no limit",
      { mcp: { allow: ["*"] } },
      { mcp: { domains: ["crm"] } },
      mcp("read", "crm"),
      true,
    ],
    ["grants do not give what the policy lacks", {}, { mcp: { allow: ["*"] } }, mcp("read"), false],
    ["grants tighten a star", { mcp: { allow: ["*"] } }, { mcp: { allow: ["a*"] } }, mcp("read"), false],
    ["patterns that overlap", { mcp: { allow: ["a*"] } }, { mcp: { allow: ["ab"] } }, mcp("ab"), true],
    ["patterns that do not", { mcp: { allow: ["a*"] } }, { mcp: { allow: ["b*"] } }, mcp("ab"), false],
    ["empty patterns of grants are none", { mcp: { allow: ["*"] } }, { mcp: { allow: [] } }, mcp("ab"), false],
    [
      "disjoint domains are none",
      { mcp: { allow: ["*"], domains: ["crm"] } },
      { mcp: { allow: ["*"], domains: ["shop"] } },
      mcp("ab", "crm"),
      false,
    ],
    [
      "the lower mode counts",
      { mcp: { allow: ["*"], max_mode: "delete" } },
      { mcp: { allow: ["*"], max_mode: "read" } },
      mcp("ab", "other", "write"),
      false,
    ],
    ["a switch that a policy leaves out is off", { mcp: { allow: ["*"] } }, undefined, http("search", "web"), false],
    ["a switch that is on needs no pattern", { web: true }, undefined, http("search", "web"), true],
    ["a switch is for its domain only", { web: true }, undefined, http("run", "code"), false],
    ["grants switch off", { web: true }, { web: false }, http("search", "web"), false],
    ["grants do not switch on", { web: false }, { web: true }, http("search", "web"), false],
    ["a switch that grants leave out is no limit", { code: true }, { mcp: { allow: [] } }, http("run", "code"), true],
    ["a server cannot call itself the web", { web: true }, undefined, mcp("search", "web"), false],
    ["a server's domain is no switch's", { mcp: { allow: ["*"] } }, undefined, mcp("search", "web"), true],
  ])("R-TOOL-16 %s", (_, policy, grants, tool, expected) => {
    expect(may(policy, grants, tool)).toBe(expected);
  });

  test.each<[string, Policy | undefined, Policy | undefined, boolean]>([
    ["what a policy leaves out is denied", {}, undefined, false],
    ["a policy alone", { client: { allow: ["show_*"] } }, undefined, true],
    ["both must allow", { client: { allow: ["*"] } }, { client: { allow: ["hide_*"] } }, false],
    ["what grants leave out is no limit", { client: { allow: ["*"] } }, { client: {} }, true],
    ["grants alone", undefined, { client: { allow: ["show_map"] } }, true],
    ["rules on servers say nothing of clients", { mcp: { allow: ["*"] } }, undefined, false],
  ])("R-TOOL-16 client tools: %s", (_, policy, grants, expected) => {
    expect(allowsClient(clientRules(policy, grants), "show_map")).toBe(expected);
  });
});
