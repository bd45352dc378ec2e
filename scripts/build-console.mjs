// Builds the web console into dist/console: one bundled script, the page, its style, its icon and the response headers that
// Workers static assets send with them. Files that have not changed are not written, so a running `wrangler dev` stays calm.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const source = new URL("../src/console/", import.meta.url);
const target = new URL("../dist/console/", import.meta.url);
const copied = ["index.html", "style.css", "chat.css", "ask.css", "icon.svg"];

const headers = `/*
  Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
  X-Content-Type-Options: nosniff
  Referrer-Policy: no-referrer
  Cross-Origin-Opener-Policy: same-origin
`;

const writeIfChanged = async (name, text) => {
  const file = new URL(name, target);
  const standing = await readFile(file, "utf8").catch(() => undefined);
  if (standing !== text) await writeFile(file, text);
};

const bundled = await build({
  entryPoints: [fileURLToPath(new URL("main.ts", source))],
  bundle: true,
  write: false,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
});
const script = bundled.outputFiles[0].text;

await mkdir(target, { recursive: true });
await writeIfChanged("main.js", script);
await writeIfChanged("_headers", headers);
for (const name of copied) await writeIfChanged(name, await readFile(new URL(name, source), "utf8"));

console.log(`console: ${copied.length + 1} files and _headers in dist/console, script ${script.length} bytes`);
