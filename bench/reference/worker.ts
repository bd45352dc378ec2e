// What the bench compares with: a Worker and a Durable Object that do the least for each measure. Not part of the product:
// it numbers nothing, recovers nothing and checks nothing. The path is /{object name}/{what to do}?upstream={provider's URL}.
import { DurableObject } from "cloudflare:workers";

interface Env {
  REFERENCE: DurableObjectNamespace<Reference>;
}

const STREAM = { headers: { "content-type": "text/event-stream; charset=utf-8" } };
const FRAME_BYTES = 100;

export class Reference extends DurableObject<Env> {
  #viewers = new Set<ReadableStreamDefaultController<Uint8Array>>();

  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const upstream = url.searchParams.get("upstream") ?? "";
    switch (url.pathname.split("/")[2]) {
      case "frame":
        return new Response(`id: 0\ndata: ${"x".repeat(FRAME_BYTES - 14)}\n\n`, STREAM);
      case "pass":
        return new Response((await call(upstream)).body, STREAM);
      case "drain":
        return Response.json(await readAll(upstream, () => undefined));
      case "rows":
        return Response.json(await this.#store(upstream));
      case "view":
        return new Response(this.#viewer(), STREAM);
      case "broadcast":
        return Response.json(await this.#broadcast(upstream));
      default:
        return new Response(null, { status: 404 });
    }
  }

  /** The text-book log: every piece of the body is a row. */
  async #store(upstream: string): Promise<{ rowsWritten: number; bytesStored: number }> {
    const { sql } = this.ctx.storage;
    let { rowsWritten } = sql.exec("CREATE TABLE frame (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    const decoder = new TextDecoder();
    const { bytes } = await readAll(upstream, (piece) => {
      const cursor = sql.exec("INSERT INTO frame (body) VALUES (?)", decoder.decode(piece, { stream: true }));
      rowsWritten += cursor.rowsWritten;
    });
    return { rowsWritten, bytesStored: bytes };
  }

  #viewer(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#viewers.add(controller);
        controller.enqueue(new TextEncoder().encode(": open\n"));
      },
    });
  }

  /** Every piece of the body goes to every viewer as it comes, unbounded. */
  async #broadcast(upstream: string): Promise<BodySize> {
    const size = await readAll(upstream, (piece) => {
      for (const viewer of this.#viewers) viewer.enqueue(piece);
    });
    for (const viewer of this.#viewers) viewer.close();
    return size;
  }
}

interface BodySize {
  /** How often a read gave bytes. */
  reads: number;
  bytes: number;
}

function call(upstream: string): Promise<Response> {
  return fetch(upstream, { method: "POST", headers: { "content-type": "application/json" }, body: '{"stream":true}' });
}

async function readAll(upstream: string, take: (piece: Uint8Array) => void): Promise<BodySize> {
  const reader = (await call(upstream)).body?.getReader();
  const size = { reads: 0, bytes: 0 };
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    size.reads += 1;
    size.bytes += read.value.byteLength;
    take(read.value);
  }
  return size;
}

// oxlint-disable-next-line import/no-default-export -- the platform asks for one
export default {
  fetch(request, env) {
    const name = new URL(request.url).pathname.split("/")[1] ?? "";
    return env.REFERENCE.getByName(name).fetch(request);
  },
} satisfies ExportedHandler<Env>;
