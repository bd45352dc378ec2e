// Reads a throttle as the configuration writes it.
import type { Throttle } from "../../../../schemas/chat.ts";

/** `"max,minutes"`, as the configuration's schema has let it pass. */
export function throttleOf(text: string): Throttle {
  const [max = 0, minutes = 1] = text.split(",").map(Number);
  return { max, minutes };
}

export const TOO_MANY_ATTEMPTS = "Too Many Attempts.";
