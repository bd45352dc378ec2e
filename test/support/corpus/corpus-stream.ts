// One stream of the corpus: what a provider sent, and what a reader must make of the whole of it; and one format: its
// streams and, apart from the adapters' code on purpose, its terminal contract.
import type { AdapterId } from "../../../schemas/config.ts";
import type { FailureClass } from "../../../schemas/failure.ts";
import type { StopReason } from "../../../schemas/outcome.ts";

export type StreamFormat = Exclude<AdapterId, "demo">;

/** `array`: one JSON array over the whole body. `binary`: length-prefixed messages. */
export type Framing = "sse" | "ndjson" | "array" | "binary";

export interface ExpectedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What goes back with it. */
  readonly echo?: Readonly<Record<string, unknown>>;
}

export type ExpectedEnd =
  | { readonly verdict: "complete"; readonly stopReason?: StopReason }
  | { readonly verdict: "truncated" }
  | { readonly verdict: "failed"; readonly failureClass: FailureClass; readonly providerCode?: string };

export interface CorpusStream {
  readonly name: string;
  readonly format: StreamFormat;
  /**
   * Text: LF line ends, one space after a colon, no BOM, no comments; other spellings are made by `respell`. Bytes: a binary
   * format, which has one spelling.
   */
  readonly wire: string | Uint8Array;
  /** How the wire is framed; default: the format's own framing. */
  readonly framing?: Framing;
  readonly end: ExpectedEnd;
  /** All of them default to nothing. */
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly ExpectedCall[];
  readonly usage?: Readonly<Record<string, number>>;
}

export interface CorpusFormat {
  readonly format: StreamFormat;
  readonly framing: Framing;
  readonly streams: readonly CorpusStream[];
  /** First byte offset at which the stream has proven itself whole; infinite when it never does. */
  contractMetAt(stream: CorpusStream): number;
}
