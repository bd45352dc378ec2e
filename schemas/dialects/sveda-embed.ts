// What Sveda hosts and visitors send beside turns, and what an embed token says. Shapes only.
import * as v from "valibot";
import { policySchema } from "../config.ts";
import { objectOnly } from "../object-only.ts";

const text = v.nullish(v.string());

/** `grants` is looked at later, and answered otherwise. */
export const embedTokenRequestSchema = objectOnly(
  v.looseObject({
    visitor_id: text,
    host_mcp_url: text,
    host_mcp_token: text,
    policy: text,
    grants: v.optional(v.unknown()),
  }),
);
export type EmbedTokenRequest = v.InferOutput<typeof embedTokenRequestSchema>;

/** The claims of an embed token. Unknown ones pass; a grant that cannot be read makes the token invalid. */
export const embedClaimsSchema = objectOnly(
  v.looseObject({
    tenant: v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,40}$/)),
    visitor_id: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64)),
    /** Unix epoch, seconds. */
    expires_at: v.number(),
    admin: v.optional(v.unknown()),
    policy: v.nullish(v.pipe(v.string(), v.trim())),
    grants: v.nullish(policySchema),
  }),
);
export type EmbedClaims = v.InferOutput<typeof embedClaimsSchema>;

export const renameRequestSchema = v.looseObject({ title: v.string() });

export const contentReportRequestSchema = objectOnly(v.looseObject({ reason: text, excerpt: text }));

export interface ContentReport {
  /** Unix epoch, milliseconds. */
  at: number;
  visitor: string;
  /** At most 80 characters. */
  reason: string;
  /** At most 4,000 characters; may be empty. */
  excerpt: string;
}
