// What goes wrong in the kebab family, as it leaves: a status, and an error.v1 with a published code.
import * as v from "valibot";
import { expect, test } from "vitest";
import { kebabErrorSchema } from "../../../schemas/dialects/kebab.ts";
import {
  badConfiguration,
  fromProblem,
  invalidInput,
  kebabProblemResponse,
  noCollection,
  noDocument,
  type KebabProblem,
} from "../../../src/http/dialects/kebab/problem.ts";
import { fieldProblem } from "../../../src/http/problem.ts";
import { publishedFault } from "../../support/kebab-schemas.ts";

const message = "Not so.";

test.each<[KebabProblem, number, string, Record<string, unknown>]>([
  [invalidInput("k", message), 400, "generic", { reason: "invalid_input", field: "k" }],
  [
    fromProblem(fieldProblem("/query", "is missing", "required")),
    400,
    "generic",
    { reason: "invalid_input", field: "query" },
  ],
  [fromProblem(fieldProblem("", "is not JSON", "json")), 400, "generic", { reason: "invalid_input", field: "body" }],
  [{ reason: "stale_cursor", message }, 400, "generic", { reason: "stale_cursor" }],
  [fromProblem({ code: "unauthorized", message }), 401, "generic", { reason: "unauthorized" }],
  [fromProblem({ code: "forbidden", message }), 403, "generic", { reason: "forbidden" }],
  [noCollection("c"), 404, "not_indexed", { expected: "c", found: "none" }],
  [noDocument("d"), 404, "generic", { reason: "doc_not_found", doc_path: "d" }],
  [fromProblem({ code: "too_large", message }), 413, "generic", { reason: "too_large" }],
  [fromProblem({ code: "unsupported_media_type", message }), 415, "generic", { reason: "unsupported_media_type" }],
  [fromProblem({ code: "bug", message }), 500, "generic", { reason: "bug" }],
  [badConfiguration({ code: "bug", message }), 500, "config_invalid", { path: expect.any(String), cause: message }],
  [fromProblem({ code: "unavailable", message, retryAfterMs: 1500 }), 503, "io_error", { kind: "unavailable" }],
])("R-KB-27 %j is %i %s", async (problem, status, code, details) => {
  const response = kebabProblemResponse(problem);
  const body: unknown = JSON.parse(await response.text());
  expect([response.status, response.headers.get("cache-control")]).toEqual([status, "no-store"]);
  expect(v.parse(kebabErrorSchema, body)).toMatchObject({ code, details });
  expect(publishedFault("error", body)).toBeUndefined();
  expect(response.headers.get("retry-after")).toBe(status === 503 ? "2" : null);
});

test("R-KB-27 a message is cut: it may repeat what the request says", async () => {
  const body: { message: string } = JSON.parse(await kebabProblemResponse(invalidInput("k", "x".repeat(9000))).text());
  expect(body.message.length).toBeLessThan(600);
});
