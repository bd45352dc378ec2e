// What a handler of the DeerFlow family is given, whom it asks, and the answer most of them give.
import type { Config } from "../../../../schemas/config.ts";
import { threadCalls, type ThreadCalls } from "../../thread-calls.ts";

export interface DeerContext {
  request: Request;
  env: Env;
  config: Config;
  tenant: string;
  /** Parameters of the path; empty for routes without them. */
  threadId: string;
  runId: string;
  name: string;
}

/** The object that keeps the thread of the path. */
export const threadOf = ({ env, tenant, threadId }: DeerContext): ThreadCalls => threadCalls(env, tenant, threadId);

export const runStub = ({ env, tenant }: DeerContext, runId: string) => env.RUN.getByName(`${tenant}/${runId}`);

export const json = (value: unknown, headers: HeadersInit = {}): Response => {
  const answer = Response.json(value, { headers });
  answer.headers.set("cache-control", "no-store");
  return answer;
};
