// A bare workerd with storage on disk that a test kills often, and whose clients wait for it to be back.
import { startBare } from "../support/bare-server.ts";

export interface WorkerdServer {
  readonly origin: string;
  /** How often it was killed. */
  kills(): number;
  /** Resolves when the server takes connections; pending from the moment of a kill on. Rejects once it is stopped. */
  up(): Promise<void>;
  /** SIGKILL for workerd, with all objects in it. */
  kill(): Promise<void>;
  /** Starts again on the same port and storage. */
  start(): Promise<void>;
  /** Ends the server and deletes its storage. */
  stop(): Promise<void>;
}

/** `config` replaces holdfast.config.json. */
export async function startWorkerd(config: unknown): Promise<WorkerdServer> {
  const server = await startBare({ config });
  let kills = 0;
  let up = Promise.withResolvers<void>();
  let stopped = false;
  up.resolve();
  return {
    origin: server.origin,
    kills: () => kills,
    up: () => up.promise,
    async kill() {
      kills++;
      up = Promise.withResolvers();
      await server.kill();
    },
    async start() {
      if (stopped) throw new Error("the server was stopped");
      await server.start();
      up.resolve();
    },
    async stop() {
      stopped = true;
      up = Promise.withResolvers();
      up.promise.catch(() => undefined);
      up.reject(new Error("the server was stopped"));
      await server.stop();
    },
  };
}
