// Times as this family writes them. Reads no clock.

/** ISO 8601 in UTC with microseconds, as Python writes it; `at` in milliseconds of the Unix epoch. */
export const isoTime = (at: number): string => new Date(at).toISOString().replace(/Z$/, "000+00:00");
