// Reads the wait that a provider asks for. Never decides whether to wait.

const DAY_MS = 86_400_000;

/** `retry-after-ms`, or Retry-After in seconds or as a date. Milliseconds, at least 0, at most a day. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const exact = headers.get("retry-after-ms")?.trim() ?? "";
  if (isDecimal(exact)) return clampDay(Number(exact));
  const value = headers.get("retry-after")?.trim() ?? "";
  if (isDecimal(value)) return clampDay(Number(value) * 1000);
  return untilDate(value, now);
}

/**
 * The wait until every limit that is used up is reset: `x-ratelimit-reset-requests` beside a
 * `x-ratelimit-remaining-requests` of 0, and the same in other providers' names. A reset is a duration, a date, seconds, or
 * a time in seconds or milliseconds. Milliseconds, at least 0, at most a day.
 */
export function untilReset(headers: Headers, now: number): number | undefined {
  let wait: number | undefined;
  headers.forEach((value, name) => {
    if (!/^(x|anthropic)-ratelimit-.*reset/.test(name)) return;
    if (headers.get(name.replace("reset", "remaining"))?.trim() !== "0") return;
    const ms = resetMs(value.trim(), now);
    if (ms !== undefined && ms > (wait ?? -1)) wait = ms;
  });
  return wait;
}

function resetMs(value: string, now: number): number | undefined {
  if (!isDecimal(value)) return durationMs(value) ?? untilDate(value, now);
  const number = Number(value);
  if (number >= 1e12) return clampDay(number - now);
  return number >= 1e9 ? clampDay(number * 1000 - now) : clampDay(number * 1000);
}

/** "Please try again in 1m2.5s", "retry after 34 seconds": the wait in an error's text. */
export function waitInText(text: string): number | undefined {
  const said = /\b(?:retry|try again) (?:in|after) ((?:\d+(?:\.\d+)? ?[a-z]+ ?){1,4})/i.exec(text)?.[1];
  return said === undefined ? undefined : durationMs(said.replaceAll(" ", ""));
}

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS };

/** No duration is longer, in UTF-16 units: finding its parts is not linear. */
const MAX_DURATION = 40;

/** A duration like `2m59.56s`, `120ms` or `34seconds` in milliseconds, at most a day. */
export function durationMs(text: string): number | undefined {
  if (text.length > MAX_DURATION) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([a-z]+)/gi)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return undefined;
  let sum = 0;
  for (const [, count = "", unit = ""] of parts) {
    const short = unit.toLowerCase().replace(/^(s|m|h|d)(ec|econd|in|inute|our|r|ay)s?$/, "$1");
    const ms = Object.hasOwn(unitMs, short) ? unitMs[short] : undefined;
    if (ms === undefined) return undefined;
    sum += Number(count) * ms;
  }
  return clampDay(sum);
}

function untilDate(value: string, now: number): number | undefined {
  // Date.parse takes many things for a date, "-5" among them, and reads a date without a zone as local time.
  if (!/^([a-z]{3,9},? .*|\d{4}-\d\d-\d\dT)\d\d:\d\d:\d\d/i.test(value)) return undefined;
  const date = Date.parse(/(GMT|UTC|Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value} GMT`);
  return Number.isNaN(date) ? undefined : clampDay(date - now);
}

const isDecimal = (text: string): boolean => /^\d+(\.\d+)?$/.test(text);

const clampDay = (ms: number): number => Math.ceil(Math.min(Math.max(ms, 0), DAY_MS));
