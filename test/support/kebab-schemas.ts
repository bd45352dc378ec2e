// The published schemas of kebab, where they are at hand: in the folder that HOLDFAST_CONTRACTS names, else in `shared` beside the
// checkout. Without them nothing is held against them; our own schemas are held against every answer all the same.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

const root = path.resolve(import.meta.dirname, "../..");
const folder = path.resolve(
  process.env["HOLDFAST_CONTRACTS"] ?? path.join(root, "../shared"),
  "fixtures/kebab/schemas",
);
const known = new Map<string, ValidateFunction>();

type Published = "answer" | "answer_event" | "citation" | "error" | "schema" | "search_hit" | "search_response";

/** What is wrong with a value as the published schema has it; `undefined` when nothing is, or the schema is not at hand. */
export function publishedFault(name: Published, value: unknown): string | undefined {
  const file = path.join(folder, `${name}.schema.json`);
  if (!existsSync(file)) return undefined;
  const validate = known.get(name) ?? compiled(file);
  known.set(name, validate);
  return validate(value) ? undefined : JSON.stringify(validate.errors);
}

function compiled(file: string): ValidateFunction {
  const schema: object = JSON.parse(readFileSync(file, "utf8"));
  const formats = { "date-time": (text: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) };
  return new Ajv2020({ strict: false, allErrors: true, formats }).compile(schema);
}
