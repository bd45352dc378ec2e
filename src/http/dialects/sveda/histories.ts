// A visitor's chats over HTTP. Another visitor's chat is not there.
import { renameRequestSchema } from "../../../../schemas/dialects/sveda-embed.ts";
import { readBody } from "./body.ts";
import { json, visitorStub, type SvedaContext } from "./context.ts";
import { absent, svedaProblemResponse, unprocessable } from "./problem.ts";
import { visitorOf } from "./visitor.ts";

/** `GET /sveda/chat-histories`: newest first. */
export async function listHistories({ request, env }: SvedaContext): Promise<Response> {
  const visitor = await visitorOf(request, env);
  if (!visitor.ok) return svedaProblemResponse(visitor.problem);
  return json({ histories: await visitorStub(env, visitor.value).list() });
}

export async function readHistory({ request, env, name }: SvedaContext): Promise<Response> {
  const visitor = await visitorOf(request, env);
  if (!visitor.ok) return svedaProblemResponse(visitor.problem);
  const history = await visitorStub(env, visitor.value).read(name);
  return history === undefined ? svedaProblemResponse(absent) : json({ history });
}

export async function renameHistory({ request, env, config, name }: SvedaContext): Promise<Response> {
  const body = await readBody(request, renameRequestSchema, config.limits.maxBodyBytes);
  if (!body.ok) return svedaProblemResponse(body.problem);
  const visitor = await visitorOf(request, env);
  if (!visitor.ok) return svedaProblemResponse(visitor.problem);
  const title = body.value.title.trim();
  if (title === "") return svedaProblemResponse(unprocessable("title is required"));
  return done(await visitorStub(env, visitor.value).rename(name, title));
}

/** A turn that runs is cancelled first. */
export async function deleteHistory({ request, env, name }: SvedaContext): Promise<Response> {
  const visitor = await visitorOf(request, env);
  if (!visitor.ok) return svedaProblemResponse(visitor.problem);
  return done(await visitorStub(env, visitor.value).remove(name));
}

const done = (existed: boolean): Response => (existed ? json({ success: true }) : svedaProblemResponse(absent));
