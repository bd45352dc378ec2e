// The breaker: what a tenant's runs learn from each other's failures. A benched target is tried after the others until its time is over; then
// one run tries it first. Pure; it never refuses a run.
import type { BreakerSettings } from "../../schemas/config.ts";
import type { TargetNews } from "../../schemas/plan.ts";
import { failurePolicies } from "./fallback.ts";

/** What is held against a target, or against the key it is used with. */
export interface Bench {
  /** Failures in a row. */
  strikes: number;
  /** How often it was benched without an answer in between. */
  benchings: number;
  /** Unix epoch, milliseconds: benched until then. */
  until: number;
}

/** A used-up quota is not back in a moment. */
const QUOTA_MS = 600_000;
const LONGEST_MS = 600_000;

const targetName = (id: string): string => `target ${id}`;
const scopeName = (scope: string): string => `key ${scope}`;

/** What a report changes: the benches by name that are new, `undefined` for one that is cleared. */
export function judge(
  benches: ReadonlyMap<string, Bench>,
  { report, scope, breaker }: TargetNews,
  now: number,
): Map<string, Bench | undefined> {
  const changes = new Map<string, Bench | undefined>();
  if (breaker.failures === 0 || report.result === "hedged") return changes;
  const names = [targetName(report.targetId), scopeName(scope)];
  if (report.result === "answered") {
    for (const name of names) if (benches.has(name)) changes.set(name, undefined);
    return changes;
  }
  const { counts } = failurePolicies[report.failureClass];
  if (counts === "no") return changes;
  const name = counts === "key" ? scopeName(scope) : targetName(report.targetId);
  const before = benches.get(name) ?? { strikes: 0, benchings: 0, until: 0 };
  const hint = report.failureClass === "quota" ? QUOTA_MS : report.retryAfterMs;
  changes.set(name, struck(before, breaker, counts === "key" ? hint : undefined, now));
  return changes;
}

/** `hint`: the provider itself has said how long, in milliseconds; one such word is enough. */
function struck(before: Bench, breaker: BreakerSettings, hint: number | undefined, now: number): Bench {
  const strikes = before.strikes + 1;
  // After a bench the first failure benches again: the target had its chance.
  const benched = hint !== undefined || strikes >= breaker.failures || before.benchings > 0;
  if (!benched) return { ...before, strikes };
  const own = breaker.coolDownMs * 2 ** before.benchings;
  const until = Math.max(before.until, now + Math.min(hint ?? own, LONGEST_MS));
  return { strikes, benchings: before.benchings + 1, until };
}

/**
 * The targets to try last, by id, the one that is free first before the others. One whose time is over is not among them:
 * this run tries it, and `probes` benches it for the others until the result is known.
 */
export function benchedOf(
  benches: ReadonlyMap<string, Bench>,
  chain: readonly { id: string; scope: string }[],
  { failures, coolDownMs }: BreakerSettings,
  now: number,
): { benched: string[]; probes: Map<string, Bench> } {
  const probes = new Map<string, Bench>();
  const waits: { id: string; until: number }[] = [];
  for (const { id, scope } of failures === 0 ? [] : chain) {
    const held = [targetName(id), scopeName(scope)].flatMap((name) => {
      const bench = benches.get(name);
      return bench === undefined || bench.benchings === 0 ? [] : [{ name, bench }];
    });
    const until = Math.max(0, ...held.map(({ bench }) => bench.until));
    if (until > now) waits.push({ id, until });
    else for (const { name, bench } of held) probes.set(name, { ...bench, until: now + coolDownMs });
  }
  return { benched: waits.toSorted((left, right) => left.until - right.until).map(({ id }) => id), probes };
}

/** The chain as a run tries it: what is benched comes last. */
export function healthyFirst<T extends { id: string }>(chain: readonly T[], benched: readonly string[]): T[] {
  const last = benched.flatMap((id) => chain.filter((target) => target.id === id));
  return [...chain.filter(({ id }) => !benched.includes(id)), ...last];
}
