// The key with which a client may repeat a start: what it may look like, and the name that its run has.
import { sha256Hex } from "./digest.ts";

/** 1 to 255 visible ASCII characters. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** The run of a tenant's key. */
export const keyedName = async (tenant: string, key: string): Promise<string> =>
  `run_${(await sha256Hex(`${tenant}\n${key}`)).slice(0, 32)}`;
