// Whether an answer stands on its sources: it cites something, and nothing that is not there.

export interface Grounding {
  grounded: boolean;
  /** The sources that it cites, each once, in the order of their numbers. */
  cited: number[];
}

const marker = /\[#(\d{1,3})\]/g;

/** `sources`: how many the model was given. The text must be a whole answer. */
export function groundingOf(text: string, sources: number): Grounding {
  const markers = [...new Set(Array.from(text.matchAll(marker), ([, number]) => Number(number)))];
  const cited = markers.filter((number) => number >= 1 && number <= sources).toSorted((a, b) => a - b);
  return { grounded: markers.length > 0 && cited.length === markers.length, cited };
}
