// Turns valibot's issues into the wire's: JSON pointer, message, keyword. Messages never repeat the value: it may be a prompt or a secret.
import type * as v from "valibot";
import type { ValidationIssue } from "../../schemas/problem.ts";

const MAX_ISSUES = 20;

export function wireIssues(issues: readonly v.BaseIssue<unknown>[]): ValidationIssue[] {
  return issues
    .flatMap((issue) => deepest(issue, []))
    .slice(0, MAX_ISSUES)
    .map(({ issue, keys }) => ({ path: pointer(keys), message: describe(issue), keyword: issue.type }));
}

/** JSON pointer (RFC 6901) to a path of keys; empty for the whole document. */
export function pointer(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

interface Located {
  issue: v.BaseIssue<unknown>;
  keys: string[];
}

/** A value that fits one branch of a union but for something inside it: what is wrong is inside, not the union. */
function deepest(issue: v.BaseIssue<unknown>, parent: readonly string[]): Located[] {
  const keys = [...parent, ...(issue.path?.map((item) => String(item.key)) ?? [])];
  const inside = (issue.issues ?? []).filter(({ path }) => path !== undefined);
  return inside.length > 0 ? inside.flatMap((one) => deepest(one, keys)) : [{ issue, keys }];
}

function describe(issue: v.BaseIssue<unknown>): string {
  if (issue.received === "undefined") {
    // valibot names the key itself as what it expected of a key that is not there.
    const named = issue.expected === null || issue.expected === JSON.stringify(issue.path?.at(-1)?.key);
    return named ? "is missing" : `is missing; expected ${issue.expected}`;
  }
  if (issue.expected === "never") return "is not a known field";
  if (issue.expected === null) return `does not meet the rule '${issue.type}'${requirement(issue)}`;
  return issue.kind === "schema"
    ? `has the wrong type or value; expected ${issue.expected}`
    : `is out of range or malformed; expected ${issue.type} ${issue.expected}`;
}

function requirement(issue: v.BaseIssue<unknown>): string {
  const { requirement } = issue;
  return typeof requirement === "number" || requirement instanceof RegExp ? ` ${String(requirement)}` : "";
}
