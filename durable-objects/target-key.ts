// The secret that a target is asked with, by the name that its configuration gives. Keeps nothing.
import type { Target } from "../schemas/config.ts";
import { secretOf } from "./secret.ts";

/** `missing` when the target names a secret that is not set. */
export function keyOf(env: Env, { keyVar }: Target): string | undefined | { missing: string } {
  if (keyVar === undefined) return undefined;
  return secretOf(env, keyVar) ?? { missing: keyVar };
}
