// A response's body as text, up to a limit. Releases the body in any case.
import { bodyReader } from "../body-reader.ts";

export interface BoundedText {
  text: string;
  /** There was more than the limit. */
  cut: boolean;
}

/** `limit` in bytes. Bytes that are not UTF-8 become U+FFFD. Rejects when the body breaks; `signal` ends the reading. */
export async function boundedText(response: Response, limit: number, signal: AbortSignal): Promise<BoundedText> {
  if (response.body === null) return { text: "", cut: false };
  const body = bodyReader(response.body);
  const release = (): void => {
    body.cancel().catch(() => undefined);
  };
  signal.addEventListener("abort", release);
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
      size += piece.byteLength;
      const surplus = Math.max(0, size - limit);
      text += decoder.decode(piece.subarray(0, piece.byteLength - surplus), { stream: true });
      if (surplus > 0) return { text, cut: true };
    }
    return { text: text + decoder.decode(), cut: false };
  } finally {
    signal.removeEventListener("abort", release);
    release();
  }
}
