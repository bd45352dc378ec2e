// A server and one tenant's calls to its kebab family, as the socket tests need them. Asserts nothing.
import { randomUUID } from "node:crypto";
import { startBare } from "./bare-server.ts";
import type { Holdfast, HoldfastOptions } from "./holdfast-server.ts";

export interface Answered {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

export interface Kebab {
  server: Holdfast;
  base: string;
  call(method: string, path: string, body?: BodyInit, headers?: Record<string, string>): Promise<Answered>;
  put(collection: string, path: string, text: BodyInit, type?: string): Promise<Answered>;
  batch(collection: string, entries: readonly unknown[]): Promise<Answered>;
  search(body: Record<string, unknown>): Promise<Answered>;
}

const CONFIG = { targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] } };

export async function openKebab(more: Record<string, unknown> = {}, options: HoldfastOptions = {}): Promise<Kebab> {
  const server = await startBare({ config: { ...CONFIG, ...more }, ...options });
  const base = `${server.origin}/kebab`;
  const call: Kebab["call"] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${base}${path}`, { method, headers, ...(body !== undefined && { body }) });
    const text = await response.text();
    const parsed: Record<string, unknown> = text === "" ? {} : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: parsed };
  };
  return {
    server,
    base,
    call,
    put: (collection, path, text, type = "text/markdown") =>
      call("PUT", `/collections/${collection}/documents/${path}`, text, { "content-type": type }),
    batch: (collection, entries) =>
      call("POST", `/collections/${collection}/documents`, entries.map((entry) => JSON.stringify(entry)).join("\n"), {
        "content-type": "application/x-ndjson",
      }),
    search: (body) => call("POST", "/search", JSON.stringify(body), { "content-type": "application/json" }),
  };
}

export const newCollection = (): string => `c-${randomUUID()}`;
