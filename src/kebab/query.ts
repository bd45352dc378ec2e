// A question as the full-text index is asked. Terms are letters and digits alone and stand in quotes, so no word of the index's own language gets through.

export const anyOf = (terms: readonly string[]): string => terms.map(quoted).join(" OR ");

export const allOf = (terms: readonly string[]): string => terms.map(quoted).join(" AND ");

const quoted = (term: string): string => `"${term.replaceAll('"', '""')}"`;
