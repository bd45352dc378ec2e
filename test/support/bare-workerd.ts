// The Worker as one module, and what a bare workerd is told to serve it: all bindings of wrangler.toml.
import { readFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

export const root = path.resolve(import.meta.dirname, "../..");

/** Bundles the Worker into a file, as wrangler does. */
export async function bundleWorker(outfile: string): Promise<void> {
  const without = path.join(root, "durable-objects/tools/no-ajv.ts");
  await build({
    entryPoints: [path.join(root, "src/worker.ts")],
    outfile,
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    alias: { ajv: without, "ajv-formats": without },
    external: ["cloudflare:*"],
    logLevel: "warning",
  });
}

/**
 * The configuration of a workerd that listens on the port. The bundle `worker.js` and the folder `objects` for its objects are
 * beside it. `vars`: text bindings by name.
 */
export function workerdConfig(port: number, vars: Readonly<Record<string, string>>): string {
  const wrangler = readFileSync(path.join(root, "wrangler.toml"), "utf8");
  const date = /^compatibility_date = "(.*)"$/m.exec(wrangler)?.[1];
  const objects = [...wrangler.matchAll(/^name = "(.*)"\nclass_name = "(.*)"$/gm)];
  const text = Object.entries(vars).map(([name, value]) => `(name = ${quoted(name)}, text = ${quoted(value)})`);
  const bindings = objects.map(([, name, type]) => `(name = "${name}", durableObjectNamespace = "${type}")`);
  const namespaces = objects.map(
    ([, name, type]) => `(className = "${type}", uniqueKey = "${name}", enableSql = true)`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "holdfast", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "${date}",
      bindings = [${[...text, ...bindings].join(", ")}],
      durableObjectNamespaces = [${namespaces.join(", ")}],
      durableObjectStorage = (localDisk = "objects"),
      globalOutbound = "loopback",
    )),
    (name = "objects", disk = (path = "objects", writable = true)),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "holdfast")],
);
`;
}

/** A text of Cap'n Proto's schema language: bytes of UTF-8, those that are no plain character escaped. */
function quoted(value: string): string {
  const bytes = [...Buffer.from(value)].map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, "0")}`,
  );
  return `"${bytes.join("")}"`;
}
