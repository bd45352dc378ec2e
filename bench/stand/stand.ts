// All that a measure works with: the provider, one or two trees of the product, and the reference. Servers start when they are
// first asked for and end with the stand.
import { randomUUID } from "node:crypto";
import path from "node:path";
import { startBody } from "../../test/support/api.ts";
import { clientOf, type Client, type OpenReading, type Reading } from "./client.ts";
import { collectGarbage } from "./inspector.ts";
import { startProvider, type Provider } from "./provider.ts";
import { startServer, type Server } from "./server.ts";

export interface Product {
  /** `ours`, or `against` for the second tree. */
  readonly name: "ours" | "against";
  readonly client: Client;
  workerd(): number;
  collectGarbage(): Promise<void>;
  /** Starts a run under a name of its own and streams it. */
  stream(): Promise<OpenReading>;
  /** Starts a run; its id. */
  start(): Promise<string>;
  /** Attaches a viewer from the beginning, or as `query` says. */
  view(runId: string, options?: { query?: string; stalled?: boolean }): Promise<OpenReading>;
  stop(): Promise<void>;
}

export type ReferenceWork = "pass" | "kept" | "drain" | "frame" | "rows" | "view" | "broadcast";

export interface Reference {
  readonly client: Client;
  workerd(): number;
  /** Does the work in a new object, or in the one of this name. */
  open(work: ReferenceWork, name?: string): Promise<OpenReading>;
  read(work: ReferenceWork, name?: string): Promise<Reading>;
  stop(): Promise<void>;
}

export interface Stand {
  readonly provider: Provider;
  products(): Promise<readonly Product[]>;
  reference(): Promise<Reference>;
  /** Fresh servers, for what others would have left traces in. The caller stops them. */
  freshProduct(name: Product["name"]): Promise<Product>;
  freshReference(): Promise<Reference>;
  /** The record store of a tree alone, in objects that are named by the path. The caller stops it. */
  freshRecords(name: Product["name"]): Promise<Pick<Product, "client" | "stop">>;
  readonly productNames: readonly Product["name"][];
  /** The checkout that a product is built from. */
  treeOf(name: Product["name"]): string;
  /** What the servers printed as errors last. */
  complaints(): string;
  /** Ends all servers; the next measure gets new ones. For a measure that was given up: its runs may still go on. */
  renew(): Promise<void>;
  stop(): Promise<void>;
}

export interface Trees {
  ours: string;
  against: string | undefined;
}

const REFERENCE_FOLDER = path.resolve(import.meta.dirname, "../reference");
const RECORDS_FOLDER = path.resolve(import.meta.dirname, "../records");
const SSE = "text/event-stream";

export async function openStand(trees: Trees): Promise<Stand> {
  const provider = await startProvider();
  const productNames = trees.against === undefined ? (["ours"] as const) : (["ours", "against"] as const);
  const treeOf = (name: Product["name"]): string => trees[name] ?? trees.ours;
  const servers = new Map<Server, () => Promise<void>>();
  let products: Promise<readonly Product[]> | undefined;
  let reference: Promise<Reference> | undefined;

  const keep = (server: Server) => {
    const client = clientOf(server.port);
    const stop = async (): Promise<void> => {
      servers.delete(server);
      client.close();
      await server.stop();
    };
    servers.set(server, stop);
    return { client, inspectorPort: server.inspectorPort, workerd: () => server.workerd(), stop };
  };

  const freshProduct = async (name: Product["name"]): Promise<Product> => {
    const source = treeOf(name);
    const vars = { CONFIG: JSON.stringify(configFor(provider.baseUrl)) };
    const kept = keep(await startServer({ source, packages: source, vars }));
    const { client, inspectorPort } = kept;
    const ping = (): Promise<unknown> => client.read({ path: "/healthz" });
    await ping();
    return {
      name,
      client,
      workerd: kept.workerd,
      collectGarbage: () => collectGarbage(inspectorPort, ping),
      stop: kept.stop,
      stream: () => client.open({ path: "/v1/runs", body: newRun(), accept: SSE }),
      async start() {
        const { runId, whole } = await client.open({ path: "/v1/runs", body: newRun() });
        await whole;
        return runId;
      },
      view: (runId, { query = "", stalled = false } = {}) =>
        client.open({ path: `/v1/runs/${runId}/events${query}`, accept: SSE, stalled }),
    };
  };

  const freshReference = async (): Promise<Reference> => {
    const kept = keep(await startServer({ source: REFERENCE_FOLDER, packages: trees.ours }));
    const open = (work: ReferenceWork, name: string = randomUUID()): Promise<OpenReading> =>
      kept.client.open({ path: `/${name}/${work}?upstream=${encodeURIComponent(provider.url)}` });
    const read = async (work: ReferenceWork, name?: string): Promise<Reading> => (await open(work, name)).whole;
    await read("frame");
    return { ...kept, open, read };
  };

  const freshRecords = async (name: Product["name"]): Promise<Pick<Product, "client" | "stop">> =>
    keep(await startServer({ source: treeOf(name), packages: treeOf(name), worker: RECORDS_FOLDER }));

  const renew = async (): Promise<void> => {
    products = undefined;
    reference = undefined;
    await Promise.all([...servers.values()].map((stop) => stop()));
  };

  return {
    provider,
    productNames,
    treeOf,
    freshProduct,
    freshReference,
    freshRecords,
    products: () => (products ??= Promise.all(productNames.map(freshProduct))),
    reference: () => (reference ??= freshReference()),
    complaints: () => [...servers.keys()].map((server) => server.complaints()).join(""),
    renew,
    async stop() {
      await renew();
      await provider.stop();
    },
  };
}

const newRun = (): Record<string, unknown> => startBody({ requestId: `bench-${randomUUID()}` });

/** The product's own defaults, and one target. */
function configFor(baseUrl: string): unknown {
  return {
    targets: [{ id: "bench", adapter: "openai-chat", baseUrl, model: "bench-model" }],
    routes: { default: ["bench"] },
  };
}
