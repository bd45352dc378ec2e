// What a provider wants back with a tool call in the next request: stamped with who made it, bounded, and found again by no other. Knows no format.
import type { Target } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { heldJson } from "../wire/exact-json.ts";
import { jsonText } from "../wire/json.ts";
import type { Adapter } from "./provider.ts";

/** UTF-8 bytes of one call's echo, as JSON. */
const MAX_ECHO = 65_536;

/** Gathers text that is to go back. What is too long to go back is not held, only known to be. */
export function heldText(held: string, more: string): string {
  return held.length > MAX_ECHO ? held : held + more.slice(0, MAX_ECHO + 1);
}

/** A value that is to go back; one that is too large becomes a text that is too. */
export const heldValue = (value: unknown): unknown => {
  const json = jsonText(value) ?? "";
  return json === "" || json.length > MAX_ECHO ? " ".repeat(MAX_ECHO + 1) : value;
};

/**
 * The events with their echoes as they travel: only what the target wants, under its name; `diagnostic` `echo_dropped` for one that is too large, or
 * has a number that a JavaScript number cannot hold.
 */
export function stampEchoes(
  events: ProviderEvent[],
  adapter: Adapter,
  target: Target,
  prefix: string | undefined,
): ProviderEvent[] {
  // Most batches hold no call.
  if (!events.some(({ type }) => type === "tool_call")) return events;
  return events.flatMap((event): ProviderEvent[] => {
    if (event.type !== "tool_call" || event.echo === undefined) return [event];
    const { echo, ...call } = event;
    const wanted = adapter.wanted?.(echo, target);
    if (wanted === undefined) return [call];
    const stamp = { adapter: target.adapter, target: target.id, model: target.model ?? "" };
    const stamped = { ...stamp, ...(prefix !== undefined && { prefix }), ...wanted };
    const length = new TextEncoder().encode(jsonText(stamped) ?? " ".repeat(MAX_ECHO + 1)).byteLength;
    // It is kept as a value, and one with another number is not what the provider wants back.
    const isHeld = heldJson(stamped).json === undefined;
    return length > MAX_ECHO || !isHeld
      ? [{ type: "diagnostic", code: "echo_dropped" }, call]
      : [{ ...call, echo: stamped }];
  });
}

/**
 * The echo of a call, if this target made it. Another one could not read it, or would refuse it: what is encrypted is so for
 * one account and one model.
 */
export function echoFor(target: Target, { echo }: { echo?: JsonRecord | undefined }): JsonRecord | undefined {
  const own =
    echo?.["adapter"] === target.adapter && echo["target"] === target.id && echo["model"] === (target.model ?? "");
  return own ? echo : undefined;
}

/** Tells conversations apart: equal for equal texts in equal order. Guards against mistakes, not against forgers. */
export interface Fingerprint {
  add(text: string): void;
  /** Of all that has been added so far. */
  readonly value: string;
}

export function fingerprint(): Fingerprint {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  const mix = (code: number): void => {
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  };
  return {
    add(text) {
      for (let index = 0; index < text.length; index++) mix(text.charCodeAt(index));
      // Two texts are not their concatenation.
      mix(0x10000);
    },
    get value() {
      const first = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
      const second = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
      return [second, first].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
    },
  };
}
