// Secrets by the name that a configuration gives them. Never keeps one.

/** The secret without the white space that it was pasted with; `undefined` when it is not set or empty. */
export function secretOf(env: Env, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name);
  const trimmed = typeof value === "string" ? value.trim() : "";
  return trimmed === "" ? undefined : trimmed;
}
