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

test("R-SVC-17 when that is not enough texts are cut, with a mark", () => {
  const end = ending("r", [step("x".repeat(8000)), step("y".repeat(8000), call("a"))], { reasoning: '"'.repeat(9000) });
  const fitting = fitTurnEnd(end, 10_000);
  expect(size(fitting)).toBeLessThanOrEqual(10_000);
  expect(fitting.text).toMatch(/^x+\n\[cut: longer than \d+ characters\]$/);
  expect(fitting.steps[1]?.calls).toEqual(end.steps[1]?.calls);
});
