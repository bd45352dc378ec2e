// Reads what an error object says of its cause, in the shapes that providers give it. Never classes it.
import { asRecord, asText, type JsonRecord } from "../wire/json.ts";

/** What an error object says of its cause. */
export interface ErrorFacts {
  type: string | undefined;
  code: string | number | undefined;
  /** For classing only; never shown, logged or stored. */
  message: string;
}

/** The error in a JSON value: `{error: {...}}` or `{error: "..."}`. */
export function errorFacts(value: unknown): ErrorFacts | undefined {
  const error = asRecord(value)?.["error"];
  const prose = asText(error);
  if (prose !== undefined) return { type: undefined, code: undefined, message: prose };
  const object = asRecord(error);
  return object === undefined ? undefined : factsOf(object);
}

/** The error of an event or answer that is one by its name or status: the object itself will do, and so will nothing. */
export function errorEventFacts(value: unknown): ErrorFacts {
  return errorFacts(value) ?? factsOf(asRecord(value) ?? {});
}

function factsOf(error: JsonRecord): ErrorFacts {
  const code = error["code"];
  return {
    type: asText(error["type"]) ?? asText(error["status"]),
    code: typeof code === "string" || typeof code === "number" ? code : undefined,
    message: asText(error["message"]) ?? "",
  };
}
