// An answer with embeddings, checked and brought to length 1, or the failure that it is instead. What is not exactly what was asked for is a failure.
import { MAX_DIMENSIONS } from "../../schemas/config.ts";
import type { Failure } from "../../schemas/failure.ts";
import { parseJson } from "../wire/json.ts";
import type { EmbedAsk, Embedder } from "./embedder.ts";
import { errorFacts } from "./error-facts.ts";
import type { Adapter, HttpAnswer } from "./provider.ts";

/** Vectors of length 1 (or of zeros), one behind the other. */
export interface Vectors {
  dimensions: number;
  numbers: Float32Array;
}

export function embeddingsOf(
  answer: HttpAnswer,
  { texts, dimensions }: Pick<EmbedAsk, "texts" | "dimensions">,
  embedder: Embedder,
  failure: Adapter["failure"],
): Vectors | Failure {
  if (answer.status < 200 || answer.status >= 300) return failure(answer);
  const parsed = parseJson(answer.body);
  if (parsed === undefined || errorFacts(parsed.value) !== undefined) {
    const refused = failure(answer);
    // Nobody has asked for a stream.
    return refused.failureClass === "protocol" ? malformed("The provider's answer is not JSON.") : refused;
  }
  const lists = embedder.vectors(parsed.value);
  if (lists === undefined) return malformed("The provider's answer has no embeddings in its place.");
  if (lists.length !== texts.length) return malformed("The provider sent another number of embeddings than of texts.");
  return vectorsOf(lists, dimensions);
}

function vectorsOf(lists: readonly unknown[], wanted: number | undefined): Vectors | Failure {
  const [first] = lists;
  const dimensions = wanted ?? (Array.isArray(first) ? first.length : 0);
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
    return malformed(`An embedding has no numbers, or more than ${MAX_DIMENSIONS}.`);
  }
  const numbers = new Float32Array(lists.length * dimensions);
  for (const [place, list] of lists.entries()) {
    if (!Array.isArray(list) || list.length !== dimensions) {
      return malformed(`An embedding has another number of dimensions than ${dimensions}.`);
    }
    if (!normalize(list, numbers.subarray(place * dimensions, (place + 1) * dimensions))) {
      return malformed("An embedding holds something that is no finite number.");
    }
  }
  return { dimensions, numbers };
}

/** False when the list holds something else than finite numbers. A list of zeros stays one: nothing is near to it. */
function normalize(list: readonly unknown[], into: Float32Array): boolean {
  if (!list.every((number) => typeof number === "number")) return false;
  into.set(list);
  let sum = 0;
  for (const number of into) sum += number * number;
  if (!Number.isFinite(sum)) return false;
  const scale = sum > 0 ? 1 / Math.sqrt(sum) : 0;
  for (let at = 0; at < into.length; at++) into[at] = (into[at] ?? 0) * scale;
  return true;
}

const malformed = (message: string): Failure => ({ failureClass: "malformed", message });
