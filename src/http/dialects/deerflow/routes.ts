// The paths of the DeerFlow family, and what surrounds each of its answers: configuration, the tenant, CORS, faults. Nothing here leaves in another family's shape.
import { Router, type IRequest } from "itty-router";
import { THREAD_ID } from "../../../../schemas/dialects/deerflow.ts";
import type { Config } from "../../../../schemas/config.ts";
import { preflight, withCors } from "../../cors.ts";
import { faultProblem } from "../../fault.ts";
import { deletesAbove, matched } from "../../match.ts";
import { decodedParameter } from "../../parameter.ts";
import type { Result } from "../../problem.ts";
import { readAssistant, readGraph, readSchemas, searchAssistants } from "./assistants.ts";
import { tenantOf } from "./authorize.ts";
import type { DeerContext } from "./context.ts";
import { notMatching } from "./faults.ts";
import {
  addFeedback,
  deleteFeedback,
  deleteOneFeedback,
  listFeedback,
  listFeedbackOfRun,
  putFeedback,
  readFeedbackStats,
} from "./feedback.ts";
import { pushRecords } from "./ingest.ts";
import { joinRun, joinRunStream } from "./joins.ts";
import { deerProblemResponse, faulty, fromProblem, noSuchPath } from "./problem.ts";
import { prepareEdit, prepareRegenerate } from "./regenerate.ts";
import {
  listMessages,
  listMessagesOfRun,
  listRunEvents,
  listRunMessages,
  readMessagesPage,
  readTokenUsage,
  readWorkspaceChanges,
} from "./rows.ts";
import { cancelRun, listRuns, readRun } from "./runs.ts";
import {
  createRun,
  createStatelessRun,
  streamRun,
  streamStatelessRun,
  waitForRun,
  waitForStatelessRun,
} from "./starts.ts";
import { readHistory, readState, readStateAt, readStateOf, updateState } from "./states.ts";
import { createThread, deleteThread, patchThread, readThread, searchThreads } from "./threads.ts";

type Handler = (context: DeerContext) => Response | Promise<Response>;
type Methods = Partial<Record<string, Handler>>;

/** Below each of the prefixes; `:threadId`, `:runId` and `:name` are parameters. The first path that fits answers. */
const surface: Record<string, Methods> = {
  "/threads": { POST: createThread },
  "/threads/search": { POST: searchThreads },
  "/threads/:threadId": { GET: readThread, PATCH: patchThread, DELETE: deleteThread },
  "/threads/:threadId/state": { GET: readState, POST: updateState },
  "/threads/:threadId/state/checkpoint": { POST: readStateOf },
  "/threads/:threadId/state/:name": { GET: readStateAt },
  "/threads/:threadId/history": { POST: readHistory },
  "/threads/:threadId/messages": { GET: listMessages },
  "/threads/:threadId/messages/page": { GET: readMessagesPage },
  "/threads/:threadId/token-usage": { GET: readTokenUsage },
  "/threads/:threadId/runs": { POST: createRun, GET: listRuns },
  "/threads/:threadId/runs/stream": { POST: streamRun },
  "/threads/:threadId/runs/wait": { POST: waitForRun },
  "/threads/:threadId/runs/regenerate/prepare": { POST: prepareRegenerate },
  "/threads/:threadId/runs/edit-regenerate/prepare": { POST: prepareEdit },
  "/threads/:threadId/runs/:runId": { GET: readRun },
  "/threads/:threadId/runs/:runId/cancel": { POST: cancelRun },
  "/threads/:threadId/runs/:runId/join": { GET: joinRun },
  "/threads/:threadId/runs/:runId/stream": { GET: joinRunStream, POST: joinRunStream },
  "/threads/:threadId/runs/:runId/messages": { GET: listRunMessages },
  "/threads/:threadId/runs/:runId/events": { GET: listRunEvents, POST: pushRecords },
  "/threads/:threadId/runs/:runId/workspace-changes": { GET: readWorkspaceChanges },
  "/threads/:threadId/runs/:runId/feedback": {
    GET: listFeedback,
    PUT: putFeedback,
    POST: addFeedback,
    DELETE: deleteFeedback,
  },
  "/threads/:threadId/runs/:runId/feedback/stats": { GET: readFeedbackStats },
  "/threads/:threadId/runs/:runId/feedback/:name": { DELETE: deleteOneFeedback },
  "/runs": { POST: createStatelessRun },
  "/runs/stream": { POST: streamStatelessRun },
  "/runs/wait": { POST: waitForStatelessRun },
  "/runs/:runId/messages": { GET: listMessagesOfRun },
  "/runs/:runId/feedback": { GET: listFeedbackOfRun },
  "/assistants/search": { POST: searchAssistants },
  "/assistants/:name": { GET: readAssistant },
  "/assistants/:name/graph": { GET: readGraph },
  "/assistants/:name/schemas": { GET: readSchemas },
};

/** The methods of each path of the family, below the first of its prefixes. */
export const deerMethods: Record<string, string[]> = Object.fromEntries(
  Object.entries(surface).map(([path, methods]) => [`/api${path}`, Object.keys(methods)]),
);

const router = Router();
for (const [path, methods] of Object.entries(surface)) {
  router.all(path, ({ params }, env: Env, config: Config, request: Request) =>
    dispatch(methods, params, { request, env, config }),
  );
}

/** All that is below `/api` is this family's; at the root only the paths that plain LangGraph clients use. */
const PREFIX = /^(?:\/api(?:\/langgraph)?(?=\/|$)|(?=\/(?:threads|runs|assistants)(?:\/|$)))/;

export const isDeerPath = (pathname: string): boolean => PREFIX.test(pathname);

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Answers one request of the family. Never throws. */
export async function handleDeer(request: Request, env: Env, settings: Result<Config>): Promise<Response> {
  if (!settings.ok) return deerProblemResponse(fromProblem(settings.problem));
  const config = settings.value;
  if (request.method === "OPTIONS") return preflight(request, config.cors, METHODS);
  return withCors(await answer(request, env, config), request, config.cors);
}

async function answer(request: Request, env: Env, config: Config): Promise<Response> {
  try {
    const url = new URL(request.url);
    url.pathname = url.pathname.replace(PREFIX, "");
    const plain = { method: request.method, url: url.href };
    const answered = deletesAbove(plain) ? undefined : await matched(router, plain, env, config, request);
    return answered ?? deerProblemResponse(noSuchPath);
  } catch (error) {
    return deerProblemResponse(fromProblem(faultProblem(error)));
  }
}

/** In the order in which clients are told: the method, the key, the thread's name. */
async function dispatch(
  methods: Methods,
  params: IRequest["params"],
  asked: Pick<DeerContext, "request" | "env" | "config">,
): Promise<Response> {
  const { request, env } = asked;
  const handler = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
  if (handler === undefined) {
    const allow = Object.keys(methods).join(", ");
    return deerProblemResponse({ code: "method", detail: "Method Not Allowed" }, { allow });
  }
  const tenant = await tenantOf(request, env);
  if (!tenant.ok) return deerProblemResponse(tenant.problem);
  const named = (name: string): string => decodedParameter(params[name] ?? "");
  const threadId = named("threadId");
  if ("threadId" in params && !THREAD_ID.test(threadId)) {
    return deerProblemResponse(faulty([notMatching(["path", "thread_id"], threadId, THREAD_ID)]));
  }
  return handler({ ...asked, tenant: tenant.value, threadId, runId: named("runId"), name: named("name") });
}
