// Reads the JSON body of a Sveda request and holds it against a schema. What is wrong with it is said in plain text, before anybody is asked for a token.
import * as v from "valibot";
import { depthOf, MAX_JSON_DEPTH } from "../../../run/canonical.ts";
import { wireIssues } from "../../../run/issues.ts";
import { readJson } from "../../body.ts";
import type { Problem } from "../../problem.ts";
import { svedaFound, svedaRefused, type SvedaProblem, type SvedaResult } from "./problem.ts";

/** `empty`: what an empty body stands for; without it there must be one. `limit` in bytes. */
export async function readBody<S extends v.GenericSchema>(
  request: Request,
  schema: S,
  limit: number,
  empty?: unknown,
): Promise<SvedaResult<v.InferOutput<S>>> {
  const body = await readJson(request, limit);
  if (!body.ok) return svedaRefused(bodyProblem(body.problem));
  const value = body.value ?? empty;
  if (value === undefined) {
    const typed = request.headers.has("content-type");
    return svedaRefused(typed ? { code: "syntax", message: "The body is empty." } : noMediaType);
  }
  if (depthOf(value, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    return svedaRefused({ code: "field", message: `The body is nested more than ${MAX_JSON_DEPTH} levels deep.` });
  }
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return svedaFound(parsed.output);
  const [first] = wireIssues(parsed.issues);
  return svedaRefused({ code: "field", message: `The body is not valid: ${first?.path} ${first?.message}.` });
}

const noMediaType: SvedaProblem = { code: "media_type", message: "The body must be application/json." };

function bodyProblem({ code, message, issues }: Problem): SvedaProblem {
  if (code === "unsupported_media_type") return { code: "media_type", message };
  if (code === "too_large") return { code: "body_too_large", message };
  // JSON, but of another type than the one object that it must be.
  return { code: issues?.[0]?.keyword === "object" ? "field" : "syntax", message };
}
