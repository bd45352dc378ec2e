// One text that comes in pieces and is stated whole as well, per part or altogether. The statement counts; what of it has not come in pieces is given out, so that nothing is shown twice.

export interface StatedText {
  add(piece: string): void;
  /** The whole of one part; a part is stated once. Gives what is missing of it; nothing where the pieces say otherwise. */
  state(part: number, whole: string): string;
  /** The whole of the text. Gives what is missing of it. */
  stateAll(whole: string): string;
  readonly text: string;
  readonly stated: boolean;
  /** Some statement said otherwise than the pieces. */
  readonly differs: boolean;
}

export function statedText(): StatedText {
  let text = "";
  /** Where the pieces begin that no statement has covered yet. */
  let open = 0;
  const parts = new Set<number>();
  let stated = false;
  let differs = false;

  const settle = (from: number, whole: string): string => {
    const pieces = text.slice(from);
    stated = true;
    differs ||= !whole.startsWith(pieces);
    text = text.slice(0, from) + whole;
    open = text.length;
    return differs ? "" : whole.slice(pieces.length);
  };

  return {
    add(piece) {
      text += piece;
    },
    state(part, whole) {
      if (parts.has(part)) return "";
      parts.add(part);
      return settle(open, whole);
    },
    stateAll: (whole) => settle(0, whole),
    get text() {
      return text;
    },
    get stated() {
      return stated;
    },
    get differs() {
      return differs;
    },
  };
}
