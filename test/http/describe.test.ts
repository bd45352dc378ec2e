// What the server says about itself, held against what it does.
import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";
import { post, startBody } from "../support/api.ts";
import { descriptionOf } from "../support/described.ts";
import { answer, exchange, MAIN, newName, objectOf, openHouse, problemOf, type House } from "./house.ts";

const recordSchema = v.record(v.string(), v.unknown());
type JsonObject = v.InferOutput<typeof recordSchema>;
const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"];

let house: House;
let openApi: {
  openapi: string;
  paths: Record<string, JsonObject>;
  components: { schemas: Record<string, JsonObject> };
};

const openApiSchema = v.looseObject({
  openapi: v.literal("3.1.0"),
  info: v.looseObject({ title: v.string(), version: v.string() }),
  servers: v.array(v.object({ url: v.string() })),
  paths: v.record(v.string(), recordSchema),
  components: v.looseObject({ schemas: v.record(v.string(), recordSchema) }),
});

beforeAll(async () => {
  house = await openHouse({ limits: { attachWaitMs: 0 } });
  house.provider.on(MAIN, answer(["x"]));
  openApi = v.parse(openApiSchema, await objectOf(await fetch(`${house.origin}/openapi.json`)));
});
afterAll(() => house.stop());

const surfaceSchema = v.looseObject({ surface: v.record(v.string(), recordSchema) });
const methodsSchema = v.record(v.string(), v.array(v.string()));

const routerPath = new URL("../../src/http/router.ts", import.meta.url).href;
const families = [
  [new URL("../../src/http/dialects/sveda/routes.ts", import.meta.url).href, "svedaMethods"],
  [new URL("../../src/http/dialects/deerflow/routes.ts", import.meta.url).href, "deerMethods"],
  [new URL("../../src/http/dialects/kebab/routes.ts", import.meta.url).href, "kebabMethods"],
] as const;

test("R-DESC-1 the OpenAPI paths are the surface of the router and of its families, method for method", async () => {
  const { surface } = v.parse(surfaceSchema, { ...(await import(routerPath)) });
  const ofFamilies = await Promise.all(
    families.map(async ([routes, name]) => {
      const { [name]: methods } = v.parse(v.looseObject({ [name]: methodsSchema }), { ...(await import(routes)) });
      return Object.entries(methods ?? {});
    }),
  );
  const native = Object.entries(surface).map(([path, methods]) => [path, Object.keys(methods)] as const);
  // What a path calls its parameter is its own affair.
  const listed = [...native, ...ofFamilies.flat()].map(([path, methods]) => [
    path.replaceAll(/:\w+/g, "{}"),
    methods.toSorted(),
  ]);
  const described = Object.entries(openApi.paths).map(([path, item]) => [
    path.replaceAll(/\{\w+\}/g, "{}"),
    Object.keys(item)
      .filter((key) => METHODS.includes(key))
      .map((key) => key.toUpperCase())
      .toSorted(),
  ]);
  expect(Object.fromEntries(described)).toEqual(Object.fromEntries(listed));
});

test("R-DESC-1 the running server serves the described methods and no others", async () => {
  const known = newName();
  await (
    await post(`${house.origin}/v1/runs`, startBody({ requestId: known }), { accept: "text/event-stream" })
  ).text();
  for (const [path, item] of Object.entries(openApi.paths)) {
    const concrete = path
      .replace(/\{(runId|threadId|collection|docId)\}/g, known)
      .replace("{name}", "Config.json")
      .replace("{chatId}", known);
    for (const method of ["get", "post", "put", "patch"]) {
      const { status } = await exchange(house.server.port, concrete, { method: method.toUpperCase() });
      expect([path, method, status === 405]).toEqual([path, method, !(method in item)]);
    }
  }
});

test("R-DESC-1 every operation has a name of its own, its path parameters and its answers", () => {
  const operationSchema = v.looseObject({
    operationId: v.string(),
    summary: v.string(),
    parameters: v.optional(
      v.array(
        v.looseObject({
          name: v.string(),
          in: v.picklist(["path", "query", "header"]),
          required: v.boolean(),
          schema: recordSchema,
        }),
      ),
    ),
    responses: v.record(
      v.pipe(v.string(), v.regex(/^[1-5]\d\d$/)),
      v.looseObject({ description: v.pipe(v.string(), v.minLength(1)) }),
    ),
  });
  const names: string[] = [];
  for (const [path, item] of Object.entries(openApi.paths)) {
    for (const value of Object.values(item)) {
      const operation = v.parse(operationSchema, value);
      names.push(operation.operationId);
      const inPath = operation.parameters?.filter((parameter) => parameter.in === "path") ?? [];
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(inPath.every(({ required }) => required)).toBe(true);
    }
  }
  expect(new Set(names).size).toBe(names.length);
});

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
const NESTED = ["items", "additionalProperties", "propertyNames", "not", "contains", "if", "then", "else"];
const LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const MAPS = ["properties", "patternProperties", "$defs", "definitions"];

