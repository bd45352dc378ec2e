// Reads the JSON body of a DeerFlow request and holds it against a schema. What is wrong with it is told item by item.
import * as v from "valibot";
import { depthOf, MAX_JSON_DEPTH } from "../../../run/canonical.ts";
import { isRecord, parseJson } from "../../../wire/json.ts";
import { readJsonText } from "../../body.ts";
import { faultsOf, missing } from "./faults.ts";
import { deerFound, deerRefused, faulty, fromProblem, unprocessable, type DeerResult, type Fault } from "./problem.ts";

/** `empty`: what an empty body stands for; without it there must be one. `limit` in bytes. */
export async function readBody<S extends v.GenericSchema>(
  request: Request,
  schema: S,
  limit: number,
  empty?: v.InferInput<S>,
): Promise<DeerResult<v.InferOutput<S>>> {
  const text = await readJsonText(request, limit);
  if (!text.ok) return deerRefused(fromProblem(text.problem));
  if (text.value === undefined && empty === undefined) return deerRefused(faulty([missing(["body"], null)]));
  const parsed = text.value === undefined ? { value: empty } : parseJson(text.value);
  if (parsed === undefined) return deerRefused(faulty([notJson(text.value ?? "")]));
  const { value } = parsed;
  if (!isRecord(value)) return deerRefused(faulty([{ ...noObject, input: value }]));
  if (depthOf(value, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    return deerRefused(unprocessable(`The body is nested more than ${MAX_JSON_DEPTH} levels deep.`));
  }
  const held = v.safeParse(schema, value);
  return held.success ? deerFound(held.output) : deerRefused(faulty(faultsOf(held.issues, value)));
}

const noObject = {
  type: "model_attributes_type",
  loc: ["body"],
  msg: "Input should be a valid dictionary or object to extract fields from",
};

const notJson = (text: string): Fault => ({
  type: "json_invalid",
  loc: ["body", faultPosition(text)],
  msg: "JSON decode error",
  input: {},
  ctx: { error: "Expecting value" },
});

/** Where a text stops being the beginning of JSON, in UTF-16 units: found by halves, since the parser does not always say. */
function faultPosition(text: string): number {
  let [sound, broken] = [0, text.length];
  while (sound < broken) {
    const middle = Math.ceil((sound + broken) / 2);
    if (isBeginning(text.slice(0, middle))) sound = middle;
    else broken = middle - 1;
  }
  return sound;
}

function isBeginning(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    const position = /\bposition (\d+)/.exec(message)?.[1];
    return /end of JSON input|Unterminated string/.test(message) || Number(position ?? -1) >= text.length;
  }
}
