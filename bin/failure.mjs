// What went wrong, as kebab's error.v1 has it, and its two forms on stderr.

/**
 * @typedef {{ code: string, message: string, details: Record<string, unknown>, hint?: string }} Failure
 * @typedef {{ ok: false, failure: Failure }} Failed
 */

/**
 * @param {Failure} failure
 * @returns {Failed}
 */
export const failed = (failure) => ({ ok: false, failure });

/**
 * @param {string} field
 * @param {string} message
 * @returns {Failure}
 */
export const invalidInput = (field, message) => ({
  code: "generic",
  message,
  details: { reason: "invalid_input", field },
});

/**
 * @param {string} path
 * @param {string} cause
 * @returns {Failure}
 */
export const configInvalid = (path, cause) => ({
  code: "config_invalid",
  message: `${path} cannot be used: ${cause}.`,
  details: { path, cause },
});

/**
 * The server is what answers for the model here.
 * @param {string} endpoint
 * @param {string} source what the system says, ECONNREFUSED for example
 * @param {string} [runId]
 * @returns {Failure}
 */
export const unreachable = (endpoint, source, runId) => ({
  code: "model_unreachable",
  message: `The server ${endpoint} cannot be reached (${source}).`,
  details: { endpoint, source, ...(runId !== undefined && { run_id: runId }), retryable: true },
  ...(runId !== undefined && { hint: `The run goes on: GET ${endpoint}/kebab/runs/${runId} has its stream.` }),
});

/**
 * @param {string} message
 * @returns {Failure}
 */
export const generic = (message) => ({ code: "generic", message, details: { chain: [message] } });

/**
 * @param {string} kind
 * @returns {Failure}
 */
export const ioError = (kind) => ({
  code: "io_error",
  message: `A line could not be written (${kind}).`,
  details: { kind },
});

/** @param {Failure} failure */
export const errorLine = ({ code, message, details, hint }) =>
  JSON.stringify({ schema_version: "error.v1", code, message, details, ...(hint !== undefined && { hint }) });

/**
 * One line, without anything that a terminal would obey.
 * @param {Failure} failure
 */
export const errorText = ({ message, hint }) =>
  `error: ${message}${hint === undefined ? "" : ` ${hint}`}`.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");

/**
 * An error.v1 that the server sent, with what it must have; undefined when it is none.
 * @param {unknown} value
 * @returns {Failure | undefined}
 */
export function errorIn(value) {
  const fields = fieldsOf(value);
  if (fields["schema_version"] !== "error.v1") return undefined;
  const { code, message, details, hint } = fields;
  return {
    code: typeof code === "string" ? code : "generic",
    message: typeof message === "string" ? message : "The server names no cause.",
    details: fieldsOf(details),
    ...(typeof hint === "string" && { hint }),
  };
}

/**
 * @param {unknown} value
 * @returns {Record<string, unknown>} empty where it is no object
 */
export const fieldsOf = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
