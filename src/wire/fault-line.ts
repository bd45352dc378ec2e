// The log line of a fault inside: its kind alone, for a message may hold what a user has sent. Pure.

/** `bug`: ours. `object_unavailable`: an object that was reset or is overloaded. */
export const faultLine = (type: "bug" | "object_unavailable", error: unknown): string =>
  JSON.stringify({ type, name: error instanceof Error ? error.name : "unknown" });
