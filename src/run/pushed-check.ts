// Holds a producer's events against what their types hold and what the run has come to. Names every fault by its path; changes nothing.
import * as v from "valibot";
import { pushedEventSchema, SERVER_TYPES, type PushedEvent } from "../../schemas/push.ts";
import type { ValidationIssue } from "../../schemas/problem.ts";
import type { Payload } from "../../schemas/event.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { wireIssues } from "./issues.ts";
import { parsedJson, recordOf } from "./json-values.ts";
import { findSecretKeys, hasSecretKey } from "./secret-keys.ts";
import { isStepOpen, nextStep, type RunState } from "./state.ts";

const MAX_ISSUES = 20;
/** What the server alone says in a pushed run. */
const SERVER_CODES: readonly unknown[] = ["sequence_released", "output_limit"];
const KNOWN_TYPES: readonly string[] = pushedEventSchema.options.map(({ entries }) => entries.type.literal);

export type EventsCheck = { ok: true; events: PushedEvent[] } | { ok: false; issues: ValidationIssue[] };

/** The events of a batch by themselves. */
export function checkPushedEvents(events: readonly { type: string; payload: Record<string, unknown> }[]): EventsCheck {
  const issues: ValidationIssue[] = [];
  const checked: PushedEvent[] = [];
  for (const [index, { type, payload }] of events.entries()) {
    const event = eventFrom(type, payload);
    const path = `/events/${index}`;
    if ("issues" in event) issues.push(...event.issues.map((one) => ({ ...one, path: path + one.path })));
    else checked.push(event);
    if (type === "terminal" && index < events.length - 1) {
      issues.push(issue(`/events/${index + 1}`, "follows the terminal", "terminal"));
    }
    if (issues.length >= MAX_ISSUES) break;
  }
  return issues.length > 0 ? { ok: false, issues: issues.slice(0, MAX_ISSUES) } : { ok: true, events: checked };
}

