// One text that comes in pieces, each of some part of it, and is stated whole as well, per part or altogether. A statement counts;
// what of it has not come in pieces is given out, so that nothing is shown twice. Linear in what comes, however many the statements.

export interface StatedText {
  add(part: number, piece: string): void;
  /** The whole of one part; a part is stated once. Gives what is missing of it; nothing where the pieces say otherwise. */
  state(part: number, whole: string): string;
  /** The whole of the text. Gives what is missing of it. */
  stateAll(whole: string): string;
  /** The text as far as it is known, by the order of its parts. */
  text(): string;
  /** UTF-16 units of the text. */
  readonly length: number;
  readonly stated: boolean;
  /** Some statement said otherwise than the pieces, or what it adds has no place behind what was given out. */
  readonly differs: boolean;
}

interface Part {
  /** What a statement has covered, and the pieces that none has. */
  settled: string;
  open: string;
}

export function statedText(): StatedText {
  /** The statement of the whole, which all parts come after. */
  let head = "";
  let length = 0;
  const parts = new Map<number, Part>();
  const statedParts = new Set<number>();
  const openParts = new Set<Part>();
  let openLength = 0;
  /** What was given out last. */
  let last: Part | undefined;
  let stated = false;
  let differs = false;

  const partAt = (index: number): Part => {
    const part = parts.get(index) ?? { settled: "", open: "" };
    parts.set(index, part);
    return part;
  };

  const text = (): string => {
    const inOrder = [...parts].toSorted(([left], [right]) => left - right);
    return head + inOrder.map(([, { settled, open }]) => settled + open).join("");
  };

  /** `whole` stands for the open pieces of these parts, which follow each other. */
  const settle = (covered: readonly Part[], whole: string): string => {
    const [first = partAt(0)] = covered;
    const open = covered.map((part) => part.open).join("");
    for (const part of covered) {
      openLength -= part.open.length;
      part.open = "";
      openParts.delete(part);
    }
    first.settled += whole;
    length += whole.length - open.length;
    const missing = startsWith(whole, open) ? whole.slice(open.length) : undefined;
    const behind = open === "" || missing === "" || last === undefined || covered.at(-1) === last;
    differs ||= missing === undefined || !behind;
    if (missing !== undefined && missing !== "") last = first;
    return differs ? "" : (missing ?? "");
  };

  /** Whether all open pieces, which are not looked at if they are longer, begin the statement. */
  const beginsWithAll = (whole: string): boolean =>
    openLength > 0 &&
    openLength <= whole.length &&
    whole.startsWith(Array.from(openParts, ({ open }) => open).join(""));

  return {
    add(index, piece) {
      last = partAt(index);
      last.open += piece;
      openParts.add(last);
      openLength += piece.length;
      length += piece.length;
    },
    state(index, whole) {
      const own = parts.get(index);
      if (statedParts.has(index) && (own === undefined || own.open === "")) return "";
      statedParts.add(index);
      stated = true;
      // Some servers give every piece a place of its own, and state all of them under the last.
      if (beginsWithAll(whole)) return settle([...openParts], whole);
      const part = partAt(index);
      // Others put all parts at one place, and some of those state what came before as well.
      const before = part.settled;
      const rest = before !== "" && startsWith(whole, before + part.open) ? whole.slice(before.length) : whole;
      return settle([part], rest);
    },
    stateAll(whole) {
      const before = text();
      stated = true;
      differs ||= !startsWith(whole, before);
      head = whole;
      length = whole.length;
      parts.clear();
      openParts.clear();
      openLength = 0;
      last = undefined;
      return differs ? "" : whole.slice(before.length);
    },
    text,
    get length() {
      return length;
    },
    get stated() {
      return stated;
    },
    get differs() {
      return differs;
    },
  };
}

/** The comparison reads no more than the shorter text: joined texts are laid out anew for it. */
const startsWith = (whole: string, start: string): boolean => start.length <= whole.length && whole.startsWith(start);
