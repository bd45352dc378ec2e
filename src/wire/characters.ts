// Whole characters of a text, as its readers count them: a surrogate pair is one.

/** The first `max` characters. Cheap where nothing is cut: a character takes one or two UTF-16 units. */
export function firstCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  return Array.from(text.slice(0, max * 2))
    .slice(0, max)
    .join("");
}

export function characterCount(text: string): number {
  let count = 0;
  for (const _character of text) count++;
  return count;
}
