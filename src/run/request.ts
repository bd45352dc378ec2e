// From an unknown body to a valid start request, or the list of what is wrong with it. Pure.
import * as v from "valibot";
import type { ValidationIssue } from "../../schemas/problem.ts";
import { startRequestSchema, type Message, type StartRequest } from "../../schemas/run.ts";
import { canonicalJson, depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { wireIssues } from "./issues.ts";
import { parsedJson, recordOf } from "./json-values.ts";
import { findSecretKeys } from "./secret-keys.ts";
import { choiceIssue } from "./tool-choice.ts";
import { utf8Length } from "./utf8.ts";

export type RequestCheck = { ok: true; request: StartRequest } | { ok: false; issues: ValidationIssue[] };

export function checkStartRequest(body: unknown): RequestCheck {
  if (depthOf(body, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    return refuse("", `is nested deeper than ${MAX_JSON_DEPTH} levels`, "maxDepth");
  }
  const secrets = findSecretKeys(body, isUserMaterial);
  if (secrets.length > 0) {
    return {
      ok: false,
      issues: secrets.slice(0, 20).map((path) => ({
        path,
        message: "looks like a credential; secrets must not travel in a request",
        keyword: "forbiddenSecretKey",
      })),
    };
  }
  // The body itself goes on, not valibot's copy: the copy lacks user keys named `constructor` and `prototype`.
  if (!v.is(startRequestSchema, body)) {
    return { ok: false, issues: wireIssues(v.safeParse(startRequestSchema, body).issues ?? []) };
  }
  const issues = [...semanticIssues(body)];
  return issues.length > 0 ? { ok: false, issues } : { ok: true, request: body };
}

/** UTF-8 bytes of everything in the request that a model will read. */
export function promptBytes(request: Pick<StartRequest, "prompt" | "messages" | "tools" | "toolResults">): number {
  let bytes = utf8Length(request.prompt ?? "");
  if (request.messages !== undefined) bytes += utf8Length(JSON.stringify(request.messages));
  if (request.tools !== undefined) bytes += utf8Length(JSON.stringify(request.tools));
  if (request.toolResults !== undefined) bytes += utf8Length(JSON.stringify(request.toolResults));
  return bytes;
}

/** Tool parameters, inputs and outputs belong to the user and may name anything. */
function isUserMaterial(path: string): boolean {
  return (
    /^\/tools\/\d+\/parameters$/.test(path) ||
    /^\/messages\/\d+\/(output|toolCalls\/\d+\/(input|echo))$/.test(path) ||
    /^\/toolResults\/\d+\/output$/.test(path)
  );
}

function* semanticIssues(request: StartRequest): Generator<ValidationIssue> {
  const { constraints } = request;
  if (request.source === "push") yield* pushIssues(request);
  if (request.previousRunId !== undefined) yield* continuationIssues(request);
  else {
    if (request.source !== "push" && request.prompt === undefined && request.messages === undefined) {
      yield issue("", "needs 'prompt' or 'messages'", "anyOf");
    }
    for (const field of ["toolResults", "toolDecisions"] as const) {
      if (request[field] !== undefined) yield issue(`/${field}`, "needs 'previousRunId'", "dependentRequired");
    }
  }
  const local = constraints?.privacy === "local_required" && constraints.cloud === "required";
  const cloud = constraints?.privacy === "cloud_required" && constraints.cloud === "forbidden";
  if (local || cloud) {
    yield issue("/constraints", "'privacy' and 'cloud' contradict each other", "routingConstraintConflict");
  }
  if (request.route !== undefined && request.targets !== undefined) {
    yield issue("/targets", "cannot be given together with 'route'", "oneOf");
  }
  for (const [index, message] of (request.messages ?? []).entries()) {
    yield* messageIssues(message, `/messages/${index}`);
  }
  for (const [index, { output, outputJson }] of (request.toolResults ?? []).entries()) {
    yield* textIssues(`/toolResults/${index}/outputJson`, output, outputJson);
  }
  const names = new Set<string>();
  for (const [index, tool] of (request.tools ?? []).entries()) {
    if (names.has(tool.name)) yield issue(`/tools/${index}/name`, "is used twice", "uniqueItems");
    names.add(tool.name);
  }
  // Which tools the server adds, or an earlier run had, is not known here.
  if (request.serverTools !== undefined || request.previousRunId !== undefined) return;
  const choice = choiceIssue(request);
  if (choice !== undefined) yield choice;
}

/** What chooses a provider, or tells one what to do, says nothing to a run that none carries out. */
function* pushIssues(request: StartRequest): Generator<ValidationIssue> {
  for (const path of providerFields) {
    const [field = "", inner] = path.split("/");
    const value: unknown = recordOf(request)?.[field];
    const given = inner === undefined ? value : recordOf(value)?.[inner];
    if (given !== undefined) yield issue(`/${path}`, "cannot be given together with 'source' push", "not");
  }
}

/** Fields of a start, some of them inside of another, that a pushed run does not take. */
export const providerFields: readonly string[] = [
  "route",
  "targets",
  "generation",
  "constraints/privacy",
  "constraints/cloud",
  "preferences",
  "authContextRef",
  "onMidStreamFailure",
  "clocks/headersMs",
  "clocks/firstOutputMs",
  "clocks/progressMs",
  "tools",
  "toolChoice",
  "serverTools",
  "maxSteps",
  "previousRunId",
];

/** A run that goes on from another has that one's conversation. What its calls wait for is not known here. */
function* continuationIssues(request: StartRequest): Generator<ValidationIssue> {
  for (const field of ["prompt", "messages"] as const) {
    if (request[field] !== undefined) {
      yield issue(`/${field}`, "cannot be given together with 'previousRunId'", "oneOf");
    }
  }
}

function* messageIssues(message: Message, path: string): Generator<ValidationIssue> {
  if (message.role === "tool") {
    if (!("output" in message)) yield issue(`${path}/output`, "is missing", "required");
    yield* textIssues(`${path}/outputJson`, message.output, message.outputJson);
    return;
  }
  if (message.role === "assistant") {
    for (const [index, { input, inputJson }] of (message.toolCalls ?? []).entries()) {
      yield* textIssues(`${path}/toolCalls/${index}/inputJson`, input, inputJson);
    }
  }
  if (message.content === undefined && (message.role !== "assistant" || message.toolCalls === undefined)) {
    yield issue(`${path}/content`, "is missing; an assistant message needs 'content' or 'toolCalls'", "required");
  }
  if (!Array.isArray(message.content)) return;
  for (const [index, part] of message.content.entries()) {
    if (part.type === "text") continue;
    const at = `${path}/content/${index}`;
    if ((part.url === undefined) === (part.data === undefined)) {
      yield issue(at, "needs exactly one of 'url' and 'data'", "oneOf");
    }
    if (part.data !== undefined && part.mediaType === undefined) {
      yield issue(`${at}/mediaType`, "is missing; 'data' needs it", "dependentRequired");
    }
  }
}

/** A value and its text are two ways to say one thing. */
function* textIssues(path: string, value: unknown, text: string | undefined): Generator<ValidationIssue> {
  if (text === undefined) return;
  const parsed = parsedJson(text);
  const isDeep = depthOf(parsed, MAX_JSON_DEPTH) > MAX_JSON_DEPTH;
  if (isDeep || parsed === undefined || canonicalJson(parsed) !== canonicalJson(value)) {
    yield issue(path, "is not the JSON text of the value beside it", "const");
  }
}

const issue = (path: string, message: string, keyword: string): ValidationIssue => ({ path, message, keyword });

const refuse = (path: string, message: string, keyword: string): RequestCheck => ({
  ok: false,
  issues: [issue(path, message, keyword)],
});
