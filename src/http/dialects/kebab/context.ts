// What a handler of the kebab family is given, the object that it asks, and the answer most of them give.
import type { Config } from "../../../../schemas/config.ts";

export interface KebabContext {
  request: Request;
  env: Env;
  config: Config;
  tenant: string;
  /** Path parameters as they were meant; empty where the path has none. */
  collection: string;
  docPath: string;
  runId: string;
}

export const DEFAULT_COLLECTION = "default";

export const isCollectionName = (name: string): boolean => /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/.test(name);

export const collectionStub = (env: Env, tenant: string, collection: string) =>
  env.COLLECTION.getByName(`${tenant}/${collection}`);

export const runStub = (env: Env, tenant: string, runId: string) => env.RUN.getByName(`${tenant}/${runId}`);

const DAY_MS = 86_400_000;

/** 0: nothing ever is stale. */
export const staleMs = ({ kebab }: Config): number => kebab.staleDays * DAY_MS;

/** Whether a document that was updated then is stale. */
export const isStale = (updatedAt: number, config: Config): boolean =>
  staleMs(config) > 0 && updatedAt < Date.now() - staleMs(config);

export const dateText = (at: number): string => new Date(at).toISOString();

export const json = (value: unknown, status: 200 | 201 = 200): Response =>
  Response.json(value, { status, headers: { "cache-control": "no-store" } });
