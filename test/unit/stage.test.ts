// Stages put together, and as streams.
import { expect, test } from "vitest";
import { compose, toTransformStream, type Stage } from "../../src/wire/stage.ts";
import { sseReader, type SseItem } from "../../src/wire/sse-reader.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

/** Pairs numbers up; a single one is left for the end. */
function pairs(): Stage<number, string> {
  let held: number | undefined;
  return {
    feed(input) {
      if (held === undefined) {
        held = input;
        return [];
      }
      const pair = `${held}+${input}`;
      held = undefined;
      return [pair];
    },
    end: () => (held === undefined ? ["even"] : [`${held}`, "odd"]),
  };
}

function counter(): Stage<string, string> {
  let count = 0;
  return { feed: (input) => [`${++count}:${input}`, "."], end: () => [`total ${count}`] };
}

test("R-PROV-2 two stages in one: what the first gives goes through the second at once, and the ends come in order", () => {
  const stage = compose(pairs(), counter());
  expect(stage.feed(1)).toEqual([]);
  expect(stage.feed(2)).toEqual(["1:1+2", "."]);
  expect(stage.feed(3)).toEqual([]);
  expect(stage.end()).toEqual(["2:3", ".", "3:odd", ".", "total 3"]);
});

test("R-PROV-2 a stage as a stream gives the same, the end included", async () => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const packet of ["data: a\n", "\ndata: b\n\ndata: c\n\n", "data: d"]) controller.enqueue(toBytes(packet));
      controller.close();
    },
  });
  const items: SseItem[] = [];
  for await (const item of body.pipeThrough(toTransformStream(sseReader(100)))) items.push(item);
  expect(items).toEqual([{ data: "a" }, { data: "b" }, { data: "c" }, { data: "d", residue: true }]);
});
