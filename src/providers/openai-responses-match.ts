// Tells which streamed items the item list of a finished OpenAI response repeats. Reads no wire.

export interface Identity {
  id: string | undefined;
  /** Of a call. */
  callId?: string | undefined;
  name?: string | undefined;
  /** A message's text, or a call's input. */
  text: string;
}

/** For each entry of the list the place of the item that it repeats; `undefined` for one that was not streamed. */
export type Matches = (number | undefined)[];

/** The text of all messages: of the list, where it has all that have come, else of those and what it says of them. */
export function wholeText(entries: readonly Identity[], items: readonly Identity[]): string {
  const matches = matchMessages(entries, items);
  const said = entries.map(({ text }, index) => text || (items[matches[index] ?? -1]?.text ?? ""));
  if (items.every(({ text }, place) => text === "" || matches.includes(place))) return said.join("");
  const streamed = items.map(({ text }, place) => said[matches.indexOf(place)] ?? text);
  return [...streamed, ...said.filter((_text, index) => matches[index] === undefined)].join("");
}

/** Messages go by their id, else by their text, else by their order; a list that is shorter has the last ones. */
function matchMessages(entries: readonly Identity[], items: readonly Identity[]): Matches {
  const matching = matcher(entries, items);
  matching.byKey(({ id }) => id);
  matching.byKey(({ text }) => (text === "" ? undefined : text));
  matching.inOrder();
  return matching.matches;
}

/** A call's own id is what it is answered under: another one is another call, unless all the rest is the same. */
export function matchCalls(entries: readonly Identity[], items: readonly Identity[]): Matches {
  const matching = matcher(entries, items);
  const loose = (one: Identity, other: Identity): boolean => one.callId === undefined || other.callId === undefined;
  matching.byKey(({ callId }) => callId);
  matching.byKey(({ name, text }) => (name === undefined ? undefined : `${name}\n${text}`));
  matching.where((one, other) => loose(one, other) && one.id !== undefined && one.id === other.id);
  matching.where(
    (one, other) =>
      loose(one, other) && (one.name === undefined || other.name === undefined || one.name === other.name),
  );
  return matching.matches;
}

function matcher(entries: readonly Identity[], items: readonly Identity[]) {
  const matches: Matches = entries.map(() => undefined);
  const free = new Set(items.keys());

  const take = (entry: number, item: number | undefined): void => {
    if (item === undefined) return;
    matches[entry] = item;
    free.delete(item);
  };
  const unmatched = (): number[] => [...entries.keys()].filter((entry) => matches[entry] === undefined);

  return {
    matches,
    /** By equal keys, looked up: comparing each with each would take the product of their lengths. */
    byKey(keyOf: (identity: Identity) => string | undefined): void {
      const places = new Map<string, number[]>();
      for (const place of free) {
        const item = items[place];
        const key = item === undefined ? undefined : keyOf(item);
        if (key !== undefined) places.set(key, [...(places.get(key) ?? []), place]);
      }
      for (const entry of unmatched()) {
        const one = entries[entry];
        const key = one === undefined ? undefined : keyOf(one);
        if (key !== undefined) take(entry, places.get(key)?.shift());
      }
    },
    where(fits: (entry: Identity, item: Identity) => boolean): void {
      for (const entry of unmatched()) {
        const one = entries[entry];
        const found = [...free].find((place) => {
          const item = items[place];
          return one !== undefined && item !== undefined && fits(one, item);
        });
        take(entry, found);
      }
    },
    inOrder(): void {
      const rest = unmatched();
      const places = [...free].slice(Math.max(0, free.size - rest.length));
      for (const [index, place] of places.entries()) take(rest[index] ?? 0, place);
    },
  };
}
