// How much of a list one object answers another: what passes between them is bounded. Pure.
import { jsonText } from "../wire/json.ts";

/** UTF-16 units of JSON; twice as many bytes pass. */
const MAX_LIST = 12_000_000;

/** UTF-16 units of the JSON of what a thread has in one piece, its metadata or its values: an answer tells it whole. */
export const MAX_PIECE = 6_000_000;

/** The first of these, as many as fit, and one in any case. Those that do not fit are not read, but for one. */
export function fitting<T>(items: Iterable<T>, max = MAX_LIST): T[] {
  const kept: T[] = [];
  let units = 0;
  for (const item of items) {
    units += jsonText(item)?.length ?? 0;
    if (units > max && kept.length > 0) break;
    kept.push(item);
  }
  return kept;
}
