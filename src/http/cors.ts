// CORS by configuration: which origins may read, what they may send and see.
import type { Config } from "../../schemas/config.ts";

export const EXPOSED = "Location, Content-Location, X-Run-Id, Retry-After, X-Sveda-Protocol-Version";
const ALLOWED =
  /^(authorization|content-type|last-event-id|idempotency-key|x-api-key|x-csrf-token|x-sveda-[a-z0-9-]+)$/;
const METHODS = ["GET", "POST", "DELETE"];
/** Seconds a browser may remember a preflight. */
const MAX_AGE = "86400";

/** The headers an answer to this request needs; none when the origin is not configured. */
function corsHeaders(request: Request, cors: Config["cors"]): Record<string, string> {
  const origin = request.headers.get("origin");
  if (origin === null) return {};
  const any = cors.origins.includes("*");
  if (!any && !cors.origins.includes(origin)) return { vary: "Origin" };
  return {
    "access-control-allow-origin": any ? "*" : origin,
    "access-control-expose-headers": EXPOSED,
    vary: "Origin",
  };
}

/** The answer with the headers its origin needs. */
export function withCors(response: Response, request: Request, cors: Config["cors"]): Response {
  const extra = Object.entries(corsHeaders(request, cors));
  if (extra.length === 0) return response;
  const wrapped = new Response(response.body, response);
  for (const [name, value] of extra) wrapped.headers.append(name, value);
  return wrapped;
}

/** Answers a preflight. Asked-for headers outside the list are left out, and the browser then refuses by itself. */
export function preflight(request: Request, cors: Config["cors"], methods: readonly string[] = METHODS): Response {
  const asked = request.headers.get("access-control-request-headers") ?? "";
  const allowed = asked
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => ALLOWED.test(name));
  const headers = corsHeaders(request, cors);
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      ...("access-control-allow-origin" in headers && {
        "access-control-allow-methods": [...methods, "OPTIONS"].join(", "),
        "access-control-allow-headers": allowed.join(", "),
        "access-control-max-age": MAX_AGE,
      }),
    },
  });
}
