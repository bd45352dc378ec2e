// What a small durable write costs on the disk that the servers store on: the floor under everything that is kept before it is
// shown. It deletes what it wrote.
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { median } from "./statistics.ts";

const WRITES = 30;

/** Median milliseconds of a 4 KiB write and its fsync. */
export function syncCost(): number {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-bench-"));
  const file = openSync(path.join(folder, "written"), "w");
  try {
    const times = Array.from({ length: WRITES }, () => {
      const begun = performance.now();
      writeSync(file, Buffer.alloc(4096));
      fsyncSync(file);
      return performance.now() - begun;
    });
    return median(times);
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true, force: true });
  }
}
