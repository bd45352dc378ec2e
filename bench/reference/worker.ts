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
    const work = url.pathname.split("/")[2] ?? "";
    switch (work) {
      case "frame":
        return new Response(`id: 0\ndata: ${"x".repeat(FRAME_BYTES - 14)}\n\n`, STREAM);
      case "pass":
        return new Response((await call(upstream)).body, STREAM);
      case "kept":
        return new Response(await this.#kept(upstream), STREAM);
      case "drain":
        return Response.json(await readAll(upstream, () => undefined));
      case "rows":
        return Response.json(await this.#store(upstream));
      case "view":
        return new Response(this.#viewer(), STREAM);
      case "broadcast":
        return Response.json(await this.#broadcast(upstream));
      case "index":
        return Response.json(this.#index(await request.json<string[]>()));
      case "find":
        return Response.json(this.#find(await request.json<string[]>()));
      default:
        return new Response(null, { status: 404 });
    }
  }

  /** The body, passed on unread, with one row on disk before the call and one before the first byte. */
  async #kept(upstream: string): Promise<ReadableStream<Uint8Array> | null> {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE event (sequence INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    sql.exec("INSERT INTO event (sequence, body) VALUES (0, 'accepted')");
    await this.ctx.storage.sync();
    const { body } = await call(upstream);
    sql.exec("INSERT INTO event (sequence, body) VALUES (1, 'first')");
    await this.ctx.storage.sync();
    return body;
  }

  /** The text-book log: a row per token, with the least that an event needs. */
  async #store(upstream: string): Promise<{ rowsWritten: number; bytesStored: number }> {
    const { sql } = this.ctx.storage;
    let { rowsWritten } = sql.exec("CREATE TABLE event (sequence INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    let bytesStored = 0;
    let sequence = 0;
    const decoder = new TextDecoder();
    let unread = "";
    await readAll(upstream, (piece) => {
      const blocks = (unread + decoder.decode(piece, { stream: true })).split("\n\n");
      unread = blocks.pop() ?? "";
      for (const text of blocks.map(tokenOf)) {
        if (text === "") continue;
        const event = { sequence, timestamp: Date.now(), type: "content_delta", payload: { text } };
        const body = JSON.stringify(event);
        rowsWritten += sql.exec("INSERT INTO event (sequence, body) VALUES (?, ?)", sequence++, body).rowsWritten;
        bytesStored += body.length;
      }
    });
    return { rowsWritten, bytesStored };
  }

  /** A full-text table as the manual has it. */
  #index(texts: readonly string[]): { rows: number } {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE VIRTUAL TABLE IF NOT EXISTS text USING fts5(body)");
    for (const text of texts) sql.exec("INSERT INTO text (body) VALUES (?)", text);
    return { rows: texts.length };
  }

  #find(terms: readonly string[]): { rows: number; ms: number } {
    const began = Date.now();
    const query = "SELECT rowid, body, rank FROM text WHERE text MATCH ? ORDER BY rank LIMIT 10";
    const rows = this.ctx.storage.sql.exec(query, terms.map((term) => `"${term}"`).join(" OR ")).toArray();
    return { rows: rows.length, ms: Date.now() - began };
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

interface ProviderEvent {
  choices: { delta: { content?: string } }[];
}

/** Empty when the frame brings no text. */
function tokenOf(frame: string): string {
  if (!frame.startsWith("data: {")) return "";
  const event: ProviderEvent = JSON.parse(frame.slice("data: ".length));
  return event.choices[0]?.delta.content ?? "";
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
