// Whether a value is a JSON Schema of an object, as far as a model provider would look: one that refuses a tool's schema refuses the
// whole request. Judges the schema only, never a value by it.
import type { JsonRecord } from "../../schemas/json.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { isRecord } from "./json-values.ts";

const types = ["object", "array", "string", "number", "integer", "boolean", "null"];
/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const single = ["additionalProperties", "additionalItems", "contains", "propertyNames", "not", "if", "then", "else"];
const lists = ["allOf", "anyOf", "oneOf", "prefixItems"];
const named = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const texts = ["$ref", "$schema", "$id", "title", "description", "pattern", "format"];

/** A JSON Schema whose instances are objects. */
export function isObjectSchema(value: unknown): value is JsonRecord {
  if (!isRecord(value) || depthOf(value, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) return false;
  return (value["type"] === undefined || value["type"] === "object") && isSchema(value);
}

function isSchema(value: unknown): boolean {
  if (typeof value === "boolean") return true;
  if (!isRecord(value)) return false;
  return Object.entries(value).every(([keyword, inner]) => {
    if (keyword === "type") return isType(inner);
    if (keyword === "items") return Array.isArray(inner) ? inner.every(isSchema) : isSchema(inner);
    if (keyword === "required") return Array.isArray(inner) && inner.every((name) => typeof name === "string");
    if (keyword === "enum") return Array.isArray(inner);
    if (single.includes(keyword)) return isSchema(inner);
    if (lists.includes(keyword)) return Array.isArray(inner) && inner.length > 0 && inner.every(isSchema);
    if (named.includes(keyword)) return isRecord(inner) && Object.values(inner).every(isSchema);
    return !texts.includes(keyword) || typeof inner === "string";
  });
}

function isType(value: unknown): boolean {
  if (Array.isArray(value))
    return value.length > 0 && value.every((one) => typeof one === "string" && types.includes(one));
  return typeof value === "string" && types.includes(value);
}
