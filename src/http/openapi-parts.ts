// What the OpenAPI paths of all families are made of. Shapes are references to the generated schemas.

export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

export const json = (name: string, description: string) => ({
  description,
  content: { "application/json": { schema: ref(name) } },
});

export const body = (name: string, required = true) => ({
  required,
  content: { "application/json": { schema: ref(name) } },
});

export const parameter = (
  name: string,
  where: "path" | "query" | "header",
  description: string,
  schema: object = { type: "string" },
) => ({
  name,
  in: where,
  required: where === "path",
  description,
  schema,
});

export const runId = parameter("runId", "path", "The run's name.", {
  type: "string",
  pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._:~-]{1,128}$",
});

export const threadId = parameter("threadId", "path", "The thread's name.", {
  type: "string",
  pattern: "^[A-Za-z0-9_-]{1,64}$",
});

const sequence = { type: "integer", minimum: 0 };

/** Where a stream begins; `words` are the values of `from`. */
export const cursor = (words: readonly string[], from: string) => [
  parameter("Last-Event-ID", "header", "Last sequence seen; beats the query.", sequence),
  parameter("after", "query", "Last sequence seen.", sequence),
  parameter("lastEventId", "query", "Last sequence seen.", sequence),
  parameter("from", "query", from, { enum: words }),
];
