// Reads the wait that a provider asks for. Never decides whether to wait.

/** `retry-after-ms`, or Retry-After in seconds or as a date. Milliseconds, at least 0, at most a day. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const exact = headers.get("retry-after-ms")?.trim() ?? "";
  if (isDecimal(exact)) return clampDay(Number(exact));
  const value = headers.get("retry-after")?.trim() ?? "";
  if (isDecimal(value)) return clampDay(Number(value) * 1000);
  // Date.parse takes many things for a date, "-5" among them, and reads a date without a zone as local time.
  if (!/^([a-z]{3,9},? .*|\d{4}-\d\d-\d\dT)\d\d:\d\d:\d\d/i.test(value)) return undefined;
  const date = Date.parse(/(GMT|UTC|Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value} GMT`);
  return Number.isNaN(date) ? undefined : clampDay(date - now);
}

const isDecimal = (text: string): boolean => /^\d+(\.\d+)?$/.test(text);

const clampDay = (ms: number): number => Math.ceil(Math.min(Math.max(ms, 0), 86_400_000));
