// Times as this family writes them. Reads no clock.

/** ISO 8601 in UTC with microseconds, as Python writes it; `at` in milliseconds of the Unix epoch, of which a fraction counts. */
export function isoTime(at: number): string {
  const millis = Math.floor(at);
  const micros = Math.min(999, Math.round((at - millis) * 1000));
  return new Date(millis).toISOString().replace(/Z$/, `${String(micros).padStart(3, "0")}+00:00`);
}
