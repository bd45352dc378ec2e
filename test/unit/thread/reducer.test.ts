// What messages make of a thread's state: the reducer, beside a plain list.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LangMessage } from "../../../schemas/thread.ts";
import { changesOf, type Change } from "../../../src/thread/reducer.ts";

const message = (id: string, content = ""): LangMessage => ({ type: "human", id, content });
const removal = (id: string): LangMessage => ({ type: "remove", id });

/** The state after these changes: what a store makes of them. */
function applied(state: readonly LangMessage[], changes: readonly Change[]): LangMessage[] {
  return changes.reduce<LangMessage[]>(
    (all, change) => {
      if (change.change === "removed") return all.filter(({ id }) => id !== change.id);
      if (change.change === "added") return [...all, change.message];
      return all.map((one) => (one.id === change.message.id ? change.message : one));
    },
    [...state],
  );
}

/** One message after the other, as LangGraph's own list has them; `undefined` where one removes what was never there. */
function oneByOne(state: readonly LangMessage[], incoming: readonly LangMessage[]): LangMessage[] | undefined {
  const all = [...state];
  const removed = new Set<string>();
  for (const one of incoming) {
    const at = all.findIndex(({ id }) => id === one.id);
    if (one.type === "remove") {
      if (at < 0) return undefined;
      removed.add(one.id);
    } else {
      removed.delete(one.id);
      all.splice(at < 0 ? all.length : at, 1, one);
    }
  }
  return all.filter(({ id }) => !removed.has(id));
}

const id = fc.constantFrom("a", "b", "c", "d", "e");
const incoming = fc.array(
  fc.oneof(
    fc.tuple(id, fc.nat(9)).map(([name, text]) => message(name, String(text))),
    id.map((name) => removal(name)),
  ),
  { maxLength: 8 },
);
const states = fc.uniqueArray(id).map((names) => names.map((name) => message(name)));

describe("the reducer", () => {
  it("R-THR-11 makes the same of messages at once as of one after the other", () => {
    fc.assert(
      fc.property(states, incoming, (state, given) => {
        const reduced = changesOf(given, (name) => state.some((one) => one.id === name));
        const expected = oneByOne(state, given);
        expect(reduced.ok ? applied(state, reduced.changes) : undefined).toEqual(expected);
      }),
    );
  });

  it("R-THR-11 names the message that removes what is not there", () => {
    const reduced = changesOf([message("a"), removal("b")], () => false);
    expect(reduced).toEqual({
      ok: false,
      index: 1,
      message: "Attempting to delete a message with an ID that doesn't exist ('b')",
    });
  });
});
