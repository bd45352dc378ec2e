// The provider requests of a run that are open now. Which are opened and which are ended is the machine's affair.
import type { ProviderEvent } from "../schemas/provider.ts";
import type { StartRequest } from "../schemas/run.ts";
import { withPrefill } from "../src/providers/conversation.ts";
import { adapters } from "../src/providers/index.ts";
import type { Opening } from "../src/run/volatile.ts";
import { startAttempt, type Attempt } from "./attempt.ts";
import { keyOf } from "./target-key.ts";

export interface RunAttempts {
  open(number: number, opening: Opening): void;
  /** Closes the provider's socket. */
  abort(number: number): void;
}

export interface RunAttemptsOptions {
  env: Env;
  /** What a model is sent now; `undefined` when the run has nothing to send any more. */
  request(): StartRequest | undefined;
  emit(attempt: number, events: ProviderEvent[]): void;
}

export function runAttempts({ env, request, emit }: RunAttemptsOptions): RunAttempts {
  /** By number, those whose provider may still speak. */
  const attempts = new Map<number, Attempt>();
  return {
    open(number, { target: planned, prefill }) {
      const asked = request();
      if (asked === undefined) return;
      const attempt = startAttempt({
        adapter: adapters[planned.adapter],
        planned,
        request: prefill === undefined ? asked : withPrefill(asked, prefill),
        key: keyOf(env, planned.target),
        bindings: { ...env },
        emit(events) {
          if (events.at(-1)?.type === "verdict") attempts.delete(number);
          emit(number, events);
        },
        now: () => Date.now(),
      });
      attempts.set(number, attempt);
    },
    abort: (number) => attempts.get(number)?.abort(),
  };
}
