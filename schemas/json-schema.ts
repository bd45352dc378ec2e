// The shape of a JSON Schema of an object, as far as every provider asks for it. Judges no data by it.
import type { JsonRecord } from "./json.ts";

const typeNames: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
/** Keywords that hold one schema, a list of them, and a schema under each name. */
const single = [
  "additionalProperties",
  "additionalItems",
  "contains",
  "not",
  "if",
  "then",
  "else",
  "propertyNames",
] as const;
const listed = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
/** Keywords that hold text. */
const texts = ["$ref", "$schema", "$id", "title", "description", "pattern", "format"] as const;
const named = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"] as const;

type Place = { value: unknown; path: string };

/**
 * The schema of a tool's input, which is an object: what leaves out `type` gets it. Else the first place (JSON pointer) that
 * is not as it must be.
 */
export function objectSchema(value: unknown): { schema: JsonRecord } | { fault: string } {
  if (!isRecord(value)) return { fault: "" };
  const { type = "object" } = value;
  if (type !== "object") return { fault: "/type" };
  const open: Place[] = [{ value, path: "" }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (typeof place.value === "boolean") continue;
    if (!isRecord(place.value)) return { fault: place.path };
    const fault = keywordFault(place.value);
    if (fault !== undefined) return { fault: place.path + fault };
    open.push(...inner(place.value, place.path));
  }
  return { schema: { properties: {}, ...value, type } };
}

function keywordFault(schema: JsonRecord): string | undefined {
  const { type, required, enum: values } = schema;
  const types = Array.isArray(type) ? asArray(type) : [type];
  if (types.length === 0 || (type !== undefined && !types.every((name) => typeNames.has(name)))) return "/type";
  if (required !== undefined && !isNames(required)) return "/required";
  if (values !== undefined && !Array.isArray(values)) return "/enum";
  const list = listed.find((keyword) => schema[keyword] !== undefined && asArray(schema[keyword]).length === 0);
  const group = named.find((keyword) => schema[keyword] !== undefined && !isRecord(schema[keyword]));
  const text = texts.find((keyword) => schema[keyword] !== undefined && typeof schema[keyword] !== "string");
  const found = list ?? group ?? text;
  return found === undefined ? undefined : `/${found}`;
}

const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === "string");

function inner(schema: JsonRecord, path: string): Place[] {
  const { items } = schema;
  const places: Place[] = single.map((keyword) => ({ value: schema[keyword], path: `${path}/${keyword}` }));
  if (Array.isArray(items)) places.push(...items.map((value, index) => ({ value, path: `${path}/items/${index}` })));
  else places.push({ value: items, path: `${path}/items` });
  for (const keyword of listed) {
    places.push(...asArray(schema[keyword]).map((value, index) => ({ value, path: `${path}/${keyword}/${index}` })));
  }
  for (const keyword of named) {
    const group = schema[keyword];
    for (const [name, value] of Object.entries(isRecord(group) ? group : {})) {
      places.push({ value, path: `${path}/${keyword}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}` });
    }
  }
  return places.filter(({ value }) => value !== undefined).reverse();
}

const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
