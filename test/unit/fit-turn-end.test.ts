// Ends of turns that are too large to be told as they are.
import { expect, test } from "vitest";
import { fitTurnEnd } from "../../src/run/fit-turn-end.ts";
import { answeredBy, call, ending, step } from "./chats/entries.ts";

const size = (value: unknown): number => JSON.stringify(value).length;

test("R-SVC-17 the end of a turn that fits is told as it is", () => {
  const end = ending("r", [step("One", answeredBy(call("a"), "x".repeat(5000)))]);
  expect(fitTurnEnd(end, 10_000)).toBe(end);
});

test("R-SVC-17 outputs of a turn that is too large are cut, the oldest first; all calls and texts stay", () => {
  const links = { renderHint: "resource_links" as const, renderData: { links: ["x".repeat(5000)] } };
  const [carried, first] = [
    answeredBy(call("k"), "y".repeat(5000), { isError: true }),
    answeredBy(call("a"), [1], { ...links, outputJson: "[1.0]" }),
  ];
  const [second, open] = [answeredBy(call("b"), "z".repeat(5000)), call("c")];
  const end = ending("r", [step("One", first), step("Two", second, open)], { carried: [carried] });
  const fitting = fitTurnEnd(end, 10_000);
  expect(size(fitting)).toBeLessThanOrEqual(10_000);
  expect(fitting.carried).toEqual([
    { ...carried, result: { output: expect.stringMatching(/^y+\n\[cut: /), isError: true } },
  ]);
  expect(fitting.steps).toEqual([
    step("One", { ...first, result: { output: "[1.0]\n[cut: longer than 2048 bytes]" } }),
    end.steps[1],
  ]);
});

test("R-SVC-17 when that is not enough inputs are cut, the oldest first, but for those of calls that may yet be made", () => {
  const made = (id: string) => answeredBy(call(id, { input: { city: "x".repeat(9000), days: 3 } }), { ok: true });
  const open = call("k", { input: { city: "y".repeat(9000) }, confirmation: "required" });
  const end = ending("r", [step("One", made("a")), step("Two", made("b"), open)]);
  const fitting = fitTurnEnd(end, 22_000);
  expect(size(fitting)).toBeLessThanOrEqual(22_000);
  expect(fitting.steps).toEqual([
    step("One", {
      ...made("a"),
      input: { city: expect.stringMatching(/^x+\n\[cut: longer than 1024 bytes\]$/), days: 3 },
    }),
    end.steps[1],
  ]);
  expect(
    fitTurnEnd(end, 5000)
      .steps.flatMap(({ calls }) => calls)
      .at(-1),
  ).toEqual(open);
});

test("R-SVC-17 when that is not enough texts are cut, with a mark", () => {
  const end = ending("r", [step("x".repeat(8000)), step("y".repeat(8000), call("a"))], { reasoning: '"'.repeat(9000) });
  const fitting = fitTurnEnd(end, 10_000);
  expect(size(fitting)).toBeLessThanOrEqual(10_000);
  expect(fitting.text).toMatch(/^x+\n\[cut: longer than \d+ characters\]$/);
  expect(fitting.steps[1]?.calls).toEqual(end.steps[1]?.calls);
});
