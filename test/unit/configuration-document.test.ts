// The documents of the configuration, held against the schema that reads it.
import { readFileSync } from "node:fs";
import { toJsonSchema } from "@valibot/to-json-schema";
import { expect, test } from "vitest";
import { configSchema } from "../../schemas/config.ts";
import { checkConfig } from "../../src/run/settings.ts";

interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  default?: unknown;
}

/** Every field that holds no further fields, with its default; `[]` stands for an entry of a list, `NAME` for a name that is free. */
function* fieldsOf(schema: Schema, at: string): Generator<[field: string, fallback: string | undefined]> {
  const inner: [string, Schema][] = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    at === "" ? name : `${at}.${name}`,
    field,
  ]);
  if (typeof schema.additionalProperties === "object" && isBranch(schema.additionalProperties)) {
    inner.push([`${at}.NAME`, schema.additionalProperties]);
  }
  if (schema.items !== undefined && isBranch(schema.items)) inner.push([`${at}[]`, schema.items]);
  for (const [name, field] of inner) yield* fieldsOf(field, name);
  const branches = (schema.anyOf ?? []).filter(isBranch);
  for (const branch of branches) yield* fieldsOf(branch, at);
  if (inner.length + branches.length > 0) return;
  yield [at, schema.default === undefined ? undefined : JSON.stringify(schema.default)];
}

const isBranch = ({ properties, additionalProperties, items, anyOf = [] }: Schema): boolean =>
  properties !== undefined ||
  (typeof additionalProperties === "object" && isBranch(additionalProperties)) ||
  (items !== undefined && isBranch(items)) ||
  anyOf.some(isBranch);

/** The rows of the tables below headings for which `prefixOf` has a word: the field, and what stands as its default. */
function rowsOf(document: string, prefixOf: (heading: string) => string | undefined): [string, string][] {
  let prefix: string | undefined;
  return readFileSync(new URL(`../../docs/${document}`, import.meta.url), "utf8")
    .split("\n")
    .flatMap((line): [string, string][] => {
      const heading = /^#+ (.*)$/.exec(line)?.[1];
      if (heading !== undefined) prefix = prefixOf(heading);
      const [, field, fallback] = /^\| `([\w.]+)` \| ([^|]+) \|/.exec(line) ?? [];
      return prefix === undefined || field === undefined ? [] : [[`${prefix}.${field}`, fallback ?? ""]];
    });
}

const fields = [...fieldsOf(Object(toJsonSchema(configSchema, { typeMode: "input", errorMode: "ignore" })), "")];
const ofTools: Record<string, string> = { "HTTP tools": "tools[]", "MCP servers": "mcpServers[]" };
const rows = [
  ...rowsOf("configuration.md", (heading) => /^`([\w.[\]]+)`$/.exec(heading)?.[1]),
  ...rowsOf("tools.md", (heading) => ofTools[heading]),
];

test("R-CONF-3 the documents name every field of the configuration, once, and no other", () => {
  const known = fields.map(([field]) => field).filter((field) => field !== "$schema");
  expect(known.length).toBeGreaterThan(60);
  expect(rows.map(([field]) => field).toSorted()).toEqual([...new Set(known)].toSorted());
});

test("R-CONF-3 the documents name the defaults that the configuration has", () => {
  const documented = new Map(rows);
  for (const [field, fallback] of fields) {
    if (fallback !== undefined) expect([field, documented.get(field)]).toEqual([field, `\`${fallback}\``]);
  }
});

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

test("R-CONF-3 the README's example is a valid configuration", () => {
  const example = /^```json\n([^]*?)^```/m.exec(readme)?.[1] ?? "";
  expect(checkConfig(JSON.parse(example))).toMatchObject({ ok: true });
});

test("R-CONF-3 the README names every part of the configuration and where it is described", () => {
  for (const part of Object.keys(configSchema.entries).filter((name) => name !== "$schema")) {
    expect(readme).toContain(`| \`${part}\` |`);
  }
  expect(readme).toContain("(docs/configuration.md)");
});
