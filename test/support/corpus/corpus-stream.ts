// One stream of the corpus: what a provider sent, and what a reader must make of the whole of it. Data only.
import type { AdapterId } from "../../../schemas/config.ts";
import type { FailureClass } from "../../../schemas/failure.ts";
import type { StopReason } from "../../../schemas/outcome.ts";

export type StreamFormat = Exclude<AdapterId, "demo">;

export interface ExpectedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export type ExpectedEnd =
  | { readonly verdict: "complete"; readonly stopReason?: StopReason }
  | { readonly verdict: "truncated" }
  | { readonly verdict: "failed"; readonly failureClass: FailureClass; readonly providerCode?: string };

export interface CorpusStream {
  readonly name: string;
  readonly format: StreamFormat;
  /** LF line ends, one space after a colon, no BOM, no comments: other spellings are made by `respell`. */
  readonly wire: string;
  readonly end: ExpectedEnd;
  /** All of them default to nothing. */
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly ExpectedCall[];
  readonly usage?: Readonly<Record<string, number>>;
}
