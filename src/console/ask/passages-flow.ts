// Which sources are open, and the lines read for them. Each is read once, when it is opened first.
import type { KebabApi } from "./kebab-api.ts";
import { type Passage, passageFailed, passageOf } from "./passage.ts";
import type { Source } from "./sources.ts";

export type PassagesFlow = {
  /** Of an open source; undefined: it is closed. */
  readonly of: (number: number) => Passage | undefined;
  readonly open: (source: Source, collection: string) => void;
  readonly close: (number: number) => void;
  readonly closeAll: () => void;
};

export const createPassagesFlow = (api: KebabApi, draw: () => void): PassagesFlow => {
  let open = new Map<number, Passage>();

  const read = async (source: Source, collection: string, mine: typeof open): Promise<void> => {
    const answer = await api.lines(collection, source.docPath, source.first, source.last);
    if (mine !== open || !open.has(source.number)) return;
    open.set(source.number, answer.ok ? passageOf(answer.value, source) : passageFailed(answer.problem));
    draw();
  };

  return {
    of: (number) => open.get(number),
    open: (source, collection) => {
      const before = open.get(source.number);
      if (before !== undefined && before.kind !== "failed") return;
      open.set(source.number, { kind: "reading" });
      draw();
      read(source, collection, open).catch(reportError);
    },
    close: (number) => {
      open.delete(number);
      draw();
    },
    closeAll: () => {
      open = new Map();
      draw();
    },
  };
};
