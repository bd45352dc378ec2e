// A run that somebody wants stopped: the server is asked until it has answered, after pauses that grow, and at once when it is heard of
// again. It knows nothing of what is stopped.
import { keepAsking, type Pauses, usualPauses } from "./keep-asking.ts";

/** `status`: of the answer; null when none came. */
type Stopped<Problem> = { readonly ok: true } | { readonly ok: false; readonly problem: Problem };

export type Stopping = {
  /** The server was heard of: what waits is asked at once. */
  readonly now: () => void;
  /** There is nothing to stop any more. */
  readonly close: () => void;
};

/** `refused`: the server has answered that it will not. */
export const keepStopping = <Problem extends { readonly status: number | null }>(
  stop: () => Promise<Stopped<Problem>>,
  refused: (problem: Problem) => void,
  pauses: Pauses = usualPauses,
): Stopping => {
  let waiting = false;
  let closed = new AbortController();

  const tryOnce = async (): Promise<boolean> => {
    waiting = false;
    const { signal } = closed;
    const answer = await stop();
    if (answer.ok || signal.aborted) return true;
    if (isPassing(answer.problem.status)) return false;
    refused(answer.problem);
    return true;
  };

  const begin = (): void => {
    closed = new AbortController();
    const lost = (): void => {
      waiting = true;
    };
    keepAsking(tryOnce, lost, closed.signal, pauses).catch(reportError);
  };

  begin();
  return {
    now: () => {
      if (!waiting) return;
      closed.abort();
      begin();
    },
    close: () => {
      waiting = false;
      closed.abort();
    },
  };
};

/** The server was not reached, or says nothing of the run for the moment. */
const isPassing = (status: number | null): boolean => status === null || status >= 500 || status === 429;
