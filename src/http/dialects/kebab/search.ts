// `POST /kebab/search`: what of a collection fits a question, or each of many. Asks no model but the one that embeds.
import * as v from "valibot";
import type { SearchAsk } from "../../../../schemas/collection.ts";
import { searchRequestSchema, type SearchRequest, type SearchResponse } from "../../../../schemas/dialects/kebab.ts";
import type { Config } from "../../../../schemas/config.ts";
import { readCursor } from "../../../kebab/cursor.ts";
import { embedPlanOf } from "../../../run/embed-plan.ts";
import { wireIssues } from "../../../run/issues.ts";
import { readJson } from "../../body.ts";
import { isLines, searchAll } from "./bulk.ts";
import { collectionStub, DEFAULT_COLLECTION, isCollectionName, json, staleMs, type KebabContext } from "./context.ts";
import {
  fromProblem,
  invalidInput,
  kebabFound,
  kebabProblemResponse,
  kebabRefused,
  noEmbeddings,
  searchProblem,
  staleCursor,
  type KebabResult,
} from "./problem.ts";

export const DEFAULT_K = 10;
export const DEFAULT_SNIPPET = 220;

export async function search(context: KebabContext): Promise<Response> {
  const { request, config } = context;
  if (isLines(request)) return searchAll(context, (query) => searchFor(context, query));
  const body = await readJson(request, config.limits.maxBodyBytes);
  if (!body.ok) return kebabProblemResponse(fromProblem(body.problem));
  const found = await searchFor(context, body.value ?? {});
  return found.ok ? json(found.value) : kebabProblemResponse(found.problem);
}

async function searchFor({ env, config, tenant }: KebabContext, query: unknown): Promise<KebabResult<SearchResponse>> {
  const asked = readRequest(query, config);
  if (!asked.ok) return asked;
  const { collection, ask } = asked.value;
  const answer = await collectionStub(env, tenant, collection).search(ask);
  if (!answer.found) return kebabRefused(searchProblem(answer, collection));
  const { hits, nextCursor, truncated, trace } = answer;
  return kebabFound({
    schema_version: "search_response.v1",
    hits,
    next_cursor: nextCursor,
    truncated,
    ...(trace !== undefined && { trace }),
  });
}

interface Asked {
  collection: string;
  ask: SearchAsk;
}

function readRequest(query: unknown, config: Config): KebabResult<Asked> {
  const parsed = v.safeParse(searchRequestSchema, query);
  if (!parsed.success) {
    const [first] = wireIssues(parsed.issues);
    const field = first?.path.replace(/^\//, "") ?? "body";
    return kebabRefused(invalidInput(field, `The request is not valid: ${field} ${first?.message ?? ""}.`));
  }
  const collection = parsed.output.collection ?? DEFAULT_COLLECTION;
  if (parsed.output.query.trim() === "") return kebabRefused(invalidInput("query", "The question is empty."));
  if (!isCollectionName(collection)) return kebabRefused(invalidInput("collection", "This names no collection."));
  if ((parsed.output.mode ?? "lexical") !== "lexical" && embedPlanOf(config) === undefined) {
    return kebabRefused(noEmbeddings);
  }
  const ask = askOf(parsed.output, config);
  return ask === undefined ? kebabRefused(staleCursor) : kebabFound({ collection, ask });
}

/** `undefined` when the cursor is none. */
function askOf(asked: SearchRequest, config: Config): SearchAsk | undefined {
  const cursor = asked.cursor ?? undefined;
  const at = cursor === undefined ? undefined : readCursor(cursor);
  if (cursor !== undefined && at === undefined) return undefined;
  return {
    query: asked.query,
    mode: asked.mode ?? "lexical",
    embed: embedPlanOf(config),
    k: asked.k ?? DEFAULT_K,
    snippetChars: asked.snippet_chars ?? DEFAULT_SNIPPET,
    maxTokens: asked.max_tokens ?? undefined,
    cursor: at,
    trace: asked.trace ?? false,
    staleMs: staleMs(config),
    filters: {
      tags: asked.tags ?? undefined,
      lang: asked.lang ?? undefined,
      pathGlob: asked.path_glob ?? undefined,
      trustMin: asked.trust_min ?? undefined,
      media: asked.media ?? undefined,
      ingestedAfter: typeof asked.ingested_after === "string" ? Date.parse(asked.ingested_after) : undefined,
      docId: asked.doc_id ?? undefined,
    },
  };
}
