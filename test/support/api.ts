// Small calls to the native API that most socket tests need. Asserts nothing.

/** A valid request body; `fields` are added or replace. */
export function startBody(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "Say something.", ...fields };
}

export function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  });
}

export interface WireEvent {
  schemaVersion: string;
  runId: string;
  sequence: number;
  timestamp: number;
  type: string;
  payload: Record<string, unknown>;
}

export interface WireFrame {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

/** The frames of a whole SSE body. Reads plainly, by blank lines: the server writes LF only. */
export function framesOf(body: string): WireFrame[] {
  return body
    .split("\n\n")
    .filter((block) => /^data: /m.test(block))
    .map((block) => ({
      id: /^id: (.*)$/m.exec(block)?.[1],
      event: /^event: (.*)$/m.exec(block)?.[1],
      data: /^data: (.*)$/m.exec(block)?.[1] ?? "",
    }));
}

/** The StreamEvents of a whole SSE body. */
export function eventsOf(body: string): WireEvent[] {
  return framesOf(body).map(({ data }): WireEvent => JSON.parse(data));
}

/** What a reader of these events shows at the end. */
export function shownText(events: readonly WireEvent[]): string {
  let text = "";
  for (const { type, payload } of events) {
    if (type === "content_delta") text += String(payload["text"]);
    if (type === "content_snapshot") text = String(payload["text"]);
  }
  return text;
}
