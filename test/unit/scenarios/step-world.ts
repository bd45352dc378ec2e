// A run of the agent loop with a shell around it as careless as the real one may be: it dies at any moment, keeps what was flushed, and makes calls only then. Judges nothing.
import type { LogEvent } from "../../../schemas/event.ts";
import type { ProviderEvent } from "../../../schemas/provider.ts";
import { evolve } from "../../../src/run/evolve.ts";
import { transition, type Input } from "../../../src/run/machine.ts";
import { initialState, liveAttempts, type Charter, type RunState } from "../../../src/run/state.ts";
import type { Effect, Step } from "../../../src/run/step.ts";
import { knownEvents } from "./drive.ts";

export type Happening =
  | { type: "says"; events: readonly ProviderEvent[] }
  | { type: "late"; attempt: number; events: readonly ProviderEvent[] }
  /** Everything logged so far is on disk. */
  | { type: "flush" }
  /** The tool of one of the calls that run gives its output. */
  | { type: "returns"; which: number; output: unknown; isError: boolean }
  | { type: "stray"; toolCallId: string }
  | { type: "progress" }
  | { type: "title"; title?: string }
  | { type: "retry" | "hedge" | "deadline" }
  | { type: "cancel"; reason?: string }
  /** The object dies. `kept`: how many of the flushes that were not confirmed yet had reached the disk all the same. */
  | { type: "crash"; kept: number; seen: number };

export interface World {
  state: RunState;
  /** What is logged, one entry per input: a flush holds whole ones. */
  batches: LogEvent[][];
  /** How many of them are surely on disk. */
  durable: number;
  /** Calls that the machine has asked for and that wait for the disk, and those whose tools run. */
  asked: Extract<Effect, { type: "call" }>[];
  running: string[];
  /** How often the tool of each call was run, over all lives of the object. */
  runs: Map<string, number>;
  recoveries: number;
  at: number;
}

export const worldOf = (charter: Charter): World => ({
  state: initialState(charter),
  batches: [],
  durable: 0,
  asked: [],
  running: [],
  runs: new Map(),
  recoveries: 0,
  at: charter.startedAt,
});

export const logOf = ({ batches }: World): LogEvent[] => batches.flat();

/** One input, with the state that it met. */
export interface Turn {
  before: RunState;
  input: Input;
  step: Step;
}

/** Lets it happen. `seen` is told of every input. */
export function happen(world: World, happening: Happening, seen: (world: World, turn: Turn) => void): void {
  world.at += 100;
  const { at } = world;
  const give = (input: Input): void => apply(world, input, seen);
  switch (happening.type) {
    case "says": {
      const live = liveAttempts(world.state).at(-1);
      if (live !== undefined) give({ type: "provider", at, attempt: live.attempt, events: happening.events });
      break;
    }
    case "late":
      give({ type: "provider", at, attempt: happening.attempt, events: happening.events });
      break;
    case "flush":
      world.durable = world.batches.length;
      for (const { toolCallId } of world.asked) {
        world.running.push(toolCallId);
        world.runs.set(toolCallId, (world.runs.get(toolCallId) ?? 0) + 1);
      }
      world.asked = [];
      break;
    case "returns": {
      const toolCallId = world.running[happening.which % Math.max(1, world.running.length)];
      if (toolCallId === undefined) break;
      world.running = world.running.filter((id) => id !== toolCallId);
      const { output, isError } = happening;
      give({ type: "tool", at, toolCallId, result: { output, ...(isError && { isError }) } });
      break;
    }
    case "stray":
      // The tool of a call that is asked for and not made yet cannot answer.
      if (world.asked.some(({ toolCallId }) => toolCallId === happening.toolCallId)) break;
      if (world.running.includes(happening.toolCallId)) break;
      give({ type: "tool", at, toolCallId: happening.toolCallId, result: { output: "stray" } });
      break;
    case "progress":
      give({ type: "tool_progress", at, tasks: [{ id: "t", label: "On it", status: "running" }] });
      break;
    case "title":
      give({ type: "title", at, ...(happening.title !== undefined && { title: happening.title }) });
      break;
    case "retry":
    case "hedge":
    case "deadline":
      give({ type: happening.type, at });
      break;
    case "cancel":
      give({ type: "cancel", at, ...(happening.reason !== undefined && { reason: happening.reason }) });
      break;
    case "crash":
      crash(world, happening, seen);
      break;
  }
}

export function apply(world: World, input: Input, seen: (world: World, turn: Turn) => void): void {
  const before = world.state;
  const step = transition(before, input);
  world.state = step.state;
  if (step.events.length > 0) world.batches.push(knownEvents(step));
  for (const effect of step.effects) if (effect.type === "call") world.asked.push(effect);
  if (world.batches.length === 1) world.durable = 1;
  seen(world, { before, input, step });
}

function crash(
  world: World,
  { kept, seen: released }: Extract<Happening, { type: "crash" }>,
  seen: (world: World, turn: Turn) => void,
): void {
  if (world.state.phase === "accepted") return;
  const lastSeen = world.state.nextSequence - 1;
  world.batches = world.batches.slice(0, world.durable + kept);
  world.asked = [];
  world.running = [];
  const stored: LogEvent[] = JSON.parse(JSON.stringify(logOf(world)));
  world.state = stored.reduce(evolve, initialState(world.state.charter));
  if (world.state.phase === "sealed") return;
  const reservedTo = Math.max(world.state.nextSequence - 1, lastSeen) + released;
  world.recoveries++;
  apply(world, { type: "recover", at: world.at, reservedTo, damaged: false }, seen);
  world.durable = world.batches.length;
  apply(world, { type: "resume", at: world.at, recoveries: world.recoveries }, seen);
}
