// Builds the web console into dist/console.json, which the Worker holds and serves: by path, each file's media type, its entity
// tag and its text. A record that has not changed is not written, so a running `wrangler dev` stays calm.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { writeWhole } from "./write-whole.mjs";

const source = new URL("../src/console/", import.meta.url);
const target = new URL("../dist/console.json", import.meta.url);
const copied = ["index.html", "style.css", "chat.css", "ask.css", "icon.svg"];
const types = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
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

const texts = { "main.js": script };
for (const name of copied) texts[name] = await readFile(new URL(name, source), "utf8");
const files = Object.entries(texts).map(([name, text]) => {
  const etag = `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`;
  return [`/${name}`, { type: types[path.extname(name)], etag, text }];
});

await writeWhole(fileURLToPath(target), JSON.stringify(Object.fromEntries(files)));

console.log(`console: ${files.length} files in dist/console.json, script ${script.length} bytes`);
