// What the build of the console leaves for the bundler, read while it is written.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeWhole } from "../../scripts/write-whole.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-write-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const texts = ["a", "b"].map((letter) => letter.repeat(1_200_000));
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("R-PAGE-1 whoever reads the built console while builds write it gets one build's whole, and nothing else is left", async () => {
  const file = path.join(folder, "dist", "console.json");
  const [first = "", second = ""] = texts;
  await writeWhole(file, first);
  let live = true;
  const builds = async (): Promise<void> => {
    for (let round = 0; round < 4; round++) await Promise.all([writeWhole(file, second), writeWhole(file, first)]);
    live = false;
  };
  const seen = new Set<string>();
  const reads = async (): Promise<void> => {
    while (live) {
      seen.add(readFileSync(file, "utf8"));
      await nextTurn();
    }
  };
  await Promise.all([builds(), reads()]);
  expect([...seen].filter((text) => !texts.includes(text)).map((text) => text.length)).toEqual([]);
  expect(readdirSync(path.dirname(file))).toEqual(["console.json"]);
});

test("R-PAGE-1 a build that changes nothing leaves the file alone, so a running server is not reloaded", async () => {
  const file = path.join(folder, "same.json");
  await writeWhole(file, "same");
  const before = statSync(file);
  await writeWhole(file, "same");
  const after = statSync(file);
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
});
