// One reader of a run over all of its connections: comes back with its cursor whenever the server died. It reads on only
// where it stopped, and never comes back for another reason than a kill.
import { expect } from "vitest";
import { follow, type FollowOptions, type RunReader } from "../support/run-reader.ts";
import { receivedIn, type Received } from "./promises.ts";
import type { WorkerdServer } from "./workerd-server.ts";

export interface Trail {
  readonly received: readonly Received[];
  /** Reads until `enough` holds or the run has ended; comes back after every kill. */
  readUntil(enough: (trail: Trail) => boolean): Promise<void>;
  /** Resolves when this reader has `count` events or the run's end. */
  has(count: number): Promise<void>;
}

export interface TrailOptions {
  server: WorkerdServer;
  url: string;
  /** Reads the answer of this start, repeated after every kill, instead of attaching. */
  body?: unknown;
}

export function trailOf({ server, url, body }: TrailOptions): Trail {
  const received: Received[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const born = server.kills();
  let breaks = 0;

  const last = () => received.at(-1)?.event;
  const ended = (): boolean => last()?.type === "terminal";

  const take = (raw: string, taken: number): number => {
    const all = receivedIn(raw);
    received.push(...all.slice(taken));
    for (const { count, resolve } of waiting) if (received.length >= count || ended()) resolve();
    return all.length;
  };

  /** One connection. False when it broke. */
  const readOnce = async (enough: () => boolean): Promise<boolean> => {
    const cursor = last()?.sequence;
    const options: FollowOptions = {
      ...(body !== undefined && { body }),
      headers: cursor === undefined ? {} : { "last-event-id": String(cursor) },
    };
    let reader: RunReader;
    try {
      reader = await follow(url, options);
    } catch {
      return false;
    }
    expect(reader.response.status, `${url} after ${cursor}`).toBe(200);
    let taken = 0;
    try {
      await reader.untilRaw((raw) => {
        taken = take(raw, taken);
        return enough() || ended();
      });
      return true;
    } catch {
      return false;
    } finally {
      reader.leave();
    }
  };

  const trail: Trail = {
    received,
    async readUntil(enough) {
      while (!ended() && !enough(trail)) {
        await server.up();
        if (await readOnce(() => enough(trail))) continue;
        breaks++;
        expect(breaks, `${url}: connections that broke without a kill`).toBeLessThanOrEqual(server.kills() - born);
      }
    },
    async has(count) {
      if (received.length >= count || ended()) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ count, resolve });
      await promise;
    },
  };
  return trail;
}
