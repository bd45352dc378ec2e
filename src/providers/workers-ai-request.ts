// Builds a Workers AI request: the body that the binding and the REST API share. Reads no secret but the key it is given.
import type { Target } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { headersOf, urlOf } from "./conversation.ts";
import { chatFields } from "./openai-chat-request.ts";
import { workersAiFormat } from "./openai-presets.ts";
import type { AdapterRequest } from "./provider.ts";

/** Never resolved: the binding answers in its place. */
const BINDING = "http://workers-ai.invalid";

export function workersAiRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const { fields, unsupported } = chatFields(request, target, workersAiFormat, "none");
  return {
    url: workersAiUrl(target),
    headers: workersAiHeaders("text/event-stream", target, key),
    body: JSON.stringify(fields),
    unsupported,
  };
}

export const workersAiUrl = ({ baseUrl, model = "", query }: Target): string =>
  urlOf(baseUrl ?? BINDING, `/ai/run/${pathOf(model)}`, query);

export const workersAiHeaders = (accept: string, { headers }: Target, key: string | undefined) =>
  headersOf(
    { "content-type": "application/json", accept, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    headers,
  );

/** A model's name is part of the path, `@cf/meta/...`. */
const pathOf = (model: string): string => model.split("/").map(encodeURIComponent).join("/").replaceAll("%40", "@");
