// Key-sorted JSON: two bodies are the same request exactly when their canonical texts are equal.

/** Deeper JSON is refused: nothing a model is asked or answers needs it, and recursive code downstream must stay safe. */
export const MAX_JSON_DEPTH = 64;

/** JSON with the keys of every object sorted by code unit; `value` must be JSON of bounded depth (see `depthOf`). */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  );
}

/** Nesting depth of a JSON value: 0 for a scalar. Stops counting beyond `limit`. Uses no call stack. */
export function depthOf(value: unknown, limit: number): number {
  let deepest = 0;
  const stack: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (next.depth > deepest) deepest = next.depth;
    if (deepest > limit) return deepest;
    if (typeof next.value !== "object" || next.value === null || JSON.isRawJSON(next.value)) continue;
    for (const child of Object.values(next.value)) stack.push({ value: child, depth: next.depth + 1 });
  }
  return deepest;
}
