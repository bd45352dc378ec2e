// Many searches in one request, a line of NDJSON each: what goes wrong with one is that one's error. Searches nothing itself.
import type { BulkItem, BulkResponse, SearchResponse } from "../../../../schemas/dialects/kebab.ts";
import { isRecord, parseJson } from "../../../wire/json.ts";
import { readBytes, utf8Text } from "../../body.ts";
import { json, type KebabContext } from "./context.ts";
import {
  invalidInput,
  kebabError,
  kebabProblemResponse,
  kebabRefused,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";

const MAX_LINES = 100;
/** Searches at a time. */
const AT_ONCE = 8;
/** UTF-16 units of answers; those behind are told to ask alone. */
const MAX_ANSWERS = 8_388_608;

type Search = (query: unknown) => Promise<KebabResult<SearchResponse>>;

export const isLines = (request: Request): boolean =>
  request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() === "application/x-ndjson";

/** Answers in the order of the lines. */
export async function searchAll({ request, config }: KebabContext, search: Search): Promise<Response> {
  const { maxBodyBytes } = config.limits;
  const bytes = request.body === null ? new Uint8Array() : await readBytes(request.body, maxBodyBytes);
  if (bytes === undefined) {
    return kebabProblemResponse({ reason: "too_large", message: `The body is larger than ${maxBodyBytes} bytes.` });
  }
  const text = utf8Text(bytes);
  if (text === undefined) return kebabProblemResponse(invalidInput("body", "The body is not UTF-8."));
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0 || lines.length > MAX_LINES) {
    return kebabProblemResponse(invalidInput("body", `The body must be 1 to ${MAX_LINES} lines, a search each.`));
  }
  const results: BulkItem[] = [];
  let room = MAX_ANSWERS;
  while (results.length < lines.length) {
    const next = lines.slice(results.length, results.length + AT_ONCE);
    const items = await Promise.all(next.map((line) => itemOf(line, room > 0 ? search : full)));
    results.push(...items);
    room -= JSON.stringify(items).length;
  }
  const failed = results.filter(({ error }) => error !== null).length;
  return json({
    schema_version: "bulk_search_response.v1",
    results,
    summary: { total: results.length, succeeded: results.length - failed, failed },
  } satisfies BulkResponse);
}

async function itemOf(line: string, search: Search): Promise<BulkItem> {
  const query = parseJson(line)?.value;
  if (!isRecord(query)) return { ...item, query: {}, response: null, error: kebabError(noObject) };
  const found = await search(query);
  return found.ok
    ? { ...item, query, response: found.value, error: null }
    : { ...item, query, response: null, error: kebabError(found.problem) };
}

const item = { schema_version: "bulk_search_item.v1" } as const;

const noObject: KebabProblem = invalidInput("body", "The line is not a JSON object.");

const full: Search = async () =>
  kebabRefused({ reason: "too_large", message: "The answers before this one are as much as one response holds." });
