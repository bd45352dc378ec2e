// The published schemas of kebab, in every revision, where they are at hand: in the folder that HOLDFAST_CONTRACTS names, else in
// `shared` beside the checkout. Without them nothing is held against them; our own schemas are held against every answer all the same.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

const root = path.resolve(import.meta.dirname, "../..");
/** Schemas and samples; it need not be there. */
export const kebabFixtures = path.resolve(
  process.env["HOLDFAST_CONTRACTS"] ?? path.join(root, "../shared"),
  "fixtures/kebab",
);
const revisions = existsSync(kebabFixtures)
  ? readdirSync(kebabFixtures).filter((name) => name.startsWith("schemas"))
  : [];
const known = new Map<string, ValidateFunction[]>();

export type Published = "answer" | "answer_event" | "citation" | "error" | "schema" | "search_hit" | "search_response";

/** What is wrong with a value as the published schemas have it; `undefined` when nothing is, or none is at hand. */
export function publishedFault(name: Published, value: unknown): string | undefined {
  const faulty = validatorsOf(name).find((validate) => !validate(value));
  return faulty === undefined ? undefined : JSON.stringify(faulty.errors);
}

/** One for each revision that has a schema of this name; they share their ids. */
function validatorsOf(name: Published): ValidateFunction[] {
  const made =
    known.get(name) ??
    revisions
      .map((revision) => path.join(kebabFixtures, revision, `${name}.schema.json`))
      .filter((file) => existsSync(file))
      .map(compiled);
  known.set(name, made);
  return made;
}

function compiled(file: string): ValidateFunction {
  const schema: object = JSON.parse(readFileSync(file, "utf8"));
  const formats = { "date-time": (text: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) };
  return new Ajv2020({ strict: false, allErrors: true, formats }).compile(schema);
}
