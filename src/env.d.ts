// Bindings and secrets of the Worker and its objects. Provider keys are further secrets, read by the name a target gives.
declare namespace Cloudflare {
  interface Env {
    RUN: DurableObjectNamespace<import("../durable-objects/run-object.ts").RunObject>;
    TENANT: DurableObjectNamespace<import("../durable-objects/tenant-object.ts").TenantObject>;
    VISITOR: DurableObjectNamespace<import("../durable-objects/visitor-object.ts").VisitorObject>;
    THREAD: DurableObjectNamespace<import("../durable-objects/thread-object.ts").ThreadObject>;
    THREAD_INDEX: DurableObjectNamespace<import("../durable-objects/thread-index-object.ts").ThreadIndexObject>;
    COLLECTION: DurableObjectNamespace<import("../durable-objects/collection-object.ts").CollectionObject>;
    /** Replaces holdfast.config.json whole: an object, or its JSON text. */
    CONFIG?: unknown;
    /** JSON: hex SHA-256 of a key to its tenant. Without it the Worker is open, on localhost only. */
    API_KEYS?: string;
    TICKET_SECRET?: string;
  }
}

interface Env extends Cloudflare.Env {}

/** Built by `npm run build:console`: the console's files by path. A checkout in which nothing was built has none. */
declare module "*/dist/console.json" {
  const files: Record<string, { type: string; etag: string; text: string }>;
  export default files;
}
