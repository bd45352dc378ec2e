// The same stream in other spellings that mean the same: line ends, the space after the colon, a BOM, comments.
import type { LineEnd } from "../provider-bytes/framing.ts";
import type { Framing } from "./corpus-stream.ts";

export interface StreamSpelling {
  readonly lineEnd: LineEnd | "mixed";
  readonly space: boolean;
  readonly bom: boolean;
  readonly comments: boolean;
}

const flags = [false, true];
const lineEnds = ["\n", "\r\n", "\r", "mixed"] as const;

/** Every combination. */
export const spellings: readonly StreamSpelling[] = lineEnds.flatMap((lineEnd) =>
  flags.flatMap((space) => flags.flatMap((bom) => flags.map((comments) => ({ lineEnd, space, bom, comments })))),
);

const cycle: readonly LineEnd[] = ["\n", "\r", "\r\n", "\n", "\r\n", "\r"];

/**
 * `wire` has LF line ends and one space after each colon. In NDJSON and in a JSON array a blank line stands for a comment,
 * and there is no colon. Bytes have no other spelling.
 */
export function respell<Wire extends string | Uint8Array>(
  framing: Framing,
  wire: Wire,
  spelling: StreamSpelling,
): Wire | string {
  if (typeof wire !== "string" || framing === "binary") return wire;
  const sse = framing === "sse";
  const lines = wire.split("\n");
  let text = spelling.bom ? "\uFEFF" : "";
  for (const [index, line] of lines.entries()) {
    const isFirstOfFrame = index === 0 || lines[index - 1] === "";
    if (spelling.comments && line !== "" && (isFirstOfFrame || !sse)) {
      text += (sse ? ": keep-alive \u2713" : " ") + endOf(index + 1, spelling);
    }
    text += sse && !spelling.space ? line.replace(/^(data|event): /, "$1:") : line;
    if (index === lines.length - 1) break;
    // A LF right after a CR would belong to it, and the blank line would be none.
    text += spelling.lineEnd === "mixed" && line === "" && text.endsWith("\r") ? "\r\n" : endOf(index, spelling);
  }
  return text;
}

function endOf(index: number, { lineEnd }: StreamSpelling): LineEnd {
  return lineEnd === "mixed" ? (cycle[index % cycle.length] ?? "\n") : lineEnd;
}
