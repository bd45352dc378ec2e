// What a page is told that policy and grants allow together. Held against the tests that decide: it may say more than they allow, never less.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Policy } from "../../schemas/config.ts";
import { capabilitiesOf } from "../../src/run/capabilities.ts";
import { allows, allowsClient, clientRules, matchesAny, toolRules } from "../../src/run/tool-access.ts";

const none = { allow: [], domains: [], max_mode: null };

test("R-SVH-9 neither policy nor grants: not restricted", () => {
  expect(capabilitiesOf(undefined, undefined)).toEqual({ restricted: false });
});

test.each<[string, Policy | undefined, Policy | undefined, object]>([
  ["an empty policy allows nothing", {}, undefined, { web: false, code: false, mcp: none, client: { allow: [] } }],
  ["empty grants alone allow nothing", undefined, {}, { web: false, code: false, mcp: none, client: { allow: [] } }],
  [
    "grants that leave out set no further limit",
    { web: true, mcp: { allow: ["*"], max_mode: "write" }, client: { allow: ["a*"] } },
    {},
    { web: true, code: false, mcp: { allow: ["*"], domains: [], max_mode: "write" }, client: { allow: ["a*"] } },
  ],
  [
    "grants never widen what the policy leaves out",
    { mcp: { allow: ["a*"] } },
    { web: true, code: true, mcp: { allow: ["*"] }, client: { allow: ["*"] } },
    { web: false, code: false, mcp: { allow: ["a*"], domains: [], max_mode: null }, client: { allow: [] } },
  ],
  [
    "the narrower pattern, the lower mode, the common domain",
    { mcp: { allow: ["*"], domains: ["crm", "mail"], max_mode: "delete" } },
    { mcp: { allow: ["a*"], domains: ["mail", "web"], max_mode: "read" } },
    { web: false, code: false, mcp: { allow: ["a*"], domains: ["mail"], max_mode: "read" }, client: { allow: [] } },
  ],
  [
    "without a common domain no tool is left",
    { mcp: { allow: ["*"], domains: ["crm"] } },
    { mcp: { allow: ["*"], domains: ["mail"] } },
    { web: false, code: false, mcp: none, client: { allow: [] } },
  ],
  [
    "patterns meet",
    { client: { allow: ["ab*", "*z", "exact"] } },
    { client: { allow: ["a*", "ex*", "other"] } },
    { web: false, code: false, mcp: none, client: { allow: ["ab*", "a*", "ex*", "exact"] } },
  ],
])("R-SVH-9 %s", (_what, policy, grants, expected) => {
  expect(capabilitiesOf(policy, grants)).toEqual({ restricted: true, ...expected });
});

test("R-SVH-9 what the rules allow is said to be allowed", () => {
  const name = fc.constantFrom("a", "ab", "abz", "z", "az", "b", "bz", "a*b", "a*", "ba*", "*");
  const pattern = fc.oneof(
    name,
    name.map((text) => `${text}*`),
    name.map((text) => `*${text}`),
    fc.constantFrom("*", "", "a*b", "a*z*", "**", "*a*"),
  );
  const mode = fc.constantFrom("read" as const, "write" as const, "delete" as const);
  const policy = fc.record(
    {
      web: fc.boolean(),
      code: fc.boolean(),
      mcp: fc.record(
        { allow: fc.array(pattern), domains: fc.array(fc.constantFrom("crm", "mail")), max_mode: mode },
        { requiredKeys: [] },
      ),
      client: fc.record({ allow: fc.array(pattern) }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  );
  const tool = fc.record({ name, domain: fc.constantFrom("crm", "mail", "other"), mode });
  const ranks = { read: 0, write: 1, delete: 2 };
  fc.assert(
    fc.property(
      fc.option(policy, { nil: undefined }),
      policy,
      tool,
      (named, grants, { name: toolName, domain, mode: toolMode }) => {
        const said = capabilitiesOf(named, grants);
        if (!said.restricted) throw new Error("grants restrict");
        const source = { type: "mcp" as const, serverId: "s", toolName };
        if (allows(toolRules(named, grants), { name: toolName, domain, mode: toolMode, source })) {
          expect(matchesAny(said.mcp.allow, toolName)).toBe(true);
          expect(said.mcp.domains.length === 0 || said.mcp.domains.includes(domain)).toBe(true);
          expect(said.mcp.max_mode === null || ranks[toolMode] <= ranks[said.mcp.max_mode]).toBe(true);
        }
        if (allowsClient(clientRules(named, grants), toolName))
          expect(matchesAny(said.client.allow, toolName)).toBe(true);
      },
    ),
  );
});
