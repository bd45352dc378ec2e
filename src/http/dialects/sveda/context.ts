// What a handler of the Sveda family is given, whom it asks, and the answer most of them give.
import type { Config } from "../../../../schemas/config.ts";

export interface SvedaContext {
  request: Request;
  env: Env;
  config: Config;
  /** Path parameter; empty for routes without one. */
  name: string;
}

/** The object that keeps a visitor's chats. */
export const visitorStub = (env: Env, { tenant, visitor }: { tenant: string; visitor: string }) =>
  env.VISITOR.getByName(`${tenant}/${visitor}`);

export const runStub = (env: Env, tenant: string, runId: string) => env.RUN.getByName(`${tenant}/${runId}`);

export const json = (value: unknown): Response => Response.json(value, { headers: { "cache-control": "no-store" } });
