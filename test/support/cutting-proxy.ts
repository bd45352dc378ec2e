// A TCP relay between a client and the server that cuts connections on demand, as networks do. It never looks into bytes.
import { connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** Resets every open connection on both sides; how many there were. */
  cut(): number;
  /** Connections accepted so far. */
  accepted(): number;
  stop(): Promise<void>;
}

/** Relays to a port on 127.0.0.1; a connection that the server refuses is reset. */
export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let accepted = 0;
  const pair = (one: Socket, other: Socket): void => {
    open.add(one);
    one.on("error", () => other.resetAndDestroy());
    one.on("close", () => {
      open.delete(one);
      other.destroy();
    });
    one.pipe(other);
  };
  const server = createServer({ noDelay: true }, (client) => {
    accepted += 1;
    const upstream = connect({ port, host: "127.0.0.1", noDelay: true });
    pair(client, upstream);
    pair(upstream, client);
  });
  const cut = (): number => {
    const sockets = [...open];
    for (const socket of sockets) socket.resetAndDestroy();
    return sockets.length / 2;
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return {
    origin: `http://127.0.0.1:${address.port}`,
    cut,
    accepted: () => accepted,
    async stop() {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      await stopped;
    },
  };
}
