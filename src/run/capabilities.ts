// What a policy and grants allow together, for a page that shows it. Only a description: tools are tested against each of the two.
import type { Policy } from "../../schemas/config.ts";
import type { Capabilities } from "../../schemas/dialects/sveda-answers.ts";

type Mode = NonNullable<NonNullable<Policy["mcp"]>["max_mode"]>;

/** What the policy, or grants without a policy, leave out is denied; what grants beside a policy leave out is no limit. */
export function capabilitiesOf(policy: Policy | undefined, grants: Policy | undefined): Capabilities {
  const first = policy ?? grants;
  if (first === undefined) return { restricted: false };
  const second = policy === undefined ? undefined : grants;
  const domains = commonDomains(first.mcp?.domains ?? [], second?.mcp?.domains ?? []);
  return {
    restricted: true,
    web: (first.web ?? false) && (second?.web ?? true),
    code: (first.code ?? false) && (second?.code ?? true),
    mcp: {
      // No domain is allowed by both: then no tool is, while an empty list of domains would mean any.
      allow: domains === undefined ? [] : common(first.mcp?.allow, second?.mcp?.allow),
      domains: domains ?? [],
      max_mode: lower(first.mcp?.max_mode, second?.mcp?.max_mode),
    },
    client: { allow: common(first.client?.allow, second?.client?.allow) },
  };
}

function commonDomains(first: readonly string[], second: readonly string[]): string[] | undefined {
  if (first.length === 0 || second.length === 0) return [...first, ...second];
  const both = common(first, second);
  return both.length === 0 ? undefined : both;
}

/** The patterns for what both lists match. The first list left out: nothing; the second: no limit. */
function common(first: readonly string[] = [], second: readonly string[] = ["*"]): string[] {
  const both = first.flatMap((one) => second.flatMap((other) => meet(one, other) ?? []));
  // The empty pattern matches nothing.
  return [...new Set(both)].filter((pattern) => pattern !== "");
}

/**
 * A pattern for what both patterns match. A beginning and an end have none of this form together: the beginning stands for
 * both, which says more than is allowed, never less.
 */
function meet(one: string, other: string): string | undefined {
  if (covers(other, one)) return one;
  if (covers(one, other)) return other;
  if (isPrefix(one) && isSuffix(other)) return one;
  return isSuffix(one) && isPrefix(other) ? other : undefined;
}

const isSuffix = (pattern: string): boolean => pattern.startsWith("*");
const isPrefix = (pattern: string): boolean => !isSuffix(pattern) && pattern.endsWith("*");

/** True when `wide` matches everything that `narrow` matches. */
function covers(wide: string, narrow: string): boolean {
  if (wide === "*" || wide === narrow) return true;
  if (narrow === "*") return false;
  if (isSuffix(wide)) return !isPrefix(narrow) && narrow.endsWith(wide.slice(1));
  return isPrefix(wide) && !isSuffix(narrow) && narrow.startsWith(wide.slice(0, -1));
}

const ranks: Record<Mode, number> = { read: 0, write: 1, delete: 2 };

function lower(one: Mode | undefined, other: Mode | undefined): Mode | null {
  if (one === undefined || other === undefined) return one ?? other ?? null;
  return ranks[one] <= ranks[other] ? one : other;
}
