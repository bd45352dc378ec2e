// What became of a request that failed inside: an object that is worth another try, or our bug. Tells the log, never the client, what it was.
import { faultLine } from "../wire/fault-line.ts";
import type { Problem } from "./problem.ts";

/** A run's object that was reset or is overloaded is worth another try; anything else is our bug. */
export function faultProblem(error: unknown): Problem {
  const remote =
    typeof error === "object" &&
    error !== null &&
    ("durableObjectReset" in error || "overloaded" in error || "retryable" in error);
  console.error(faultLine(remote ? "object_unavailable" : "bug", error));
  return remote
    ? { code: "unavailable", message: "The run's object is restarting; try again.", retryAfterMs: 1000 }
    : { code: "bug", message: "The server failed to answer." };
}
