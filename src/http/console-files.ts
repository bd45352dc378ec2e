// The console's page, scripts and styles, as `npm run build:console` has built them. Public, and the same for everybody.
import built from "../../dist/console.json";
import { unchanged, wrongMethod } from "./problem.ts";

interface ConsoleFile {
  type: string;
  etag: string;
  text: string;
}

const files = new Map<string, ConsoleFile>(Object.entries(built));
const PAGE = "/index.html";

/** Browsers ask again each time, and are told when nothing has changed. Nothing but the console's own files may run in its page. */
const FIXED = {
  "cache-control": "public, max-age=0, must-revalidate",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

/** `undefined` where no file of the console stands. Without a body where that is asked for, or the asker has the file. */
export function consoleFile({ method, headers }: Request, pathname: string): Response | undefined {
  const file = files.get(pathname === "/" ? PAGE : pathname);
  if (file === undefined || method === "OPTIONS") return undefined;
  if (method !== "GET" && method !== "HEAD") return wrongMethod("GET, HEAD");
  const { type, etag, text } = file;
  if (isHeld(headers.get("if-none-match"), etag)) return unchanged({ ...FIXED, etag });
  return new Response(method === "HEAD" ? null : text, { headers: { ...FIXED, "content-type": type, etag } });
}

/** RFC 9110, section 13.1.2. */
function isHeld(tags: string | null, etag: string): boolean {
  if (tags?.trim() === "*") return true;
  return (tags ?? "").split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
