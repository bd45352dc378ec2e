// Small calls to the Sveda family that its socket tests need. Asserts nothing.
import { framesOf, post } from "./api.ts";

export interface Minted {
  token: string;
  visitor_id: string;
  expires_in: number;
}

/** An embed token of a server that is open, or of the tenant whose key is given. */
export async function mint(origin: string, fields: Record<string, unknown> = {}, key?: string): Promise<Minted> {
  const headers: Record<string, string> = key === undefined ? {} : { "x-sveda-host-key": key };
  const response = await post(`${origin}/sveda/embed/token`, fields, headers);
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${await response.text()}`);
  const minted: Minted = JSON.parse(await response.text());
  return minted;
}

/** The header that visitors send. */
export const withToken = (token: string): Record<string, string> => ({ "x-sveda-embed-token": token });

export interface SvedaFrame {
  id: string | undefined;
  /** `[DONE]` is the end of a turn. */
  type: string;
  event: Record<string, unknown>;
}

/** The events of a whole body, the end included. */
export function svedaFrames(body: string): SvedaFrame[] {
  return framesOf(body).map(({ id, data }) => {
    if (data === "[DONE]") return { id, type: data, event: {} };
    const event: Record<string, unknown> = JSON.parse(data);
    return { id, type: String(event["type"]), event };
  });
}

/** What a reader of these events shows. */
export const svedaText = (frames: readonly SvedaFrame[]): string =>
  frames.map(({ type, event }) => (type === "text.delta" ? String(event["delta"]) : "")).join("");
