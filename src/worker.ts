// Entry of the Worker: the request handler and the classes of its Durable Objects.
import { handle } from "./http/router.ts";

export { CollectionObject } from "../durable-objects/collection-object.ts";
export { RunObject } from "../durable-objects/run-object.ts";
export { TenantObject } from "../durable-objects/tenant-object.ts";
export { ThreadIndexObject } from "../durable-objects/thread-index-object.ts";
export { ThreadObject } from "../durable-objects/thread-object.ts";
export { VisitorObject } from "../durable-objects/visitor-object.ts";

export default {
  fetch: (request, env) => handle(request, env),
} satisfies ExportedHandler<Env>;
