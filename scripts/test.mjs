// `npm test`: sets the checkout and Chromium up and runs all tests; further words go to vitest.
// Never asks a question: what it cannot set up itself it names in one line.
import path from "node:path";
import { ensureChromium } from "./chromium.mjs";
import { runToEnd } from "./run-to-end.mjs";
import { node, root, setUp, toolEnvironment } from "./setup.mjs";

process.exitCode = await test(process.argv.slice(2));

async function test(args) {
  const fault = setUp();
  if (fault !== undefined) return stop(fault);
  const chromium = ensureChromium(process.env);
  if (chromium.fault !== undefined) return stop(chromium.fault);

  const options = { cwd: root, env: { ...toolEnvironment(), CHROMIUM_PATH: chromium.file } };
  return runToEnd(node, [path.join(root, "node_modules", "vitest", "vitest.mjs"), "run", ...args], options);
}

function stop(line) {
  console.error(line);
  return 1;
}
