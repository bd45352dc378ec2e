// What is wrong with a body as this family's clients are told it: one item per fault, with its type, place, text and input. Pure.
import type * as v from "valibot";
import type { Fault } from "./problem.ts";

const MAX_FAULTS = 20;

/** `value`: what was held against the schema; `at`: where it stands. */
export function faultsOf(
  issues: readonly v.BaseIssue<unknown>[],
  value: unknown,
  at: Fault["loc"] = ["body"],
): Fault[] {
  return issues
    .flatMap((issue) => deepest(issue, []))
    .slice(0, MAX_FAULTS)
    .map((fault) => {
      // A schema may have seen something else in its place.
      const steps = fault.type === "missing" ? fault.loc.slice(0, -1) : fault.loc;
      const input = steps.reduce<unknown>((inner, step) => Object(inner)[step], value);
      return { ...fault, loc: [...at, ...fault.loc], input };
    });
}

/** A value that fits one branch of a union but for something inside it: what is wrong is inside, not the union. */
function deepest(issue: v.BaseIssue<unknown>, parent: Fault["loc"]): Fault[] {
  const loc = [...parent, ...(issue.path ?? []).map(({ key }) => (typeof key === "number" ? key : String(key)))];
  const inside = (issue.issues ?? []).filter(({ path }) => path !== undefined);
  if (inside.length > 0) return inside.flatMap((one) => deepest(one, loc));
  return [described(issue, loc)];
}

export const missing = (loc: Fault["loc"], input: unknown): Fault => ({
  type: "missing",
  loc,
  msg: "Field required",
  input,
});

export const tooSmall = (loc: Fault["loc"], input: unknown, ge: number): Fault => ({
  type: "greater_than_equal",
  loc,
  msg: `Input should be greater than or equal to ${ge}`,
  input,
  ctx: { ge },
});

export const tooLarge = (loc: Fault["loc"], input: unknown, le: number): Fault => ({
  type: "less_than_equal",
  loc,
  msg: `Input should be less than or equal to ${le}`,
  input,
  ctx: { le },
});

export const notOneOf = (loc: Fault["loc"], input: unknown, words: readonly string[]): Fault => {
  const quoted = words.map((word) => `'${word}'`);
  const expected = [quoted.slice(0, -1).join(", "), ...quoted.slice(-1)].filter((part) => part !== "").join(" or ");
  return { type: "literal_error", loc, msg: `Input should be ${expected}`, input, ctx: { expected } };
};

export const notMatching = (loc: Fault["loc"], input: unknown, pattern: RegExp): Fault => ({
  type: "string_pattern_mismatch",
  loc,
  msg: `String should match pattern '${pattern.source}'`,
  input,
  ctx: { pattern: pattern.source },
});

/** A rule of our own about a value. */
export const valueError = (loc: Fault["loc"], input: unknown, error: string): Fault => ({
  type: "value_error",
  loc,
  msg: `Value error, ${error}`,
  input,
  ctx: { error },
});

const types: Record<string, readonly [type: string, msg: string]> = {
  string: ["string_type", "Input should be a valid string"],
  number: ["int_type", "Input should be a valid integer"],
  integer: ["int_from_float", "Input should be a valid integer, got a number with a fractional part"],
  boolean: ["bool_type", "Input should be a valid boolean"],
  array: ["list_type", "Input should be a valid list"],
  record: ["dict_type", "Input should be a valid dictionary"],
  object: ["dict_type", "Input should be a valid dictionary"],
  loose_object: ["dict_type", "Input should be a valid dictionary"],
  strict_object: ["dict_type", "Input should be a valid dictionary"],
};

function described(issue: v.BaseIssue<unknown>, loc: Fault["loc"]): Fault {
  const { type, input, expected, received, requirement, path } = issue;
  if (expected === "never") {
    return { type: "extra_forbidden", loc, msg: "Extra inputs are not permitted", input };
  }
  if (received === "undefined") return missing(loc, path?.at(-1)?.input);
  if (type === "min_value" && typeof requirement === "number") return tooSmall(loc, input, requirement);
  if (type === "max_value" && typeof requirement === "number") return tooLarge(loc, input, requirement);
  if (type === "regex" && requirement instanceof RegExp) return notMatching(loc, input, requirement);
  if ((type === "picklist" || type === "union" || type === "literal") && /^\(?"/.test(expected ?? "")) {
    const words = [...(expected ?? "").matchAll(/"([^"]*)"/g)].map(([, word = ""]) => word);
    return notOneOf(loc, input, words);
  }
  if (type === "check" || type === "raw_check") return valueError(loc, input, issue.message);
  const [name, msg] = types[type] ?? ["value_error", `Input should be ${expected ?? "valid"}`];
  return { type: name, loc, msg, input };
}
