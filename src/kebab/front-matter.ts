// The fields that a Markdown document may begin with: `key: value` between lines of three dashes. Reads what the index uses, no YAML at large.
import { sourceLines } from "./blocks.ts";

export interface FrontMatter {
  /** The line that closes it; 0 when there is none. */
  last: number;
  fields: Map<string, string[]>;
}

/** Lines that are looked at. */
const MAX_LINES = 200;
/** Units of the beginning that holds them. */
const MAX_UNITS = 65_536;
const NONE: FrontMatter = { last: 0, fields: new Map() };

export function frontMatter(source: string): FrontMatter {
  if (!/^---[ \t]*(\r|\n)/.test(source)) return NONE;
  const lines = sourceLines(source.slice(0, MAX_UNITS));
  const fields = new Map<string, string[]>();
  let open: string[] | undefined;
  for (let line = 2; line <= Math.min(lines.count, MAX_LINES); line++) {
    const text = lines.textOf(line);
    if (/^(---|\.\.\.)[ \t]*$/.test(text)) return fields.size === 0 ? NONE : { last: line, fields };
    const entry = /^\s*-\s+(.*)$/.exec(text)?.[1];
    const [, key, value = ""] = /^([A-Za-z][\w-]*):(?:\s+(.*))?$/.exec(text) ?? [];
    if (entry !== undefined) open?.push(scalar(entry));
    else if (key !== undefined) {
      open = valuesOf(value.trim());
      fields.set(key.toLowerCase(), open);
    }
  }
  return NONE;
}

function valuesOf(value: string): string[] {
  const list = /^\[(.*)\]$/.exec(value)?.[1];
  const values = list === undefined ? [value] : list.split(",");
  return values.map((one) => scalar(one.trim())).filter((one) => one !== "");
}

const scalar = (value: string): string => /^(["'])(.*)\1\s*$/.exec(value)?.[2] ?? value.trim();
