// The registry of dialects: one line each. A dialect may come in more than one framing.
import type { Framing } from "../../schemas/framing.ts";
import { deerflowSse } from "./deerflow.ts";
import type { Dialect } from "./dialect.ts";
import { indeRunNdjson, indeRunSse } from "./inderun.ts";
import { kebabNdjson } from "./kebab.ts";
import { svedaSse } from "./sveda.ts";

export type DialectId = "inderun" | "sveda" | "deerflow" | "kebab";

export const dialects = {
  inderun: { sse: indeRunSse, ndjson: indeRunNdjson },
  sveda: { sse: svedaSse },
  deerflow: { sse: deerflowSse },
  kebab: { ndjson: kebabNdjson },
} satisfies Record<DialectId, { [F in Framing]?: Dialect }>;

/** The dialect in this framing; `undefined` when it does not come in it. */
export const dialectIn = (id: DialectId, framing: Framing): Dialect | undefined => {
  const framings: { [F in Framing]?: Dialect } = dialects[id];
  return framings[framing];
};

export const isDialectId = (name: string): name is DialectId => Object.hasOwn(dialects, name);