function eventFrom(type: string, payload: Record<string, unknown>): PushedEvent | { issues: ValidationIssue[] } {
  if (SERVER_TYPES.includes(type)) return { issues: [issue("/type", "is written by the server only", "not")] };
  // Deeper code recurses.
  if (depthOf(payload, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    return { issues: [issue("/payload", `is nested deeper than ${MAX_JSON_DEPTH} levels`, "maxDepth")] };
  }
  const secrets = findSecretKeys(payload, (path) => isUserMaterial(type, path));
  if (secrets.length > 0) {
    return {
      issues: secrets.map((path) => issue(`/payload${path}`, "looks like a credential", "forbiddenSecretKey")),
    };
  }
  if (!KNOWN_TYPES.includes(type)) return { type: "other", name: type, payload };
  const event: unknown = { type, payload };
  // The event itself goes on, not valibot's copy: the copy lacks a tool's keys named `constructor` and `prototype`.
  if (!v.is(pushedEventSchema, event)) {
    return { issues: wireIssues(v.safeParse(pushedEventSchema, event).issues ?? []) };
  }
  const issues = [...faultsOf(event)];
  return issues.length > 0 ? { issues } : loggable(event);
}

/** Inputs and outputs of tools, and what was found, belong to the user and may name anything. */
const isUserMaterial = (type: string, path: string): boolean =>
  (type === "tool_call" && /^\/(input|echo)$/.test(path)) ||
  (type === "retrieval" && path === "/hits") ||
  (type === "tool_result" && /^\/(output|renderData)$/.test(path));

function* faultsOf(event: Exclude<PushedEvent, { type: "other" }>): Generator<ValidationIssue> {
  switch (event.type) {
    case "content_snapshot":
      for (const field of ["releasedFrom", "covers"] as const) {
        if (event.payload[field] !== undefined) yield serverField(field);
      }
      break;
    case "diagnostic":
      if (SERVER_CODES.includes(event.payload.code)) yield issue("/payload/code", "is a word of the server's", "not");
      break;
    case "step":
      if (event.payload.implied !== undefined) yield serverField("implied");
      break;
    case "tool_call_delta":
      yield* idFaults(event.payload);
      break;
    case "tool_call": {
      const { input, inputJson, echoJson } = event.payload;
      yield* idFaults(event.payload);
      if (input === undefined && inputJson === undefined) yield issue("/payload/input", "is missing", "required");
      yield* textFaults({ inputJson, echoJson }, true);
      break;
    }
    case "tool_result": {
      const { outputJson, renderDataJson } = event.payload;
      yield* idFaults(event.payload);
      yield* textFaults({ outputJson }, false);
      yield* textFaults({ renderDataJson }, true);
      break;
    }
    case "retrieval": {
      const { hits, hitsJson } = event.payload;
      if (hits === undefined && hitsJson === undefined) yield issue("/payload/hits", "is missing", "required");
      yield* textFaults({ hitsJson }, false);
      break;
    }
    case "content_delta":
    case "reasoning_delta":
    case "usage":
    case "tool_progress":
    case "preparation_progress":
    case "context_usage":
    case "title":
    case "max_steps":
    case "terminal":
      break;
  }
}

function* idFaults({ toolCallId }: { toolCallId: string }): Generator<ValidationIssue> {
  const isFit = toolCallId !== "" && toolCallId.isWellFormed();
  if (!isFit) yield issue("/payload/toolCallId", "is empty or not well-formed Unicode", "pattern");
}

function* textFaults(texts: Record<string, string | undefined>, isRecord: boolean): Generator<ValidationIssue> {
  for (const [field, text] of Object.entries(texts)) {
    if (text === undefined) continue;
    const value = parsedJson(text);
    const isFit = isRecord ? recordOf(value) !== undefined : value !== undefined;
    if (!isFit || depthOf(value, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
      yield issue(`/payload/${field}`, isRecord ? "is not the JSON text of an object" : "is not JSON text", "json");
    }
  }
}

/** As the log has it: what looks like a secret, or has a text of its own, travels as JSON text. */
function loggable(event: PushedEvent): PushedEvent {
  switch (event.type) {
    case "tool_call": {
      const { input, inputJson, echo, echoJson, ...rest } = event.payload;
      const payload = { ...rest, ...asText("input", input, inputJson), ...asText("echo", echo, echoJson) };
      return { type: "tool_call", payload: payload satisfies Payload<"tool_call"> };
    }
    case "tool_result": {
      const { output, outputJson, renderData, renderDataJson, ...rest } = event.payload;
      const material = asText("output", output ?? null, outputJson);
      return {
        type: "tool_result",
        payload: { ...rest, ...material, ...asText("renderData", renderData, renderDataJson) },
      };
    }
    case "retrieval": {
      const { hits, hitsJson, ...rest } = event.payload;
      return { type: "retrieval", payload: { ...rest, ...asText("hits", hits, hitsJson) } };
    }
    case "content_delta":
    case "content_snapshot":
    case "reasoning_delta":
    case "diagnostic":
    case "usage":
    case "tool_call_delta":
    case "tool_progress":
    case "preparation_progress":
    case "context_usage":
    case "title":
    case "step":
    case "max_steps":
    case "terminal":
    case "other":
      return event;
  }
}

function asText<K extends string, T>(
  field: K,
  value: T,
  text: string | undefined,
): { [P in K]?: T } & { [P in `${K}Json`]?: string };
function asText(field: string, value: unknown, text: string | undefined): Record<string, unknown> {
  if (text !== undefined) return { [`${field}Json`]: text };
  if (value === undefined) return {};
  return hasSecretKey(value) ? { [`${field}Json`]: JSON.stringify(value) } : { [field]: value };
}

/** What the events of a batch, the first of them at `from`, say against what the run has come to. */
export function pushedFaults(state: RunState, events: readonly PushedEvent[], from: number): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const made = [...state.calls, ...state.finished.flatMap(({ calls }) => calls)];
  const calls = new Map(made.map(({ toolCallId, result }) => [toolCallId, result !== undefined]));
  let next = nextStep(state);
  let isOpen = isStepOpen(state);
  for (const [index, event] of events.entries()) {
    const fault = (field: string, message: string, keyword: string) =>
      issues.push(issue(`/events/${from + index}/payload/${field}`, message, keyword));
    switch (event.type) {
      case "tool_call":
        if (calls.has(event.payload.toolCallId))
          fault("toolCallId", "is that of another call of this run", "uniqueItems");
        calls.set(event.payload.toolCallId, false);
        [next, isOpen] = shown(next, isOpen);
        break;
      case "tool_result":
        if (calls.get(event.payload.toolCallId) !== false)
          fault("toolCallId", "names no open call of this run", "exists");
        calls.set(event.payload.toolCallId, true);
        isOpen = false;
        break;
      case "step":
        if (event.payload.phase === "started") {
          if (event.payload.step !== next) fault("step", `is not ${next}, the number of the next step`, "const");
          next = event.payload.step + 1;
          isOpen = true;
        } else {
          const isLast = event.payload.step === next - 1;
          if (!isLast) fault("step", "is not the number of the present step", "const");
          isOpen = false;
        }
        break;
      case "content_delta":
      case "content_snapshot":
      case "reasoning_delta":
      case "tool_call_delta":
        [next, isOpen] = shown(next, isOpen);
        break;
      case "usage":
        // Of a step that is over a report may still come.
        if (next === 0) [next, isOpen] = shown(next, isOpen);
        break;
      case "diagnostic":
      case "retrieval":
      case "tool_progress":
      case "preparation_progress":
      case "context_usage":
      case "title":
      case "max_steps":
      case "terminal":
      case "other":
        break;
    }
    if (issues.length >= MAX_ISSUES) break;
  }
  return issues;
}

/** An output outside of a step begins the next one. */
const shown = (next: number, isOpen: boolean): [next: number, isOpen: boolean] => [isOpen ? next : next + 1, true];

const serverField = (field: string): ValidationIssue =>
  issue(`/payload/${field}`, "is written by the server only", "not");

const issue = (path: string, message: string, keyword: string): ValidationIssue => ({ path, message, keyword });
