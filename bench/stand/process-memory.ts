// Resident memory of a process as Linux counts it. Reads, and resets the peak; changes nothing else.
import { readFileSync, writeFileSync } from "node:fs";

export interface MemoryWatch {
  /** Resident when the watch began, MiB. */
  readonly before: number;
  /** Resident now, and the most that was resident since, MiB. */
  now(): number;
  peak(): number;
}

/** Begins anew: the peak counts from now on. */
export function watchMemory(pid: number): MemoryWatch {
  // 5 sets the peak ("high water mark") to what is resident now.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return { before: read(pid, "VmRSS"), now: () => read(pid, "VmRSS"), peak: () => read(pid, "VmHWM") };
}

function read(pid: number, field: "VmRSS" | "VmHWM"): number {
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/status has no ${field}`);
  return Number(kib) / 1024;
}
