// Every clause of PROTOCOL.md and of the dialects' documents has a test whose title begins with its id, and no title names
// a clause that is not there. Reads text only.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

const clausesOf = (protocol: string): string[] =>
  [...protocol.matchAll(/\*\*(R-[A-Z]+-\d+)\*\*/g)].map(([, id = ""]) => id);

const comment = /\/\/[^\n]*|\/\*[^]*?\*\//y;
const literal = /"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'|`((?:\\.|[^`\\])*)`/y;
const leadingIds = /^R-[A-Z]+-\d+(?:[\s,]+R-[A-Z]+-\d+)*(?=$|[\s,:])/;

/** Clause ids at the beginning of string literals: titles, and the columns of tables that titles are made of. */
function idsIn(source: string): string[] {
  const ids: string[] = [];
  for (let at = 0; at < source.length;) {
    comment.lastIndex = at;
    literal.lastIndex = at;
    const passed = comment.exec(source);
    const text = passed === null ? literal.exec(source) : null;
    if (text !== null)
      ids.push(...(leadingIds.exec(text[1] ?? text[2] ?? text[3] ?? "")?.[0].match(/R-[A-Z]+-\d+/g) ?? []));
    at += (passed ?? text)?.[0].length ?? 1;
  }
  return ids;
}

function testFiles(): string[] {
  return readdirSync(path.join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => !name.split(path.sep).includes("node_modules"))
    .filter((name) => name.endsWith(".test.ts") && path.basename(name) !== "clauses.test.ts")
    .map((name) => path.join(root, "test", name));
}

function documents(): string[] {
  const dialects = readdirSync(path.join(root, "docs/dialects")).filter((name) => name.endsWith(".md"));
  return ["PROTOCOL.md", ...dialects.map((name) => path.join("docs/dialects", name))];
}

const clauses = documents().flatMap((file) => clausesOf(readFileSync(path.join(root, file), "utf8")));
const named = new Map(testFiles().map((file) => [path.relative(root, file), idsIn(readFileSync(file, "utf8"))]));

test("every clause stands once, in one document", () => {
  expect(clauses.length).toBeGreaterThan(0);
  expect(clauses.filter((id, index) => clauses.indexOf(id) !== index)).toEqual([]);
});

test("every clause has a test that names it", () => {
  const proven = new Set([...named.values()].flat());
  expect(clauses.filter((id) => !proven.has(id))).toEqual([]);
});

test("no test names a clause that no document has", () => {
  const unknown = [...named].flatMap(([file, ids]) =>
    ids.filter((id) => !clauses.includes(id)).map((id) => `${file}: ${id}`),
  );
  expect(unknown).toEqual([]);
});

test.each([
  ['test("R-LOG-1 is dense", () => {});', ["R-LOG-1"]],
  ['test("R-LOG-1 R-LOG-2, R-OUT-3 hold", run);', ["R-LOG-1", "R-LOG-2", "R-OUT-3"]],
  ["test.each(rows)(`R-LOG-1 ${name}`, run);", ["R-LOG-1"]],
  ['const rows = [["R-FALL-2", "falls back"]];', ["R-FALL-2"]],
  ['test("is dense, see R-LOG-1", run);', []],
  ['// "R-LOG-1 is dense"\n/* test("R-LOG-2 too") */', []],
  ['test("R-LOG-1x is dense", run);', []],
  ['const url = "http://x"; test("R-LOG-1 is dense", run);', ["R-LOG-1"]],
])("reads %j", (source, ids) => {
  expect(idsIn(source)).toEqual(ids);
});
