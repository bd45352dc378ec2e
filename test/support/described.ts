// What a server's OpenAPI document says of its answers, for tests that hold answers against it.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

interface Described {
  content?: Record<string, { schema: object }>;
  headers?: Record<string, { required?: boolean }>;
}
interface Operation {
  parameters?: { name: string }[];
  requestBody?: { content: Record<string, object> };
  responses: Record<string, Described>;
}

export interface Description {
  /** `METHOD path` of all operations below this path. */
  operations(below: string): string[];
  /** Whether an operation has a body. */
  takesBody(operation: string): boolean;
  /** Whether an operation has a body of this type. */
  takes(operation: string, type: string): boolean;
  /** The names of an operation's parameters. */
  parameters(operation: string): string[];
  /** What is wrong with an answer to an operation; `undefined` when it is as it is described. Reads the body. */
  faultOf(operation: string, response: Response): Promise<string | undefined>;
  /** Whether a value is as the schema of this name says. */
  fits(schema: string, value: unknown): boolean;
}

export async function descriptionOf(origin: string): Promise<Description> {
  const document: { paths: Record<string, Record<string, Operation>>; components: object } = JSON.parse(
    await (await fetch(`${origin}/openapi.json`)).text(),
  );
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ components: document.components }, "openapi.json");
  const validator = (schema: object): ValidateFunction =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi.json#/components/')));
  const fits = (name: string, value: unknown): boolean =>
    validator({ $ref: `openapi.json#/components/schemas/${name}` })(value) === true;
  const operationOf = (operation: string): Operation | undefined => {
    const [method = "", path = ""] = operation.split(" ");
    return document.paths[path]?.[method.toLowerCase()];
  };
  return {
    operations: (below) =>
      Object.entries(document.paths).flatMap(([path, methods]) =>
        path.startsWith(below) ? Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`) : [],
      ),
    takesBody: (operation) => operationOf(operation)?.requestBody !== undefined,
    takes: (operation, type) => operationOf(operation)?.requestBody?.content[type] !== undefined,
    parameters: (operation) => (operationOf(operation)?.parameters ?? []).map(({ name }) => name),
    async faultOf(operation, response) {
      const described = operationOf(operation)?.responses[response.status];
      const text = await response.text();
      if (described === undefined) return `${operation} may not answer ${response.status}: ${text}`;
      for (const [name, { required = false }] of Object.entries(described.headers ?? {})) {
        if (required && !response.headers.has(name)) return `${operation} ${response.status} has no ${name}`;
      }
      const type = response.headers.get("content-type")?.split(";")[0];
      if (described.content === undefined) return text === "" ? undefined : `${operation} has a body: ${text}`;
      const schema = described.content[type ?? ""]?.schema;
      if (schema === undefined) return `${operation} ${response.status} may not be ${type}: ${text}`;
      const validate = validator(schema);
      return valuesOf(type, text).every((value) => validate(value))
        ? undefined
        : `${operation} ${response.status}: ${ajv.errorsText(validate.errors)} in ${text}`;
    },
    fits,
  };
}

/** The values that a schema is about: the body, or the events in it. */
function valuesOf(type: string | undefined, text: string): unknown[] {
  if (type === "application/json") return [JSON.parse(text)];
  if (type === "application/x-ndjson") {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return lines.map((line): unknown => JSON.parse(line));
  }
  if (type !== "text/event-stream") return [text];
  const data = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  return data.filter((line) => line !== "[DONE]").map((line): unknown => JSON.parse(line));
}
