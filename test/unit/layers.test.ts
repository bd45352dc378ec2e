// The layer test: holds the import lines of every source file, types included, against one table of who may see whom.
// It reads text only and never loads a module, so nothing that a bundler would drop is missed.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const shapes = ["schemas/", "valibot"];
const adapters = [...shapes, "src/wire/"];
const shell = [
  ...adapters,
  "src/run/",
  "src/chat/",
  "src/thread/",
  "src/text/",
  "src/kebab/",
  "src/providers/",
  "src/dialects/",
];

/** A file belongs to the row its path starts with. `may` and `mayType` (type-only imports) are prefixes of paths and packages. */
const layers: readonly { folder: string; may: readonly string[]; mayType?: readonly string[] }[] = [
  { folder: "schemas/", may: shapes },
  { folder: "src/run/", may: [...shapes, "src/run/"] },
  { folder: "src/wire/", may: [...shapes, "src/wire/"] },
  { folder: "src/chat/", may: [...adapters, "src/chat/"] },
  { folder: "src/thread/", may: [...adapters, "src/thread/"] },
  { folder: "src/text/", may: [...adapters, "src/text/", "htmlparser2"] },
  { folder: "src/kebab/", may: [...adapters, "src/text/", "src/kebab/", "src/run/utf8.ts"] },
  { folder: "src/providers/", may: [...adapters, "src/providers/", "aws4fetch"] },
  { folder: "src/dialects/", may: [...adapters, "src/thread/", "src/kebab/", "src/dialects/"] },
  {
    folder: "src/http/",
    may: [...shell, "src/http/", "itty-router", "@valibot/to-json-schema", "holdfast.config.json", "dist/console.json"],
  },
  {
    folder: "durable-objects/tools/",
    may: [...shell, "durable-objects/", "@modelcontextprotocol/sdk/"],
  },
  { folder: "durable-objects/", may: [...shell, "durable-objects/", "cloudflare:"] },
  { folder: "src/client/", may: ["src/wire/", "src/client/"], mayType: ["schemas/"] },
  { folder: "src/console/", may: ["src/wire/", "src/client/", "src/console/"], mayType: ["schemas/"] },
  { folder: "src/worker.ts", may: [""] },
  // The bindings: where the edge gets the objects' types from, since it may not import them.
  { folder: "src/env.d.ts", may: ["durable-objects/"] },
];

