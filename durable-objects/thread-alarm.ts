// The one alarm of a thread's object, for all that is to be looked after later. What is due follows from what is stored, so nothing is lost with the object.

/** After an alarm nothing is looked after again before so long. */
const PAUSE_MS = 5_000;

export interface Care {
  /** When it is to be looked after next; `undefined`: not at all. */
  due(now: number): number | undefined;
  wake(): Promise<unknown>;
}

export interface ThreadAlarm {
  /** Sets the alarm for what is due first. In the turn of a change, so that one commit holds both. */
  arm(): void;
  ring(): Promise<void>;
}

export function threadAlarm(ctx: DurableObjectState, cares: readonly Care[]): ThreadAlarm {
  let armed: number | undefined;

  const armFrom = (earliest: number): void => {
    const now = Date.now();
    const times = cares.map(({ due }) => due(now)).filter((time) => time !== undefined);
    if (times.length === 0) return;
    const time = Math.max(earliest, Math.min(...times));
    if (armed !== undefined && armed <= time) return;
    armed = time;
    ctx.waitUntil(ctx.storage.setAlarm(time));
  };

  return {
    arm: () => armFrom(0),
    async ring() {
      armed = undefined;
      const now = Date.now();
      // What fails is due again.
      await Promise.allSettled(cares.map(({ wake }) => wake()));
      armFrom(now + PAUSE_MS);
    },
  };
}
