// What Sveda hosts and visitors send beside turns, and what an embed token says. Shapes only.
import * as v from "valibot";
import { toolModeSchema } from "../config.ts";
import { objectOnly } from "../object-only.ts";

const text = v.nullish(v.string());

/** `null` is as good as nothing. */
const maybe = <S extends v.GenericSchema>(schema: S) =>
  v.optional(
    v.pipe(
      v.nullable(schema),
      v.transform((value) => value ?? undefined),
    ),
  );
const patterns = v.array(v.string());

/**
 * What a token allows at most. A configuration is told of a pattern or a mode that makes no sense; of a host they are taken: such a
 * pattern matches a name alone or nothing, such a mode only reads. Other shapes and unknown fields are refused: passed over, they
 * would set no limit.
 */
export const grantsSchema = objectOnly(
  v.strictObject({
    web: maybe(v.boolean()),
    code: maybe(v.boolean()),
    mcp: maybe(
      objectOnly(
        v.strictObject({
          allow: maybe(patterns),
          domains: maybe(patterns),
          max_mode: maybe(v.pipe(v.string(), v.fallback(toolModeSchema, "read"))),
        }),
      ),
    ),
    client: maybe(objectOnly(v.strictObject({ allow: maybe(patterns) }))),
  }),
);

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

const MAX_VISITOR_CHARACTERS = 64;

/** The claims of an embed token. Unknown ones pass; a grant that cannot be read makes the token invalid. */
export const embedClaimsSchema = objectOnly(
  v.looseObject({
    tenant: v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,40}$/)),
    visitor_id: v.pipe(
      v.string(),
      v.trim(),
      v.minLength(1),
      v.check((name) => Array.from(name).length <= MAX_VISITOR_CHARACTERS),
    ),
    /** Unix epoch, seconds. */
    expires_at: v.number(),
    admin: v.optional(v.unknown()),
    policy: v.nullish(v.pipe(v.string(), v.trim())),
    grants: v.nullish(grantsSchema),
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
