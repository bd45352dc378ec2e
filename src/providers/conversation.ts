// What every request builder needs of a start request: its messages, whichever way they were given, and shared checks.
import type { Message, StartRequest } from "../../schemas/run.ts";

/** `messages` win over `prompt`, as in IndeRun's own adapter. */
export function messagesOf(request: StartRequest): Message[] {
  return request.messages ?? [{ role: "user", content: request.prompt ?? "" }];
}

export type Part = { type: "text"; text: string } | { type: "image"; url?: string; data?: string; mediaType?: string };

/** Content as parts; a plain string is one text part. */
export function partsOf(message: Exclude<Message, { role: "tool" }>): Part[] {
  const { content } = message;
  if (content === undefined) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const { url, data, mediaType } = part;
    return {
      type: "image",
      ...(url !== undefined && { url }),
      ...(data !== undefined && { data }),
      ...(mediaType !== undefined && { mediaType }),
    };
  });
}

/** All text of a message's parts, in order. */
export function textOf(message: Exclude<Message, { role: "tool" }>): string {
  return partsOf(message)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("");
}

/** A tool's output as the text a model reads. */
export function outputText(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** `baseUrl` + path + configured query. */
export function urlOf(baseUrl: string | undefined, path: string, query: Record<string, string> | undefined): string {
  const url = new URL((baseUrl ?? "").replace(/\/+$/, "") + path);
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  return url.href;
}
