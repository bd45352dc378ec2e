// Runs whose object dies at a given await, and readers that come back until they have seen the end.
import { env } from "cloudflare:workers";
import * as v from "valibot";
import { expect } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import { runStateSchema, type RunStateView } from "../../schemas/run.ts";

export interface Event {
  sequence: number;
  type: string;
  payload: Record<string, unknown>;
}

/** Where the run was when its object died, and how often. */
export const crashes = new Map<string, string>();

/** Ends the object of `name` once: at its `moment`-th await, counted over all of its lives, or at the first of that name. */
export function crashAt(name: string, moment: number | string, objects: DurableObjectNamespace = env.RUN): void {
  let passed = 0;
  let crashed = false;
  takeGate(async (at, state) => {
    if (state.id.toString() !== objects.idFromName(name).toString()) return;
    if (crashed || (passed++ !== moment && at !== moment)) return;
    crashed = true;
    crashes.set(name, at);
    state.abort("crash");
    await new Promise(() => undefined);
  });
}

/** Reads until the terminal, coming back after every break with the cursor it has. */
export async function readThrough(name: string, seen: Event[], stopAfter = Number.POSITIVE_INFINITY): Promise<void> {
  for (let attempts = 0; attempts < 200; attempts++) {
    const cursor = seen.at(-1)?.sequence;
    const from = cursor === undefined ? ("start" as const) : { after: cursor };
    try {
      const answer = await env.RUN.getByName(name).attach({ dialect: "inderun", framing: "ndjson", from, waitMs: 0 });
      if (!(answer instanceof Response)) {
        if (answer.refused === "not_found") return;
        throw new Error(`refused: ${answer.refused}`);
      }
      if (answer.status === 204 || answer.body === null) return;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        const lines = (rest + read.value).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.trim() !== "") seen.push(JSON.parse(line));
        if (seen.length >= stopAfter) {
          await reader.cancel();
          return;
        }
      }
    } catch (error) {
      if (error instanceof Error && error.message.startsWith("refused")) throw error;
      // The object died under us: come back.
    }
    if (seen.at(-1)?.type === "terminal") return;
  }
  throw new Error("the run never ended for this reader");
}

export function shown(events: readonly Event[]): string {
  let text = "";
  for (const { type, payload } of events) {
    if (type === "content_delta") text += String(payload["text"]);
    if (type === "content_snapshot") text = String(payload["text"]);
  }
  return text;
}

/** The promises of R-DUR-5, for what one reader has collected over all of its connections. */
export function expectWhole(events: readonly Event[]): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
  const end = events.at(-1);
  expect(end?.type).toBe("terminal");
  expect(shown(events)).toBe(end?.payload["finalText"] ?? end?.payload["partialText"]);
}

/** The state as a client gets it: an RPC type cannot carry its open parts. */
export async function view(name: string): Promise<RunStateView | undefined> {
  const state: unknown = await env.RUN.getByName(name).state();
  return state === undefined ? undefined : v.parse(runStateSchema, state);
}
