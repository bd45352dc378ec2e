// A model for tests that embeds by words alone: each word is a direction, so that texts with the same words are near to each other. Speaks OpenAI's format.
import { errorScript } from "./provider-bytes/scripts.ts";

/** Words of one meaning have one direction. */
const meanings: Readonly<Record<string, string>> = { automobile: "car", vehicle: "car", feline: "cat", kitten: "cat" };

function wordVector(text: string, dimensions = 64): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    const meaning = meanings[word] ?? word;
    let hash = 7;
    for (const character of meaning) hash = (hash * 31 + character.charCodeAt(0)) % 100_003;
    vector[hash % dimensions] = (vector[hash % dimensions] ?? 0) + 1;
  }
  return vector;
}

/** What a request asks to embed. */
export function textsIn(body: string): string[] {
  const { input }: { input: string[] } = JSON.parse(body);
  return input;
}

/** The answer to a request. A text with the word `poison` is refused. */
export function embedWords(body: string) {
  const { dimensions }: { dimensions?: number } = JSON.parse(body);
  const texts = textsIn(body);
  if (texts.some((text) => text.includes("poison"))) {
    return errorScript(400, {}, JSON.stringify({ error: { message: "no", type: "invalid_request_error" } }));
  }
  const data = texts.map((text, index) => ({ object: "embedding", index, embedding: wordVector(text, dimensions) }));
  return errorScript(200, { "content-type": "application/json" }, JSON.stringify({ object: "list", data }));
}