/** What only some files may say: `pattern` is refused in the files of `within`, except those of `home`. */
const bans = [
  {
    what: "a clock, randomness, a timer or fetch",
    pattern:
      /\b(Date|crypto|performance|scheduler|setTimeout|setInterval)\b|\bfetch\(|Math\.random|AbortSignal\.timeout/,
    within: /^src\/(run|wire|chat|thread|text|kebab)\//,
    home: undefined,
  },
  {
    what: "SQL",
    pattern: /\bsql\.exec\b|\.exec(<[^(]*>)?\(\s*["'`]/,
    within: /^/,
    home: /^durable-objects\/(run-log[\w-]*|tenant-object|throttle-store|report-store|forgotten-runs|visitor-(store|tables|items|undo)|thread-(store|run-store|state|texts|entries|records|tallies|feedback|producers)|collection-(store|tables|terms|vectors)|ingest-notes|migrations([/-].*)?)\.ts$/,
  },
  {
    what: "a status code other than 200, 201, 202 and 204",
    pattern: /\bstatus:\s*(?!20[0124]\b)\d{3}\b/,
    within: /^(src\/http|durable-objects)\/|^src\/worker\.ts$/,
    home: /^src\/http\/(problem|dialects\/[a-z]+\/problem)\.ts$/,
  },
];

const fromOrImport = /(?:^\s*(?:import|export)\s+(type\b)?[^;"'`]*?\bfrom|\bimport)\s*\(?\s*["']([^"'\n]+)["']/gm;
const quoted = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g;
const quotedOrComment = new RegExp(`(${quoted.source}|\`(?:\\\\.|[^\`\\\\])*\`)|//[^\\n]*|/\\*[^]*?\\*/`, "g");

function violations(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [file, source] of files) {
    const code = source.replace(quotedOrComment, "$1");
    const layer = layers.find(({ folder }) => file.startsWith(folder));
    if (layer === undefined) found.push(`${file} is in no layer`);
    for (const [, type, target] of importsOf(file, code)) {
      const allowed = [...(layer?.may ?? []), ...(type === undefined ? [] : (layer?.mayType ?? []))];
      if (!allowed.some((prefix) => target.startsWith(prefix))) found.push(`${file} imports ${target}`);
      graph.set(file, [...(graph.get(file) ?? []), target]);
    }
    for (const { what, pattern, within, home } of bans) {
      const refused = within.test(file) && home?.test(file) !== true && pattern.test(code.replace(quoted, '""'));
      if (refused) found.push(`${file} has ${what}`);
    }
  }
  return [...found, ...cyclesOf(graph)];
}

function importsOf(file: string, code: string): (readonly [string, string | undefined, string])[] {
  return [...code.matchAll(fromOrImport)].map(([line, type, name = ""]) => {
    return [line, type, name.startsWith(".") ? path.posix.join(path.posix.dirname(file), name) : name] as const;
  });
}

function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const seen = new Set<string>();
  const walk = (file: string, trail: readonly string[]): string[] => {
    if (trail.includes(file)) return [`cycle: ${[...trail.slice(trail.indexOf(file)), file].join(" > ")}`];
    if (seen.has(file)) return [];
    seen.add(file);
    return (graph.get(file) ?? []).flatMap((next) => walk(next, [...trail, file]));
  };
  return [...graph.keys()].flatMap((file) => walk(file, []));
}

function sourceFiles(): Map<string, string> {
  const root = path.resolve(import.meta.dirname, "../..");
  const files = ["schemas", "src", "durable-objects"].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      .map((name) => path.posix.join(folder, name.split(path.sep).join("/")))
      .filter((name) => name.endsWith(".ts")),
  );
  return new Map(files.map((file) => [file, readFileSync(path.join(root, file), "utf8")]));
}

test("imports point down only, without cycles, and clocks, SQL and status codes stay in their place", () => {
  const files = sourceFiles();
  expect(violations(files)).toEqual([]);
  expect([...files.keys()]).toContain("src/worker.ts");
});

test.each([
  ["schemas/run.ts", 'import { x } from "../src/run/state.ts";', "imports src/run/state.ts"],
  ["src/run/state.ts", 'import type {\n  Frame,\n} from "../wire/stage.ts";', "imports src/wire/stage.ts"],
  ["src/run/state.ts", 'export * from "../../durable-objects/run-log.ts";', "imports durable-objects/run-log.ts"],
  ["src/wire/stage.ts", 'type T = import("../run/state.ts").T;', "imports src/run/state.ts"],
  ["src/wire/stage.ts", "const at = Date.now();", "has a clock, randomness, a timer or fetch"],
  ["src/run/state.ts", 'const a = "//"; const id = crypto.randomUUID();', "has a clock, randomness, a timer or fetch"],
  ["src/run/state.ts", "const text = `${Math.random()}`;", "has a clock, randomness, a timer or fetch"],
  ["src/providers/gemini.ts", 'import { kebab } from "../dialects/kebab.ts";', "imports src/dialects/kebab.ts"],
  ["src/dialects/kebab.ts", 'import "cloudflare:workers";', "imports cloudflare:workers"],
  [
    "src/http/router.ts",
    'const { log } = await import("../../durable-objects/run-log.ts");',
    "imports durable-objects/run-log.ts",
  ],
  ["src/http/router.ts", 'ctx.storage.sql.exec("SELECT 1");', "has SQL"],
  ["durable-objects/run-object.ts", "this.#db.exec<Row>(`SELECT 1`);", "has SQL"],
  [
    "src/http/router.ts",
    'return new Response("", { status: 404 });',
    "has a status code other than 200, 201, 202 and 204",
  ],
  ["durable-objects/viewers.ts", 'import { problem } from "../src/http/problem.ts";', "imports src/http/problem.ts"],
  ["src/client/client.ts", 'import { schema } from "../../schemas/run.ts";', "imports schemas/run.ts"],
  ["src/console/main.ts", 'import { route } from "../http/router.ts";', "imports src/http/router.ts"],
  ["src/helper.ts", "", "is in no layer"],
])("refuses in %s: %s", (file, source, reason) => {
  expect(violations(new Map([[file, source]]))).toEqual([`${file} ${reason}`]);
});

test("the command imports nothing but Node and itself", () => {
  const folder = path.resolve(import.meta.dirname, "../../bin");
  const files = readdirSync(folder).filter((name) => name.endsWith(".mjs"));
  const imported = files.flatMap((name) =>
    [...readFileSync(path.join(folder, name), "utf8").matchAll(/(?:from|import|import\() ?"([^"]+)"/g)].map(
      ([, from = ""]) => from,
    ),
  );
  expect(imported).toContain("./ask.mjs");
  expect(imported.filter((from) => !/^node:|^\.\/[a-z-]+\.mjs$/.test(from))).toEqual([]);
});

test("refuses a cycle, of types too", () => {
  const cycle = new Map([
    ["src/run/a.ts", 'import type { B } from "./b.ts";'],
    ["src/run/b.ts", 'import { c } from "./c.ts";'],
    ["src/run/c.ts", 'export { a } from "./a.ts";'],
  ]);
  expect(violations(cycle)).toEqual(["cycle: src/run/a.ts > src/run/b.ts > src/run/c.ts > src/run/a.ts"]);
});

test("lets pass what the table allows, and does not read comments or strings as code", () => {
  const fine = new Map([
    ["src/run/state.ts", '// Date.now() is not used\n/* import "cloudflare:workers" */ const name = "Date";'],
    ["src/client/client.ts", 'import type { Outcome } from "../../schemas/outcome.ts";'],
    ["durable-objects/run-log.ts", 'sql.exec("SELECT 1");'],
    ["src/http/problem.ts", "const answer = { status: 404 };"],
    ["src/worker.ts", 'import { RunObject } from "../durable-objects/run-object.ts";'],
  ]);
  expect(violations(fine)).toEqual([]);
});
