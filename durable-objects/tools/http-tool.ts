// One call of a tool that is an HTTP address: the input goes out as JSON, signed, and what comes back becomes a result. Never asks
// twice, and follows no redirect.
import type { ToolResult, ToolSource } from "../../schemas/tool.ts";
import { concealedStart, hiddenAt, type Hidden } from "../../src/run/concealed.ts";
import { cutText, ownMessage, shapeOutput, toolError } from "../../src/run/tool-output.ts";
import { parseExact } from "../../src/wire/exact-json.ts";
import { toHex } from "../../src/wire/hex.ts";
import { parseJson } from "../../src/wire/json.ts";
import { secretOf } from "../secret.ts";
import { boundedText } from "./bounded-text.ts";
import type { CallPlace, ToolCallInput } from "./tool-place.ts";
import { webhookKey, webhookSignature } from "./webhook-signature.ts";

/** Bytes of an error answer that are read for its message. */
const MAX_ERROR_BYTES = 65_536;
/** Characters of a call's id as they stand in a header. */
const MAX_ID = 256;

/** Rejects when the tool cannot be reached or breaks off. */
export async function httpTool(
  source: Extract<ToolSource, { type: "http" }>,
  { toolCallId, input, inputJson }: ToolCallInput,
  { env, runId, maxOutputBytes, signal }: CallPlace,
): Promise<ToolResult> {
  const body = inputJson ?? JSON.stringify(input);
  const id = `${runId}/${await headerSafe(toolCallId)}`;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/plain;q=0.9",
    "x-run-id": runId,
    "idempotency-key": id,
    "webhook-id": id,
  };
  const secret = source.keyVar === undefined ? undefined : secretOf(env, source.keyVar);
  if (source.keyVar !== undefined) {
    if (secret === undefined) return toolError(`The secret ${source.keyVar} is not set on this server.`);
    const key = webhookKey(secret);
    if (key === undefined) return toolError(`The secret ${source.keyVar} is not base64 after its prefix.`);
    const timestamp = Math.floor(Date.now() / 1000);
    headers["webhook-timestamp"] = String(timestamp);
    headers["webhook-signature"] = await webhookSignature(key, { id, timestamp, body });
  }
  const response = await fetch(source.url, { method: "POST", headers, body, redirect: "manual", signal });
  return resultOf(response, maxOutputBytes, signal, hiddenAt(source.url, secret));
}

async function resultOf(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
  hidden: Hidden,
): Promise<ToolResult> {
  const { status } = response;
  const { text, cut } = await boundedText(response, response.ok ? maxBytes : MAX_ERROR_BYTES, signal);
  if (status >= 300 && status < 400) {
    return toolError(`The tool answered with a redirect (HTTP ${status}), which is not followed.`);
  }
  if (!response.ok) {
    const message = ownMessage(parseJson(text)?.value);
    return toolError(`The tool answered HTTP ${status}${message === undefined ? "." : `: ${message}`}`, hidden);
  }
  const mediaType = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (mediaType === "text/html" || /^\s*<(!doctype html|html)\b/i.test(text)) {
    return toolError("The tool answered with an HTML page instead of JSON.");
  }
  if (cut) return { output: cutText(concealedStart(text, hidden), maxBytes) };
  if (text.trim() === "") return shapeOutput(undefined, maxBytes, hidden, parseExact);
  if (/[/+]json$/.test(mediaType) && parseJson(text) === undefined) {
    return toolError("The tool's answer says that it is JSON, and is not.");
  }
  return shapeOutput(text, maxBytes, hidden, parseExact);
}

/** A call's id is the model provider's, and may hold anything. What is not safe in a header is escaped; what is too long is hashed. */
async function headerSafe(id: string): Promise<string> {
  const escaped = encodeURIComponent(id.toWellFormed());
  if (escaped.length <= MAX_ID) return escaped;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(escaped));
  return toHex(new Uint8Array(digest));
}
