// The paths of the Sveda family, and what surrounds each of its answers: configuration, CORS, faults. Nothing here leaves in another family's shape.
import { Router } from "itty-router";
import type { Config } from "../../../../schemas/config.ts";
import { dispatch as dispatchMethod, type Methods } from "../../dispatch.ts";
import { faultProblem } from "../../fault.ts";
import { matched } from "../../match.ts";
import { decodedParameter } from "../../parameter.ts";
import type { Result } from "../../problem.ts";
import type { SvedaContext } from "./context.ts";
import { withCors } from "./cors.ts";
import { createEmbedToken, readEmbedConfig } from "./embed.ts";
import { extractDocuments } from "./extract.ts";
import { health, ready } from "./health.ts";
import { deleteHistory, listHistories, readHistory, renameHistory } from "./histories.ts";
import { answerTurn } from "./message.ts";
import { absent, fromProblem, noSuchPath, svedaProblemResponse } from "./problem.ts";
import { keepReport, listReports } from "./reports.ts";
import { cancelTurn, readTurnEvents } from "./runs.ts";
import { streamTurn } from "./stream.ts";

type Answer = Response | Promise<Response>;
type Handler = (context: SvedaContext) => Answer;
/** Of paths that answer under a wrong configuration too. */
type EarlyHandler = (env: Env, settings: Result<Config>) => Answer;

const early: Record<string, Methods<EarlyHandler>> = {
  "/sveda/health": { GET: health },
  "/sveda/ready": { GET: ready },
};

const surface: Record<string, Methods<Handler>> = {
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

/** The methods of each path of the family; `:name` is a run's or a chat's. */
export const svedaMethods: Record<string, string[]> = Object.fromEntries(
  Object.entries({ ...early, ...surface }).map(([path, methods]) => [path, Object.keys(methods)]),
);

const router = Router();
for (const [path, methods] of Object.entries(early)) {
  router.all(path, (_request, env: Env, settings: Result<Config>, request: Request) =>
    dispatch(methods, request, (handler) => handler(env, settings)),
  );
}
for (const [path, methods] of Object.entries(surface)) {
  router.all(path, ({ params }, env: Env, settings: Result<Config>, request: Request) => {
    if (!settings.ok) return svedaProblemResponse(fromProblem(settings.problem));
    const config = settings.value;
    if (!config.sveda.embed && path.startsWith("/sveda/embed/")) return svedaProblemResponse(absent);
    const name = decodedParameter(params["name"] ?? "");
    return dispatch(methods, request, (handler) => handler({ request, env, config, name }));
  });
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
  try {
    return (await matched(router, request, env, settings, request)) ?? noSuchPath();
  } catch (error) {
    return svedaProblemResponse(fromProblem(faultProblem(error)));
  }
}

const dispatch = <H>(methods: Methods<H>, request: Request, call: (handler: H) => Answer): Promise<Response> =>
  dispatchMethod(methods, request, call, (allow) => svedaProblemResponse({ code: "method", message: "" }, { allow }));
