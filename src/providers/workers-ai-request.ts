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
    url: urlOf(target.baseUrl ?? BINDING, `/ai/run/${pathOf(target.model ?? "")}`, target.query),
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: "text/event-stream",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      target.headers,
    ),
    body: JSON.stringify(fields),
    unsupported,
  };
}

/** A model's name is part of the path, `@cf/meta/...`. */
const pathOf = (model: string): string => model.split("/").map(encodeURIComponent).join("/").replaceAll("%40", "@");
