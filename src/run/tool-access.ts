// Which tools may be used: patterns, policies and grants, and the test of one tool against them. Never merges two rules into one:
// each is tested by itself, so that a further rule can only take away.
import type { Policy } from "../../schemas/config.ts";
import type { CallableTool, ToolMode, ToolRule, ToolServer } from "../../schemas/tool.ts";

/** `*`, `x*`, `*x`, or the exact name. An empty pattern matches nothing. */
export function matches(pattern: string, name: string): boolean {
  if (pattern === "") return false;
  if (pattern === "*" || pattern === name) return true;
  if (pattern.startsWith("*")) return name.endsWith(pattern.slice(1));
  return pattern.endsWith("*") && name.startsWith(pattern.slice(0, -1));
}

export const matchesAny = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => matches(pattern, name));

/**
 * True when every rule allows the tool. Patterns are over the name that the tool has where it lives: what a model calls it by is cut
 * and replaced, so that a pattern would let pass what it was not written for.
 */
export function allows(
  rules: readonly ToolRule[],
  tool: Pick<CallableTool, "name" | "domain" | "mode" | "source">,
): boolean {
  const configured = tool.source.type === "http";
  const name = tool.source.type === "http" ? tool.name : tool.source.toolName;
  return rules.every((rule) => {
    if (rule.maxMode !== undefined && rank[tool.mode] > rank[rule.maxMode]) return false;
    // Only the configuration's word on a domain counts here: a server could call its tools what it likes.
    if (configured && rule.without.includes(tool.domain)) return false;
    if (configured && rule.opened?.includes(tool.domain) === true) return true;
    const named = matchesAny(rule.allow, name) || (rule.asCalled === true && matchesAny(rule.allow, tool.name));
    return named && (rule.domains.length === 0 || matchesAny(rule.domains, tool.domain));
  });
}

const rank: Record<ToolMode, number> = { read: 0, write: 1, delete: 2 };

/** True when the tool is one of this server's, as far as its configuration goes. */
export function offers(server: ToolServer, { source }: Pick<CallableTool, "source">): boolean {
  if (server.type === "host" || source.type !== "mcp") return server.type === source.type;
  return server.id === source.serverId && matchesAny(server.allow, source.toolName);
}

/** True when every rule allows a client tool of this name. */
export const allowsClient = (rules: readonly ToolRule[], name: string): boolean =>
  rules.every(({ allow }) => matchesAny(allow, name));

/** The rules on the server's own tools. Neither a policy nor grants: no rule, all are allowed. */
export const toolRules = (policy: Policy | undefined, grants: Policy | undefined): ToolRule[] =>
  both(policy, grants, serverRule);

/** The rules on client tools, for `allowsClient`. */
export const clientRules = (policy: Policy | undefined, grants: Policy | undefined): ToolRule[] =>
  both(policy, grants, clientRule);

/** What it leaves out is denied, or, for grants beside a policy, is no further limit. */
type LeftOut = "denied" | "allowed";

function both(
  policy: Policy | undefined,
  grants: Policy | undefined,
  rule: (policy: Policy, leftOut: LeftOut) => ToolRule,
): ToolRule[] {
  return [
    ...(policy === undefined ? [] : [rule(policy, "denied")]),
    ...(grants === undefined ? [] : [rule(grants, policy === undefined ? "denied" : "allowed")]),
  ];
}

function serverRule({ mcp, web, code }: Policy, leftOut: LeftOut): ToolRule {
  const switches = Object.entries({ web, code });
  return {
    allow: mcp?.allow ?? patternsFor(leftOut),
    domains: mcp?.domains ?? [],
    ...(mcp?.max_mode !== undefined && { maxMode: mcp.max_mode }),
    without: switches.filter(([, on]) => !(on ?? leftOut === "allowed")).map(([domain]) => domain),
    opened: switches.filter(([, on]) => on ?? leftOut === "allowed").map(([domain]) => domain),
  };
}

const clientRule = ({ client }: Policy, leftOut: LeftOut): ToolRule => ({
  allow: client?.allow ?? patternsFor(leftOut),
  domains: [],
  without: [],
});

const patternsFor = (leftOut: LeftOut): string[] => (leftOut === "allowed" ? ["*"] : []);
