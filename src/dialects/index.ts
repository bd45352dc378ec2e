// The registry of dialects: one line each. A dialect may come in more than one framing.
import type { Framing } from "../../schemas/framing.ts";
import type { Dialect } from "./dialect.ts";
import { indeRunNdjson, indeRunSse } from "./inderun.ts";

export type DialectId = "inderun";

export const dialects: Record<DialectId, Record<Framing, Dialect>> = {
  inderun: { sse: indeRunSse, ndjson: indeRunNdjson },
};

export const isDialectId = (name: string): name is DialectId => Object.hasOwn(dialects, name);
