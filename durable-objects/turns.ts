// The turns of an object that has much to do: others that wait are answered in between. Measures work, since time stands still while an object computes.

/** UTF-16 units of text after which others have their turn. */
const TURN_UNITS = 65_536;

export interface Turns {
  /** So much work was done: resolves at once, or when others have had their turn. */
  after(units: number): Promise<void>;
}

export function turns(): Turns {
  let units = 0;
  return {
    async after(more) {
      units += more;
      if (units < TURN_UNITS) return;
      units = 0;
      await new Promise((resolve) => setTimeout(resolve, 0));
    },
  };
}
