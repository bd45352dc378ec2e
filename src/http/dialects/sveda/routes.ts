// The paths of the Sveda family, and what surrounds each of its answers: configuration, CORS, faults. Nothing here leaves in another family's shape.
import { Router } from "itty-router";
import type { Config } from "../../../../schemas/config.ts";
import { faultProblem } from "../../fault.ts";
import { decodedParameter } from "../../parameter.ts";
import type { Result } from "../../problem.ts";
import type { SvedaContext } from "./context.ts";
import { withCors } from "./cors.ts";
import { createEmbedToken, readEmbedConfig } from "./embed.ts";
import { extractDocuments } from "./extract.ts";
import { health, ready } from "./health.ts";
import { deleteHistory, listHistories, readHistory, renameHistory } from "./histories.ts";
import { answerTurn } from "./message.ts";
import { fromProblem, noSuchPath, svedaProblemResponse } from "./problem.ts";
import { keepReport, listReports } from "./reports.ts";
import { cancelTurn, readTurnEvents } from "./runs.ts";
import { streamTurn } from "./stream.ts";

type Handler = (context: SvedaContext) => Response | Promise<Response>;

const surface: Record<string, Record<string, Handler>> = {
  "/sveda/stream": { POST: streamTurn },
  "/sveda/message": { POST: answerTurn },
  "/sveda/runs/:name": { GET: readTurnEvents },
  "/sveda/runs/:name/cancel": { POST: cancelTurn },
  "/sveda/chat-histories": { GET: listHistories },
  "/sveda/chat-histories/:name": { GET: readHistory, PATCH: renameHistory, DELETE: deleteHistory },
  "/sveda/documents/extract": { POST: extractDocuments },
  "/sveda/embed/token": { POST: createEmbedToken },
  "/sveda/embed/config": { GET: readEmbedConfig },
  "/sveda/content-reports": { POST: keepReport, GET: listReports },
};

const router = Router();
for (const [path, methods] of Object.entries(surface)) {
  router.all(path, (request, env: Env, config: Config, original: Request) =>
    dispatch(methods, { request: original, env, config, name: decodedParameter(request.params["name"] ?? "") }),
  );
}

export const isSvedaPath = (pathname: string): boolean => pathname === "/sveda" || pathname.startsWith("/sveda/");

/** Where the configuration cannot say which pages may call: any, as when it says nothing. */
const ANY_ORIGIN = ["*"];

/** Answers one request below `/sveda`. Never throws. */
export async function handleSveda(request: Request, env: Env, settings: Result<Config>): Promise<Response> {
  const origins = settings.ok ? settings.value.sveda.origins : ANY_ORIGIN;
  const response = request.method === "OPTIONS" ? new Response(null) : await answer(request, env, settings);
  return withCors(response, request, origins);
}

async function answer(request: Request, env: Env, settings: Result<Config>): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method === "GET" && pathname === "/sveda/health") return health();
  if (request.method === "GET" && pathname === "/sveda/ready") return ready(env, settings);
  if (!settings.ok) return svedaProblemResponse(fromProblem(settings.problem));
  try {
    // itty-router works on a plain object: handed the request itself it would wrap it in a proxy.
    const plain = { method: request.method, url: request.url };
    const matched: unknown = await router.fetch(plain, env, settings.value, request);
    return matched instanceof Response ? matched : noSuchPath();
  } catch (error) {
    return svedaProblemResponse(fromProblem(faultProblem(error)));
  }
}

function dispatch(methods: Record<string, Handler>, context: SvedaContext): Response | Promise<Response> {
  const { method } = context.request;
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handler !== undefined) return handler(context);
  return svedaProblemResponse({ code: "method", message: "" }, { allow: Object.keys(methods).join(", ") });
}
