// The breaker: what a tenant's runs learn from each other's failures. A benched target is tried after the others until its time is over; then
// one run tries it first. Pure; it never refuses a run.
import type { BreakerSettings } from "../../schemas/config.ts";
import type { TargetNews } from "../../schemas/plan.ts";
import { failurePolicies } from "./fallback.ts";

/** What is held against a target, or against the key it is used with. All times: Unix epoch, milliseconds. */
export interface Bench {
  /** Failures in a row. */
  strikes: number;
  /** How often it was benched without an answer in between. */
  benchings: number;
  /** When it was benched last: an answer to an earlier attempt says nothing about it. */
  since: number;
  /** Benched until then. */
  until: number;
  /** A failure of an attempt begun before then is what it is benched for already. */
  judgedFrom: number;
}

const clean: Bench = { strikes: 0, benchings: 0, since: 0, until: 0, judgedFrom: 0 };

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
  if (breaker.failures === 0 || report.result === "shown") return changes;
  if (report.result === "answered") {
    for (const name of [targetName(report.targetId), scopeName(scope)]) {
      const bench = benches.get(name);
      if (bench !== undefined && isNews(bench, report.startedAt)) changes.set(name, undefined);
    }
    return changes;
  }
  const { counts } = failurePolicies[report.failureClass];
  if (counts === "no") return changes;
  const name = counts === "key" ? scopeName(scope) : targetName(report.targetId);
  const before = benches.get(name) ?? clean;
  const after = struck(before, report, breaker, now);
  if (after !== before) changes.set(name, after);
  return changes;
}

/** Whether an attempt knows more than what the target was benched for. */
const isNews = ({ benchings, since }: Bench, startedAt: number): boolean => benchings === 0 || startedAt > since;

type Failed = Extract<TargetNews["report"], { result: "failed" }>;

function struck(before: Bench, failed: Failed, { failures, coolDownMs }: BreakerSettings, now: number): Bench {
  const hint = hintOf(failed);
  if (failed.startedAt < before.judgedFrom) {
    const longer = hint !== undefined && now + hint > before.until;
    return longer ? { ...before, ...benchedFor(hint, now) } : before;
  }
  const strikes = before.strikes + 1;
  // After a bench the first failure benches again: the target had its chance.
  const benched = hint !== undefined || strikes >= failures || before.benchings > 0;
  if (!benched) return { ...before, strikes };
  const own = Math.max(coolDownMs, Math.min(coolDownMs * 2 ** before.benchings, LONGEST_MS));
  return { strikes, benchings: before.benchings + 1, ...benchedFor(hint ?? own, now) };
}

const benchedFor = (ms: number, now: number) => ({ since: now, until: now + ms, judgedFrom: now + ms });

/** How long the provider itself has said it will take, in milliseconds; one such word is enough. "At once" is none. */
function hintOf({ failureClass, retryAfterMs = 0 }: Failed): number | undefined {
  if (failureClass === "quota") return QUOTA_MS;
  return retryAfterMs > 0 ? Math.min(retryAfterMs, LONGEST_MS) : undefined;
}

/**
 * The targets to try last, by id, the one that is free first before the others. One whose time is over is not among them.
 * When it is the first that a run begun at `startedAt` asks, `probes` benches it for the others until the result is known.
 */
export function benchedOf(
  benches: ReadonlyMap<string, Bench>,
  chain: readonly { id: string; scope: string }[],
  { failures, coolDownMs }: BreakerSettings,
  startedAt: number,
  now: number,
): { benched: string[]; probes: Map<string, Bench> } {
  const probes = new Map<string, Bench>();
  const waits: { id: string; until: number }[] = [];
  for (const [index, { id, scope }] of failures === 0 ? [] : chain.entries()) {
    const held = [targetName(id), scopeName(scope)].flatMap((name) => {
      const bench = benches.get(name);
      return bench === undefined || bench.benchings === 0 ? [] : [{ name, bench }];
    });
    const until = Math.max(0, ...held.map(({ bench }) => bench.until));
    if (until > now) waits.push({ id, until });
    else if (waits.length === index) {
      // All before it are benched. The run began before it was admitted, and so may its attempt.
      for (const { name, bench } of held)
        probes.set(name, { ...bench, until: now + coolDownMs, judgedFrom: startedAt });
    }
  }
  return { benched: waits.toSorted((left, right) => left.until - right.until).map(({ id }) => id), probes };
}

/** The chain as a run tries it: what is benched comes last. */
export function healthyFirst<T extends { id: string }>(chain: readonly T[], benched: readonly string[]): T[] {
  const last = benched.flatMap((id) => chain.filter((target) => target.id === id));
  return [...chain.filter(({ id }) => !benched.includes(id)), ...last];
}
