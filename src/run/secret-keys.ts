// The contract's rule on secret-looking key names (a.6). It looks at names only, never at values.

/** True for a name that looks like a credential: `apiKey`, `client_secret`, `nextToken`; false for `totalTokens`. */
export function isSecretKey(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  return (
    /authorization|password|secret|apikey/.test(plain) ||
    (plain.includes("api") && plain.includes("key")) ||
    plain.endsWith("token")
  );
}

/**
 * JSON pointers of all secret-looking keys below `value`. `skip` names pointers whose whole subtree is user material.
 * Walks with its own stack: deep input must not overflow the call stack.
 */
export function findSecretKeys(value: unknown, skip: (pointer: string) => boolean = () => false): string[] {
  const found: string[] = [];
  const stack: { value: unknown; pointer: string }[] = [{ value, pointer: "" }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next.value !== "object" || next.value === null || skip(next.pointer)) continue;
    const isArray = Array.isArray(next.value);
    for (const [key, child] of Object.entries(next.value)) {
      const pointer = `${next.pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (!isArray && isSecretKey(key)) found.push(pointer);
      stack.push({ value: child, pointer });
    }
  }
  return found.reverse();
}

export const hasSecretKey = (value: unknown): boolean => findSecretKeys(value).length > 0;
