// Writes server-sent events. One `data:` line per frame, always: data must hold no line end, which JSON text never does.

/** Milliseconds a browser waits before it reconnects. */
const RETRY_MS = 1000;

export const sseFrame = (id: number, data: string): string => `id: ${id}\ndata: ${data}\n\n`;

/** A frame without an id: it cannot move a reader's cursor. */
export const sseData = (data: string): string => `data: ${data}\n\n`;

/** A named frame without an id: it cannot move a reader's cursor. */
export const sseNamedFrame = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;

/** Stands before the first frame without a blank line between: older clients read a blank line as an event. */
export const ssePreamble = (retryMs = RETRY_MS): string => `retry: ${retryMs}\n`;

/** A comment line: keeps the connection alive, shows nothing, moves no cursor. */
export const SSE_HEARTBEAT = ": hb\n";
