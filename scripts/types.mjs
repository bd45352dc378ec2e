// `npm run types`: type-checks each part of the tree under the settings of the runtime it is for (workerd, browser, Node):
// one tsconfig.json per part. Never emits.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { root } from "./setup.mjs";

const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
const parts = ["src", "bin", "test", "bench"].filter((folder) => existsSync(path.join(root, folder)));
const configs = parts.flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true })
    .filter((name) => path.basename(name) === "tsconfig.json" && !name.split(path.sep).includes("node_modules"))
    .map((name) => path.join(folder, name)),
);

const failed = ["tsconfig.json", ...configs].filter((file) => {
  console.log(`tsc -p ${file}`);
  return spawnSync(process.execPath, [tsc, "--noEmit", "-p", file], { cwd: root, stdio: "inherit" }).status !== 0;
});
process.exitCode = failed.length === 0 ? 0 : 1;
