// Checks the Worker that `npm run build:dry` has built: Ajv is not in it. Reads esbuild's record of the bundle, builds nothing.
import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "./setup.mjs";

// The MCP SDK brings it, and it makes code at run time, which the platform refuses. `[alias]` in wrangler.toml keeps it out.
const unwanted = /(^|\/)node_modules\/(ajv|ajv-formats)\//;

const record = JSON.parse(readFileSync(path.join(root, "dist/worker/bundle-meta.json"), "utf8"));
const bundled = Object.values(record.outputs)
  .flatMap(({ inputs }) => Object.entries(inputs))
  .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  .map(([file]) => file);
const found = bundled.filter((file) => unwanted.test(file));

if (bundled.length === 0) fail("the record of the bundle names no file");
else if (found.length > 0)
  fail(`Ajv is in it (${found.length} files, the first is ${found[0]}); see [alias] in wrangler.toml`);
else console.log(`The Worker's bundle: ${bundled.length} files, without Ajv.`);

function fail(fault) {
  console.error(`The Worker's bundle: ${fault}.`);
  process.exitCode = 1;
}
