// Bundles the Worker once, for all servers of the tests that follow.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { bundleWorker } from "./bare-workerd.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of the Worker's bundle. */
    workerBundle: string;
  }
}

let folder: string | undefined;

export async function setup(project: TestProject): Promise<void> {
  folder = mkdtempSync(path.join(tmpdir(), "holdfast-bundle-"));
  const file = path.join(folder, "worker.js");
  await bundleWorker(file);
  project.provide("workerBundle", file);
}

export function teardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
