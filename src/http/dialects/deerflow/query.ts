// Reads the parameters of a DeerFlow query. Remembers what is wrong with them; an absent one is never at fault.
import { notOneOf, tooLarge, tooSmall } from "./faults.ts";
import { deerRefused, faulty, type DeerProblem, type Fault } from "./problem.ts";

export interface QueryReader {
  whole(name: string, bounds: { ge: number; le?: number }): number | undefined;
  flag(name: string): boolean | undefined;
  word<W extends string>(name: string, words: readonly W[]): W | undefined;
  /** An empty text counts as none. */
  text(name: string): string | undefined;
  /** Everything that was wrong so far. */
  faults(): { ok: false; problem: DeerProblem } | undefined;
}

const TRUE = ["1", "true", "on", "yes", "t", "y"];
const FALSE = ["0", "false", "off", "no", "f", "n"];

export function queryReader({ url }: Request): QueryReader {
  const { searchParams } = new URL(url);
  const faults: Fault[] = [];
  const at = (name: string): Fault["loc"] => ["query", name];

  return {
    whole(name, { ge, le }) {
      const text = searchParams.get(name);
      if (text === null) return undefined;
      const value = /^\s*[+-]?\d{1,15}\s*$/.test(text) ? Number(text) : undefined;
      if (value === undefined) faults.push(notWhole(at(name), text));
      else if (value < ge) faults.push(tooSmall(at(name), text, ge));
      else if (le !== undefined && value > le) faults.push(tooLarge(at(name), text, le));
      else return value;
      return undefined;
    },
    flag(name) {
      const text = searchParams.get(name);
      if (text === null) return undefined;
      const word = text.toLowerCase();
      if (!TRUE.includes(word) && !FALSE.includes(word)) faults.push(notBoolean(at(name), text));
      return TRUE.includes(word);
    },
    word(name, words) {
      const text = searchParams.get(name);
      if (text === null) return undefined;
      const word = words.find((one) => one === text);
      if (word === undefined) faults.push(notOneOf(at(name), text, words));
      return word;
    },
    text: (name) => searchParams.get(name) || undefined,
    faults: () => (faults.length === 0 ? undefined : deerRefused(faulty(faults))),
  };
}

const notWhole = (loc: Fault["loc"], input: string): Fault => ({
  type: "int_parsing",
  loc,
  msg: "Input should be a valid integer, unable to parse string as an integer",
  input,
});

const notBoolean = (loc: Fault["loc"], input: string): Fault => ({
  type: "bool_parsing",
  loc,
  msg: "Input should be a valid boolean, unable to interpret input",
  input,
});
