// The seam of the provider ring: what an adapter must do. An adapter knows one wire format; it knows no run, no client and no clock.
import type { Failure } from "../../schemas/failure.ts";
import type { Target } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { Stage } from "../wire/stage.ts";

export interface AdapterRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Parameters this target cannot honour; each becomes a `diagnostic` event. */
  unsupported: string[];
  /** Tells the conversation from others, for formats that take reasoning back only in its own. */
  prefix?: string;
}

/** An HTTP answer that is not the start of a stream. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** At most 64 KiB of the body, decoded. */
  body: string;
  /** Unix epoch, milliseconds: Retry-After dates are relative to it. */
  now: number;
}

/** What the Worker has beside the network, by binding name. */
export type Bindings = Readonly<Record<string, unknown>>;

export interface Adapter {
  /** Builds the POST to one target. `key` is the target's secret, if it has one. */
  request(request: StartRequest, target: Target, key: string | undefined): AdapterRequest;
  /** For formats whose requests carry a signature over their bytes: the same request, signed, or why it cannot be. */
  sign?(request: AdapterRequest, target: Target, key: string | undefined): Promise<AdapterRequest | Failure>;
  /** A fresh reader of one response body. Its law: same events for any split; exactly one verdict, last. */
  reader(limits: ReaderLimits): Stage<Uint8Array, ProviderEvent>;
  /** What of a call's echo this target wants back with the next request; without this, nothing. */
  wanted?(echo: JsonRecord, target: Target): JsonRecord | undefined;
  /** Classes a response that is no stream of this format. */
  failure(answer: HttpAnswer): Failure;
  /** Whether a body that starts with this character (white space and BOM passed over) can be a stream of this format. */
  starts(character: string): boolean;
  /** Whether this target goes on from a trailing assistant message, rather than answering or refusing it. */
  continues(target: Target): boolean;
  /** It says its own piece, whatever it is asked: no use asking it for a title or a summary. */
  scripted?: true;
  /** For a target inside the Worker: answers instead of `fetch`, or says why it cannot; `undefined` for one that is to be fetched after all. */
  respond?(
    request: AdapterRequest,
    target: Target,
    signal: AbortSignal,
    bindings: Bindings,
  ): Response | Promise<Response> | Failure | undefined;
}

export interface ReaderLimits {
  /** Bytes of one wire event. */
  maxEvent: number;
}
