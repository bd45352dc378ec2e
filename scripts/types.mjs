// `npm run types`: type-checks each part of the tree under the settings of the runtime it is for (workerd, browser, Node).
// Never emits.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { root } from "./setup.mjs";

const configs = ["tsconfig.json", "src/console/tsconfig.json", "test/tsconfig.json"].filter((file) =>
  existsSync(path.join(root, file)),
);
const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
const failed = configs.filter((file) => {
  console.log(`tsc -p ${file}`);
  return spawnSync(process.execPath, [tsc, "--noEmit", "-p", file], { cwd: root, stdio: "inherit" }).status !== 0;
});
process.exitCode = failed.length === 0 ? 0 : 1;