/** Walks a JSON Schema and gives everything in it that is not one by shape. */
function faultsOf(schema: unknown, at: string): string[] {
  if (typeof schema === "boolean") return [];
  const parsed = v.safeParse(recordSchema, schema);
  if (!parsed.success || Array.isArray(schema)) return [`${at} is no schema`];
  const faults: string[] = [];
  for (const [keyword, value] of Object.entries(parsed.output)) {
    const here = `${at}/${keyword}`;
    if (keyword === "type") {
      if (![value].flat().every((type) => TYPES.includes(String(type)))) faults.push(`${here} is no type`);
    } else if (NESTED.includes(keyword)) faults.push(...faultsOf(value, here));
    else if (LISTS.includes(keyword)) {
      if (!Array.isArray(value) || value.length === 0) faults.push(`${here} is no list of schemas`);
      else for (const [index, item] of value.entries()) faults.push(...faultsOf(item, `${here}/${index}`));
    } else if (MAPS.includes(keyword)) {
      const map = v.safeParse(recordSchema, value);
      if (!map.success) faults.push(`${here} is no map of schemas`);
      else for (const [name, item] of Object.entries(map.output)) faults.push(...faultsOf(item, `${here}/${name}`));
    } else if (keyword === "required") {
      const names = v.safeParse(v.array(v.string()), value);
      if (!names.success || new Set(names.output).size !== names.output.length)
        faults.push(`${here} is no set of names`);
    } else if (keyword === "pattern") {
      try {
        RegExp(String(value), "u");
      } catch {
        faults.push(`${here} is no pattern`);
      }
    } else if (keyword === "enum" && (!Array.isArray(value) || value.length === 0)) faults.push(`${here} is no list`);
    else if (/^(min|max)/.test(keyword) && typeof value !== "number") faults.push(`${here} is no number`);
  }
  return faults;
}

test("R-DESC-1 every published schema is a JSON Schema of draft 2020-12, and the OpenAPI document has the same", async () => {
  const { schemas } = v.parse(
    v.object({ schemas: v.array(v.string()) }),
    await objectOf(await fetch(`${house.origin}/schemas`)),
  );
  expect(schemas.length).toBeGreaterThanOrEqual(10);
  for (const path of schemas) {
    const response = await fetch(`${house.origin}${path}`);
    expect(response.headers.get("content-type")).toBe("application/json");
    const { $schema, ...schema } = await objectOf(response);
    expect($schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(faultsOf(schema, path)).toEqual([]);
    const name = path.replace(/^\/schemas\/(\w+)\.json$/, "$1");
    expect(schema["title"]).toBe(name);
    expect(openApi.components.schemas[name]).toEqual(schema);
    expect(await objectOf(await fetch(`${house.origin}/schemas/${name}`))).toEqual({ $schema, ...schema });
  }
  await problemOf(await fetch(`${house.origin}/schemas/Nothing.json`), 404, "not_found");
});

test("R-DESC-1 every reference in the OpenAPI document leads somewhere", () => {
  const references = JSON.stringify(openApi).matchAll(/"\$ref":"([^"]+)"/g);
  const targets = new Set([...references].map(([, target]) => target));
  expect(targets.size).toBeGreaterThan(5);
  for (const target of targets)
    expect(Object.keys(openApi.components.schemas).map((name) => `#/components/schemas/${name}`)).toContain(target);
});

test("R-DESC-1 the start schema asks for what the server asks for", () => {
  const schema = openApi.components.schemas["StartRequest"] ?? {};
  expect(schema["required"]).toEqual(["schemaVersion", "task"]);
  expect(Object.keys(v.parse(recordSchema, schema["properties"]))).toEqual(
    expect.arrayContaining(["requestId", "prompt", "messages", "route", "targets", "tools", "clocks", "metadata"]),
  );
});

const toolResults = [{ toolCallId: "a", output: 1 }];
const toolDecisions = [{ toolCallId: "a", decision: "deny" }];
const messages = [{ role: "user", content: "Hi" }];

test.each([
  { prompt: "Hi" },
  { messages },
  { messages, prompt: "Hi" },
  {},
  { prompt: "" },
  { prompt: "Hi", route: "default" },
  { prompt: "Hi", targets: ["main"] },
  { prompt: "Hi", route: "default", targets: ["main"] },
  { prompt: "Hi", toolResults },
  { messages, toolDecisions },
  { previousRunId: "none" },
  { previousRunId: "none", toolResults },
  { previousRunId: "none", toolDecisions },
  { previousRunId: "none", toolResults, toolDecisions },
  { previousRunId: "none", toolResults, prompt: "Hi" },
  { previousRunId: "none", toolDecisions, messages },
  { previousRunId: "none", toolResults: [] },
  { source: "push" },
  { source: "push", prompt: "Hi", clocks: { idleMs: 1000, totalMs: 1000 }, constraints: { timeoutMs: 1000 } },
  { source: "push", route: "default" },
  { source: "push", constraints: { cloud: "allowed" } },
  { source: "push", clocks: { headersMs: 1 } },
  { source: "push", previousRunId: "none", toolResults },
  { source: "provider" },
])("R-DESC-1 the start schema takes %j exactly when the server does", async (fields) => {
  const body = { schemaVersion: "1.0", task: { kind: "text_to_text" }, ...fields };
  const { fits } = await descriptionOf(house.origin);
  const { status } = await post(`${house.origin}/v1/runs`, body);
  expect([202, 400, 404]).toContain(status);
  expect(fits("StartRequest", body)).toBe(status !== 400);
});

test("R-DESC-1 /v1/routes lists routes with their targets, and no address or key name", async () => {
  const response = await fetch(`${house.origin}/v1/routes`);
  const text = await response.text();
  expect(JSON.parse(text)).toEqual({
    default: "default",
    routes: [
      { id: "default", targets: [{ id: "main", adapter: "openai-chat", model: "test-model", locality: "cloud" }] },
      {
        id: "both",
        targets: [
          { id: "main", adapter: "openai-chat", model: "test-model", locality: "cloud" },
          { id: "spare", adapter: "openai-chat", model: "test-model", locality: "cloud" },
        ],
      },
    ],
  });
  expect(text).not.toContain("127.0.0.1");
});

test("R-DESC-1 /healthz says ok", async () => {
  expect(await objectOf(await fetch(`${house.origin}/healthz`))).toEqual({ status: "ok" });
});
