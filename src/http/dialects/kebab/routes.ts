// The paths of the kebab family, and what surrounds each of its answers: configuration, key, CORS, faults. Nothing here leaves in another family's shape.
import { Router } from "itty-router";
import * as v from "valibot";
import type { Config } from "../../../../schemas/config.ts";
import { runIdSchema } from "../../../../schemas/run.ts";
import { authorize } from "../../authorize.ts";
import { preflight, withCors } from "../../cors.ts";
import { dispatch, type Methods } from "../../dispatch.ts";
import { faultProblem } from "../../fault.ts";
import { deletesAbove, matched } from "../../match.ts";
import { decoded, decodedParameter } from "../../parameter.ts";
import type { Result } from "../../problem.ts";
import { ask } from "./ask.ts";
import { deleteCollection, deleteDocument, readCollection, readDocument } from "./collections.ts";
import { isCollectionName, type KebabContext } from "./context.ts";
import { putBatch, putDocument } from "./ingest.ts";
import { pathFault } from "./new-document.ts";
import {
  badConfiguration,
  fromProblem,
  invalidInput,
  kebabProblemResponse,
  noRun,
  type KebabProblem,
} from "./problem.ts";
import { cancelAsk, readAnswer } from "./runs.ts";
import { search } from "./search.ts";
import { readSelf } from "./self.ts";

type Handler = (context: KebabContext) => Promise<Response>;

const surface: Record<string, Methods<Handler>> = {
  "/kebab/collections/:collection": { GET: readCollection, DELETE: deleteCollection },
  "/kebab/collections/:collection/documents": { POST: putBatch },
  "/kebab/collections/:collection/documents/:docId": {
    PUT: putDocument,
    GET: readDocument,
    DELETE: deleteDocument,
  },
  "/kebab/ask": { POST: ask },
  "/kebab/runs/:runId": { GET: readAnswer },
  "/kebab/runs/:runId/cancel": { POST: cancelAsk },
  "/kebab/search": { POST: search },
  "/kebab/schema": { GET: readSelf },
};

/** The methods of each path of the family. */
export const kebabMethods: Record<string, string[]> = Object.fromEntries(
  Object.entries(surface).map(([path, methods]) => [path, Object.keys(methods)]),
);
const allMethods = [...new Set(Object.values(kebabMethods).flat())];

const router = Router();
for (const [path, methods] of Object.entries(surface)) {
  // A document's name is a path: slashes are part of it.
  router.all(path.replace(":docId", ":docId+"), ({ params }, env: Env, config: Config, request: Request) => {
    const collection = decodedParameter(params["collection"] ?? "");
    const docPath = decoded(params["docId"] ?? "");
    const runId = decodedParameter(params["runId"] ?? "");
    const named = docPath === undefined ? "must be percent-encoded UTF-8" : pathFault(docPath);
    const fault = path.includes(":docId") ? named : undefined;
    return dispatch(
      methods,
      request,
      (handler) =>
        admit(handler, { request, env, config, tenant: "", collection, docPath: docPath ?? "", runId }, path, fault),
      (allow) =>
        kebabProblemResponse({ reason: "method_not_allowed", message: `This path takes ${allow}.` }, { allow }),
    );
  });
}

/** Who asks comes first: nobody is told what is there, or what a name may be. */
async function admit(
  handler: Handler,
  context: KebabContext,
  path: string,
  fault: string | undefined,
): Promise<Response> {
  const tenant = await authorize(context.request, context.env);
  if (!tenant.ok) return kebabProblemResponse(fromProblem(tenant.problem));
  if (path.includes(":collection") && !isCollectionName(context.collection)) {
    return kebabProblemResponse(invalidInput("collection", "This names no collection."));
  }
  if (fault !== undefined) return kebabProblemResponse(invalidInput("docId", `The document's path ${fault}.`));
  if (path.includes(":runId") && !v.is(runIdSchema, context.runId)) return kebabProblemResponse(noRun);
  return handler({ ...context, tenant: tenant.value });
}

export const isKebabPath = (pathname: string): boolean => pathname === "/kebab" || pathname.startsWith("/kebab/");

/** Answers one request below `/kebab`. Never throws. */
export async function handleKebab(request: Request, env: Env, settings: Result<Config>): Promise<Response> {
  if (!settings.ok) return kebabProblemResponse(badConfiguration(settings.problem));
  const { cors } = settings.value;
  if (request.method === "OPTIONS") return preflight(request, cors, allMethods);
  return withCors(await answer(request, env, settings.value), request, cors);
}

const noSuchPath: KebabProblem = { reason: "not_found", message: "There is nothing at this path." };

async function answer(request: Request, env: Env, config: Config): Promise<Response> {
  try {
    const answered = deletesAbove(request) ? undefined : await matched(router, request, env, config, request);
    return answered ?? kebabProblemResponse(noSuchPath);
  } catch (error) {
    return kebabProblemResponse(fromProblem(faultProblem(error)));
  }
}
