// CORS of the Sveda family: pages of the configured origins, or of any, may call it; never with credentials of the browser.
import { EXPOSED } from "../../cors.ts";

const METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
const ALLOWED = [
  "Accept",
  "Authorization",
  "Content-Type",
  "X-Requested-With",
  "X-Sveda-Embed-Token",
  "X-Sveda-Host-Key",
  "X-Sveda-Admin-Key",
  "X-Sveda-Protocol",
  "Last-Event-ID",
  "Idempotency-Key",
].join(", ");
/** Seconds a browser may remember a preflight. */
const MAX_AGE = "86400";

/** The answer with the headers its origin needs; an origin that is not listed gets none. */
export function withCors(response: Response, request: Request, origins: readonly string[]): Response {
  const origin = request.headers.get("origin");
  if (origin === null) return response;
  const wrapped = new Response(response.body, response);
  wrapped.headers.append("vary", "Origin");
  if (!origins.includes("*") && !origins.includes(origin)) return wrapped;
  wrapped.headers.set("access-control-allow-origin", origin);
  wrapped.headers.set("access-control-expose-headers", EXPOSED);
  if (request.method !== "OPTIONS") return wrapped;
  wrapped.headers.set("access-control-allow-methods", METHODS);
  wrapped.headers.set("access-control-allow-headers", ALLOWED);
  wrapped.headers.set("access-control-max-age", MAX_AGE);
  return wrapped;
}
