// Writes a file so that whoever reads it meanwhile gets the old text or the new one, never a part: a bundler may read it at any
// moment. Text that stands there already is not written again.
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/**
 * @param {string} file
 * @param {string} text
 */
export async function writeWhole(file, text) {
  const standing = await readFile(file, "utf8").catch(() => undefined);
  if (standing === text) return;
  await mkdir(path.dirname(file), { recursive: true });
  // Beside it, for a rename does not cross file systems; of a name of its own, for another build may run at the same time.
  const beside = `${file}.${randomUUID()}`;
  try {
    await writeFile(beside, text);
    await rename(beside, file);
  } finally {
    await rm(beside, { force: true });
  }
}
