// `npm start`: sets the checkout up, then serves it with wrangler dev. Never builds or changes anything itself:
// the console is built by the [build] command of wrangler.toml, so plain `npx wrangler dev` serves the same.
import path from "node:path";
import { runToEnd } from "./run-to-end.mjs";
import { node, root, setUp, toolEnvironment } from "./setup.mjs";

const wrangler = path.join(root, "node_modules", "wrangler", "bin", "wrangler.js");
const given = process.argv.slice(2);

const fault = setUp();
if (fault === undefined) {
  // Named, so that a taken port is an error and not another port than the one printed here.
  const port = portOf(given);
  const args = ["dev", ...(port === undefined ? ["--port", "8787"] : []), ...given];
  console.log(`Holdfast serves its console at http://localhost:${port ?? 8787}/ as soon as wrangler is ready.`);
  process.exitCode = await runToEnd(node, [wrangler, ...args], { cwd: root, env: toolEnvironment() });
} else {
  console.error(fault);
  process.exitCode = 1;
}

function portOf(args) {
  const at = args.findIndex((arg) => arg === "--port" || arg.startsWith("--port="));
  if (at === -1) return undefined;
  return args[at] === "--port" ? args[at + 1] : args[at].slice("--port=".length);
}
