// What the server says about itself: routes, health, JSON Schemas and the OpenAPI document, generated from the valibot schemas.
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import type { Config } from "../../schemas/config.ts";
import { configSchema } from "../../schemas/config.ts";
import { streamEventSchema } from "../../schemas/event.ts";
import { outcomeSchema } from "../../schemas/outcome.ts";
import { threadRunsSchema, threadSchema } from "../../schemas/native-thread.ts";
import { pushAnswerSchema, pushRequestSchema } from "../../schemas/push.ts";
import { indeRunErrorSchema } from "../../schemas/problem.ts";
import {
  cancelRequestSchema,
  runHandleSchema,
  runStateSchema,
  startRequestSchema,
  ticketRequestSchema,
  ticketSchema,
} from "../../schemas/run.ts";
import { providerFields } from "../run/request.ts";
import { localityOf, routeTargets } from "../run/settings.ts";
import { deerPaths, deerSchemas, deerSecuritySchemes } from "./dialects/deerflow/openapi-paths.ts";
import { kebabPaths, kebabSchemas } from "./dialects/kebab/openapi-paths.ts";
import { svedaPaths, svedaSchemas, svedaSecuritySchemes } from "./dialects/sveda/openapi-paths.ts";
import { openApiPaths } from "./openapi-paths.ts";

export const API_VERSION = "1.0.0";

const published: Record<string, v.GenericSchema> = {
  StartRequest: startRequestSchema,
  RunHandle: runHandleSchema,
  RunState: runStateSchema,
  StreamEvent: streamEventSchema,
  StreamTerminalOutcome: outcomeSchema,
  IndeRunError: indeRunErrorSchema,
  CancelRequest: cancelRequestSchema,
  TicketRequest: ticketRequestSchema,
  Ticket: ticketSchema,
  PushRequest: pushRequestSchema,
  PushAnswer: pushAnswerSchema,
  Thread: threadSchema,
  ThreadRuns: threadRunsSchema,
  Config: configSchema,
  ...svedaSchemas,
  ...deerSchemas,
  ...kebabSchemas,
};

const isPushed = { required: ["source"], properties: { source: { const: "push" } } };

const without = ([field = "", inner]: string[]): object => ({
  properties: { [field]: inner === undefined ? false : { properties: { [inner]: false } } },
});

/** Rules between fields that the shapes cannot say. */
const additions: Record<string, Record<string, unknown>> = {
  StartRequest: {
    anyOf: [{ required: ["prompt"] }, { required: ["messages"] }, { required: ["previousRunId"] }, isPushed],
    dependentRequired: { toolResults: ["previousRunId"], toolDecisions: ["previousRunId"] },
    dependentSchemas: {
      previousRunId: {
        properties: { prompt: false, messages: false },
        description:
          "The conversation is that of the earlier run, which needs results or decisions where its calls wait for them.",
      },
    },
    not: { required: ["route", "targets"] },
    allOf: providerFields.map((path) => ({ anyOf: [{ not: isPushed }, without(path.split("/"))] })),
  },
};

export const schemaNames = Object.keys(published);

/** JSON Schema (draft 2020-12) of one published shape; `undefined` for another name. */
export function jsonSchema(name: string): Record<string, unknown> | undefined {
  const schema = Object.hasOwn(published, name) ? published[name] : undefined;
  if (schema === undefined) return undefined;
  return {
    ...toJsonSchema(schema, { target: "draft-2020-12", typeMode: "input", errorMode: "ignore" }),
    title: name,
    ...additions[name],
  };
}

export function openApi(origin: string): Record<string, unknown> {
  const schemas: Record<string, unknown> = {};
  for (const name of schemaNames) {
    const { $schema: _draft, ...schema } = jsonSchema(name) ?? {};
    schemas[name] = schema;
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Holdfast",
      version: API_VERSION,
      description:
        "AI streams that survive disconnects, restarts and dead providers: every run numbered, kept and resumable.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: origin }],
    security: [{ bearer: [] }, {}],
    paths: { ...openApiPaths, ...svedaPaths, ...deerPaths, ...kebabPaths },
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        ticket: { type: "apiKey", in: "query", name: "ticket" },
        ...svedaSecuritySchemes,
        ...deerSecuritySchemes,
      },
    },
  };
}

/** Routes and their targets, without addresses, headers or key names. */
export function routeList({ targets, routes }: Config) {
  return {
    default: "default",
    routes: Object.entries(routes).map(([id, route]) => ({
      id,
      ...(!Array.isArray(route) && route.hedge !== undefined && { hedge: route.hedge }),
      targets: routeTargets(route).flatMap((name) =>
        targets
          .filter((target) => target.id === name)
          .map((target) => ({
            id: target.id,
            adapter: target.adapter,
            ...(target.model !== undefined && { model: target.model }),
            locality: localityOf(target),
          })),
      ),
    })),
  };
}
