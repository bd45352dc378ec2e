// Patterns of paths: `*` is any text, slashes too; `?` one UTF-16 unit. Knows no documents.

/** A set of places in a pattern, 32 in each number. */
type Places = Uint32Array;

/**
 * Reads a pattern once for many texts. Bit n of a set says that the first n signs, stars not counted, have been met: a
 * text is read once, all ways to read it at the same time, so no pattern makes the work more than text times pattern / 32.
 */
export function globMatcher(glob: string): (text: string) => boolean {
  const signs = glob.replaceAll("*", "");
  const size = (signs.length >>> 5) + 1;
  const stays = starsOf(glob, size);
  const anySign = placesOf(signs, "?", new Uint32Array(size));
  const bySign = new Map([...new Set(signs.split(""))].map((sign) => [sign, placesOf(signs, sign, anySign)] as const));
  return (text) => {
    const met = new Uint32Array(size);
    add(met, 0);
    for (let at = 0; at < text.length; at++) {
      if (!step(met, bySign.get(text.charAt(at)) ?? anySign, stays)) return false;
    }
    return has(met, signs.length);
  };
}

/** One unit of the text: goes a place on where it fits, stays where a star is. False when no place is left. */
function step(met: Places, fits: Places, stays: Places): boolean {
  let carried = 0;
  let left = 0;
  for (let part = 0; part < met.length; part++) {
    const before = met[part] ?? 0;
    const moved = before & (fits[part] ?? 0);
    const after = (moved << 1) | carried | (before & (stays[part] ?? 0));
    carried = moved >>> 31;
    met[part] = after;
    left |= after;
  }
  return left !== 0;
}

function starsOf(glob: string, size: number): Places {
  const places = new Uint32Array(size);
  let place = 0;
  for (let at = 0; at < glob.length; at++) {
    if (glob.charAt(at) === "*") add(places, place);
    else place++;
  }
  return places;
}

/** Where a sign stands, and what is in `more`. */
function placesOf(signs: string, sign: string, more: Places): Places {
  const places = Uint32Array.from(more);
  for (let at = signs.indexOf(sign); at >= 0; at = signs.indexOf(sign, at + 1)) add(places, at);
  return places;
}

function add(places: Places, place: number): void {
  places[place >>> 5] = (places[place >>> 5] ?? 0) | (1 << (place & 31));
}

const has = (places: Places, place: number): boolean => (((places[place >>> 5] ?? 0) >>> (place & 31)) & 1) === 1;
