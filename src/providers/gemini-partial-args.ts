// Writes a tool call's input as JSON text while Gemini streams it as values under paths. Paths come in the order of the document; what does not is refused, never guessed at.
import { isKeptNumber } from "../wire/exact-json.ts";
import { asText, jsonText, parseJson, type JsonRecord } from "../wire/json.ts";

export interface PartialArgs {
  /** The text that one more value adds; `undefined` when it cannot follow what is written. */
  add(partial: JsonRecord): string | undefined;
  /** The same for a member of the input that comes whole. */
  member(name: string, value: unknown): string | undefined;
  /** The text that closes the input. */
  end(): string;
}

/** Text before the first value. */
export const PARTIAL_ARGS_START = "{";

/** An open object with the names it has, or an open array with how many elements. `at`: its last child. */
type Level = { kind: "object"; names: Set<string>; at?: Segment } | { kind: "array"; count: number; at?: Segment };
type Segment = string | number;

export function partialArgs(): PartialArgs {
  const levels: Level[] = [levelFor("")];
  /** The path of the string that is written last, whose closing quote waits: more of it may come. */
  let openString: string | undefined;

  const closeString = (): string => {
    const quote = openString === undefined ? "" : '"';
    openString = undefined;
    return quote;
  };

  /** Closes levels until `left` are open. */
  const closeLevels = (left: number): string =>
    levels
      .splice(left)
      .toReversed()
      .map(({ kind }) => (kind === "object" ? "}" : "]"))
      .join("");

  const enter = (segment: Segment): string | undefined => {
    const level = levels.at(-1);
    if (level?.kind === "object" && typeof segment === "string" && !level.names.has(segment)) {
      level.at = segment;
      level.names.add(segment);
      return `${level.names.size > 1 ? "," : ""}${JSON.stringify(segment)}:`;
    }
    if (level?.kind === "array" && segment === level.count) {
      level.at = segment;
      level.count++;
      return segment > 0 ? "," : "";
    }
    return undefined;
  };

  /** Everything up to the place of the value. */
  const moveTo = (path: readonly Segment[]): string | undefined => {
    let depth = 0;
    while (depth < path.length - 1 && depth < levels.length - 1 && levels[depth]?.at === path[depth]) depth++;
    let text = closeString() + closeLevels(depth + 1);
    for (const [index, segment] of path.entries()) {
      if (index < depth) continue;
      const key = enter(segment);
      if (key === undefined) return undefined;
      text += key;
      const child = path[index + 1];
      if (child === undefined) continue;
      const level = levelFor(child);
      levels.push(level);
      text += level.kind === "object" ? "{" : "[";
    }
    return text;
  };

  return {
    add(partial) {
      const jsonPath = asText(partial["jsonPath"]) ?? "";
      const string = typeof partial["stringValue"] === "string" ? partial["stringValue"] : undefined;
      if (openString === jsonPath && string !== undefined) return JSON.stringify(string).slice(1, -1);
      const value = valueOf(partial);
      if (value === undefined) return "";
      const path = segmentsOf(jsonPath);
      if (path === undefined) return undefined;
      const place = moveTo(path);
      if (place === undefined || string === undefined) return place === undefined ? undefined : place + value;
      openString = jsonPath;
      return place + value.slice(0, -1);
    },
    member(name, value) {
      const place = moveTo([name]);
      const text = jsonText(value);
      return place === undefined || text === undefined ? undefined : place + text;
    },
    end: () => closeString() + closeLevels(0),
  };
}

const levelFor = (child: Segment): Level =>
  typeof child === "string" ? { kind: "object", names: new Set() } : { kind: "array", count: 0 };

/** The value as JSON text; `undefined` when the piece has none. */
function valueOf({ stringValue, numberValue, boolValue, nullValue }: JsonRecord): string | undefined {
  if (typeof stringValue === "string") return JSON.stringify(stringValue);
  if (typeof numberValue === "number" || isKeptNumber(numberValue)) return JSON.stringify(numberValue);
  if (typeof boolValue === "boolean") return JSON.stringify(boolValue);
  return nullValue === undefined ? undefined : "null";
}

const segment = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

/** The names and indices of a JSON path (RFC 9535) that leads to one value; `undefined` for any other text. */
function segmentsOf(jsonPath: string): Segment[] | undefined {
  if (!jsonPath.startsWith("$")) return undefined;
  const segments: Segment[] = [];
  for (segment.lastIndex = 1; segment.lastIndex < jsonPath.length;) {
    const [, name, index, single, double] = segment.exec(jsonPath) ?? [];
    const quoted = single ?? double;
    const found = index === undefined ? (name ?? (quoted === undefined ? undefined : unquoted(quoted))) : Number(index);
    if (found === undefined) return undefined;
    segments.push(found);
  }
  return segments.length === 0 ? undefined : segments;
}

/** A quoted name's text; its escapes are those of JSON, and `\'`. */
function unquoted(name: string): string | undefined {
  const json = name.replace(/\\.|"/g, (found) => (found === '"' ? '\\"' : found === "\\'" ? "'" : found));
  const value = parseJson(`"${json}"`)?.value;
  return typeof value === "string" ? value : undefined;
}
