// The agents of this server as LangGraph's tools ask for them: the default one, and one for every route. Asks no object.
import { assistantSearchSchema } from "../../../../schemas/dialects/deerflow.ts";
import type { DeerAssistant } from "../../../../schemas/dialects/deerflow-answers.ts";
import type { Config } from "../../../../schemas/config.ts";
import { readBody } from "./body.ts";
import { json, type DeerContext } from "./context.ts";
import { deerProblemResponse, notFound } from "./problem.ts";
import { isoTime } from "./time.ts";

export const LEAD_AGENT = "lead_agent";
/** They are of the configuration, which knows no time. */
const SINCE = isoTime(0);

function assistantsOf({ routes }: Config): DeerAssistant[] {
  const others = Object.keys(routes).filter((name) => name !== LEAD_AGENT);
  return [
    assistant(LEAD_AGENT, "system", "DeerFlow lead agent"),
    ...others.map((name) => assistant(name, "user", `The route ${name}`)),
  ];
}

const assistant = (id: string, createdBy: string, description: string): DeerAssistant => ({
  assistant_id: id,
  graph_id: LEAD_AGENT,
  name: id,
  config: {},
  context: {},
  metadata: { created_by: createdBy },
  description,
  created_at: SINCE,
  updated_at: SINCE,
  version: 1,
});

/** `POST /assistants/search` */
export async function searchAssistants({ request, config }: DeerContext): Promise<Response> {
  const body = await readBody(request, assistantSearchSchema, config.limits.maxBodyBytes, {});
  if (!body.ok) return deerProblemResponse(body.problem);
  const { graph_id: graph, name, metadata, limit, offset } = body.value;
  const first = offset ?? 0;
  const found = assistantsOf(config)
    .filter((one) => (graph ?? one.graph_id) === one.graph_id)
    .filter((one) => one.name.toLowerCase().includes((name ?? "").toLowerCase()))
    .filter((one) => Object.entries(metadata ?? {}).every(([key, value]) => Object(one.metadata)[key] === value));
  return json(found.slice(first, first + (limit ?? 10)));
}

/** `GET /assistants/{id}` */
export const readAssistant = (context: DeerContext): Response => answer(context, (found) => found);

/** `GET /assistants/{id}/graph`: the steps of a run are no graph. */
export const readGraph = (context: DeerContext): Response =>
  answer(context, (found) => ({ graph_id: found.graph_id, nodes: [], edges: [] }));

/** `GET /assistants/{id}/schemas` */
export const readSchemas = (context: DeerContext): Response =>
  answer(context, (found) => ({
    graph_id: found.graph_id,
    input_schema: {},
    output_schema: {},
    state_schema: {},
    config_schema: {},
    context_schema: {},
  }));

function answer({ config, name }: DeerContext, form: (found: DeerAssistant) => unknown): Response {
  const found = assistantsOf(config).find(({ assistant_id: id }) => id === name);
  return found === undefined ? deerProblemResponse(notFound(`Assistant ${name} not found`)) : json(form(found));
}
