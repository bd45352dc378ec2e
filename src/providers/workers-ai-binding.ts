// Runs a Workers AI request through the Worker's own binding `AI`, without network or key. A target with a base URL is fetched instead.
import type { Target } from "../../schemas/config.ts";
import type { Failure } from "../../schemas/failure.ts";
import { isRecord, parseJson } from "../wire/json.ts";
import type { AdapterRequest, Bindings } from "./provider.ts";
import { numberIn, statusOf } from "./workers-ai-failure.ts";

type Run = (model: string, inputs: unknown, options: object) => unknown;

export function runInWorker(
  request: AdapterRequest,
  target: Target,
  signal: AbortSignal,
  bindings: Bindings,
): Promise<Response> | Failure | undefined {
  if (target.baseUrl !== undefined) return undefined;
  const run = runOf(bindings["AI"]);
  if (run === undefined) {
    return { failureClass: "auth", message: "The Workers AI binding AI is not configured on this server." };
  }
  return answerOf(run, target.model ?? "", parseJson(request.body)?.value, signal);
}

async function answerOf(run: Run, model: string, inputs: unknown, signal: AbortSignal): Promise<Response> {
  try {
    const answer = await run(model, inputs, { returnRawResponse: true, signal });
    if (answer instanceof Response) return answer;
    // A model that the raw response is not served for.
    return answer instanceof ReadableStream ? new Response(answer) : Response.json(answer);
  } catch (error) {
    const code = error instanceof Error && !signal.aborted ? numberIn(error.message) : undefined;
    if (code === undefined) throw error;
    return Response.json({ errors: [{ code }] }, { status: statusOf(code) });
  }
}

function runOf(binding: unknown): Run | undefined {
  const run: unknown = isRecord(binding) ? binding["run"] : undefined;
  return typeof run === "function" ? (...given) => Reflect.apply(run, binding, given) : undefined;
}
