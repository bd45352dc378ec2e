// What a host and its page ask for before a turn: a token for a visitor, and what the widget shows.
import * as v from "valibot";
import type { HostServer } from "../../../../schemas/chat.ts";
import type { Policy } from "../../../../schemas/config.ts";
import {
  embedTokenRequestSchema,
  grantsSchema,
  type EmbedTokenRequest,
} from "../../../../schemas/dialects/sveda-embed.ts";
import { capabilitiesOf } from "../../../run/capabilities.ts";
import { hostUrlProblem } from "../../../run/host-url.ts";
import { utf8Length } from "../../../run/utf8.ts";
import { ticketSecret } from "../../tickets.ts";
import { json, visitorStub, type SvedaContext } from "./context.ts";
import { readBody } from "./body.ts";
import { ADMIN_VISITOR, signEmbedToken } from "./embed-token.ts";
import { DEFAULT_MODEL, modelList } from "./models.ts";
import {
  fromProblem,
  svedaFound,
  svedaProblemResponse,
  svedaRefused,
  unprocessable,
  type SvedaResult,
} from "./problem.ts";
import { throttleOf, TOO_MANY_ATTEMPTS } from "./throttle.ts";
import { hostOf, policyOf, visitorOf } from "./visitor.ts";

/** Seconds that a token lives at least, whatever is configured. */
const MIN_TOKEN_TTL = 60;
const MAX_VISITOR_BYTES = 64;

/** `POST /sveda/embed/token`: a token for a visitor, made for a host. */
export async function createEmbedToken({ request, env, config }: SvedaContext): Promise<Response> {
  const { sveda } = config;
  const body = await readBody(request, embedTokenRequestSchema, config.limits.maxBodyBytes, {});
  if (!body.ok) return svedaProblemResponse(body.problem);
  const host = await hostOf(request, env);
  // Attempts with a wrong key use nothing up: they would lock the host out.
  if (!host.ok) return svedaProblemResponse(host.problem);
  const tenant = host.value;
  const retryAfterMs = await env.TENANT.getByName(tenant).countToken(throttleOf(sveda.limits.token));
  if (retryAfterMs !== undefined) {
    return svedaProblemResponse({ code: "rate_limited", message: TOO_MANY_ATTEMPTS, retryAfterMs });
  }
  const asked = wishesOf(body.value, {
    policies: sveda.policies,
    open: env.API_KEYS === undefined,
    origins: sveda.mcpOrigins,
  });
  if (!asked.ok) return svedaProblemResponse(asked.problem);
  const secret = await ticketSecret(env);
  if (!secret.ok) return svedaProblemResponse(fromProblem(secret.problem));
  const { visitor, policy, grants, hostServer } = asked.value;
  const lifetime = Math.max(MIN_TOKEN_TTL, sveda.tokenTtl);
  const now = Date.now();
  if (hostServer !== undefined) {
    const server = { ...hostServer, expiresAt: now + lifetime * 1000 };
    const kept = await keepHostServer(visitorStub(env, { tenant, visitor }), server);
    if (!kept) return svedaProblemResponse({ code: "unavailable", message: "runtime store is unavailable" });
  }
  const token = await signEmbedToken(secret.value, {
    tenant,
    visitor_id: visitor,
    expires_at: Math.floor(now / 1000) + lifetime,
    ...(policy !== undefined && { policy }),
    ...(grants !== undefined && { grants }),
  });
  return json({
    token,
    visitor_id: visitor,
    expires_in: lifetime,
    ...(Object.keys(sveda.appearance).length > 0 && { appearance: sveda.appearance }),
  });
}

async function keepHostServer(chats: ReturnType<typeof visitorStub>, server: HostServer): Promise<boolean> {
  try {
    await chats.keepHostServer(server);
    return true;
  } catch {
    return false;
  }
}

interface Wishes {
  visitor: string;
  policy: string | undefined;
  grants: Policy | undefined;
  hostServer: { url: string; token?: string } | undefined;
}

interface TokenRules {
  policies: Record<string, Policy>;
  open: boolean;
  origins: readonly string[] | undefined;
}

function wishesOf(body: EmbedTokenRequest, { policies, open, origins }: TokenRules): SvedaResult<Wishes> {
  const refuse = (message: string) => svedaRefused(unprocessable(message));
  const url = body.host_mcp_url ?? "";
  const credential = body.host_mcp_token ?? "";
  if (url === "" && credential !== "") return refuse("host_mcp_token requires host_mcp_url");
  const fault = url === "" ? undefined : hostUrlProblem(url, { open, origins });
  if (fault !== undefined) return refuse("host_mcp_url must be a valid URL");
  // Names are UTF-8 where they are kept: what is not would be somebody else there.
  const named = (body.visitor_id ?? "").trim().toWellFormed();
  const visitor = named === "" ? crypto.randomUUID() : named;
  if (visitor.toLowerCase() === ADMIN_VISITOR) return refuse("visitor_id is reserved");
  if (utf8Length(visitor) > MAX_VISITOR_BYTES) return refuse("visitor_id is too long");
  const policy = body.policy?.trim();
  if (policy !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(policy)) return refuse("policy name is invalid");
  if (policy !== undefined && !Object.hasOwn(policies, policy)) return refuse("unknown policy");
  const grants = v.safeParse(v.nullish(grantsSchema), body.grants);
  if (!grants.success) return refuse("grants are invalid");
  return svedaFound({
    visitor,
    policy,
    grants: grants.output ?? undefined,
    hostServer: url === "" ? undefined : { url, ...(credential !== "" && { token: credential }) },
  });
}

/** `GET /sveda/embed/config`: how the widget looks, which models there are, what the visitor may use. */
export async function readEmbedConfig({ request, env, config }: SvedaContext): Promise<Response> {
  const { sveda } = config;
  const visitor = await visitorOf(request, env);
  if (!visitor.ok) return svedaProblemResponse(visitor.problem);
  const policy = policyOf(visitor.value, config);
  if (!policy.ok) return svedaProblemResponse(policy.problem);
  return json({
    default_model: DEFAULT_MODEL,
    model: DEFAULT_MODEL,
    models: modelList(config),
    welcome_message: sveda.welcomeMessage,
    appearance: sveda.appearance,
    capabilities: capabilitiesOf(policy.value, visitor.value.grants),
  });
}
