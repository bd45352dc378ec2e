// The HTTP surface: which path and method goes where, and what surrounds every answer (configuration, CORS, errors).
import { Router } from "itty-router";
import type { Config } from "../../schemas/config.ts";
import { authorize } from "./authorize.ts";
import { consoleFile } from "./console-files.ts";
import { preflight, withCors } from "./cors.ts";
import { handleDeer, isDeerPath } from "./dialects/deerflow/routes.ts";
import { handleKebab, isKebabPath } from "./dialects/kebab/routes.ts";
import { handleSveda, isSvedaPath } from "./dialects/sveda/routes.ts";
import { jsonSchema, openApi, routeList, schemaNames } from "./describe.ts";
import { decodedParameter } from "./parameter.ts";
import { faultProblem } from "./fault.ts";
import { deletesAbove, matched } from "./match.ts";
import { problemResponse, wrongMethod, type Problem } from "./problem.ts";
import { pushEvents } from "./push-events.ts";
import {
  cancelRun,
  createTicket,
  deleteRun,
  readEvents,
  readOutcome,
  readState,
  startRun,
  type Context,
} from "./runs.ts";
import { settingsOf } from "./settings.ts";
import { deleteThread, readThread, readThreadRuns } from "./threads.ts";

type Handler = (context: Context) => Response | Promise<Response>;
type Methods = Partial<Record<"GET" | "POST" | "DELETE", Handler>>;

/** Every path of the server with its methods; `:runId`, `:threadId` and `:name` are parameters. */
export const surface: Record<string, Methods> = {
  "/v1/runs": { POST: startRun },
  "/v1/runs/:runId": { GET: readState, DELETE: deleteRun },
  "/v1/runs/:runId/events": { GET: readEvents, POST: pushEvents },
  "/v1/runs/:runId/outcome": { GET: readOutcome },
  "/v1/runs/:runId/cancel": { POST: cancelRun },
  "/v1/threads/:threadId": { GET: readThread, DELETE: deleteThread },
  "/v1/threads/:threadId/runs": { GET: readThreadRuns },
  "/v1/tickets": { POST: createTicket },
  "/v1/routes": { GET: listRoutes },
  "/healthz": { GET: () => publicJson({ status: "ok" }) },
  "/openapi.json": { GET: ({ request }) => publicJson(openApi(new URL(request.url).origin)) },
  "/schemas": { GET: () => publicJson({ schemas: schemaNames.map((name) => `/schemas/${name}.json`) }) },
  "/schemas/:name": { GET: readSchema },
};

const router = Router();
for (const [path, methods] of Object.entries(surface)) {
  router.all(path, (request, env: Env, config: Config, original: Request) =>
    dispatch(methods, {
      request: original,
      env,
      config,
      runId: decodedParameter(request.params["runId"] ?? request.params["threadId"] ?? request.params["name"] ?? ""),
    }),
  );
}

/** Answers one request. Never throws: what goes wrong inside is a 500 that tells nothing. */
export async function handle(request: Request, env: Env): Promise<Response> {
  const settings = settingsOf(env);
  const { pathname } = new URL(request.url);
  if (isSvedaPath(pathname)) return handleSveda(request, env, settings);
  if (isDeerPath(pathname)) return handleDeer(request, env, settings);
  if (isKebabPath(pathname)) return handleKebab(request, env, settings);
  // Also with a wrong configuration, which the page then shows.
  const file = consoleFile(request, pathname);
  if (file !== undefined) return file;
  if (!settings.ok) return problemResponse(settings.problem);
  const config = settings.value;
  if (request.method === "OPTIONS") return preflight(request, config.cors);
  return withCors(await answer(request, env, config), request, config.cors);
}

const noSuchPath: Problem = { code: "not_found", message: "There is nothing at this path." };

async function answer(request: Request, env: Env, config: Config): Promise<Response> {
  try {
    const answered = deletesAbove(request) ? undefined : await matched(router, request, env, config, request);
    return answered ?? problemResponse(noSuchPath);
  } catch (error) {
    return problemResponse(faultProblem(error));
  }
}

function dispatch(methods: Methods, context: Context): Response | Promise<Response> {
  const { method } = context.request;
  const handler = method === "GET" || method === "POST" || method === "DELETE" ? methods[method] : undefined;
  if (handler !== undefined) return handler(context);
  return wrongMethod(Object.keys(methods).join(", "));
}

async function listRoutes({ request, env, config }: Context): Promise<Response> {
  const tenant = await authorize(request, env);
  return tenant.ok ? publicJson(routeList(config)) : problemResponse(tenant.problem);
}

function readSchema({ runId: name }: Context): Response {
  const schema = jsonSchema(name.replace(/\.json$/, ""));
  return schema === undefined
    ? problemResponse({ code: "not_found", message: "There is no schema of this name." })
    : publicJson(schema);
}

const publicJson = (value: unknown): Response => Response.json(value, { headers: { "cache-control": "no-store" } });
