// Lines to a standard stream, each handed over before the next; a reader that has gone is told from a fault.

/** @typedef {"written" | "closed" | { fault: string }} Written */

/** @param {NodeJS.WriteStream} stream */
export function lineWriter(stream) {
  // Each write is told of its fault by itself.
  stream.on("error", () => undefined);
  return {
    /**
     * @param {string} line
     * @returns {Promise<Written>}
     */
    write: (line) =>
      new Promise((resolve) => {
        stream.write(`${line}\n`, (fault) => resolve(fault === undefined || fault === null ? "written" : endOf(fault)));
      }),
  };
}

/**
 * @param {Error & { code?: unknown }} fault
 * @returns {Written}
 */
function endOf({ code, message }) {
  if (code === "EPIPE" || code === "ERR_STREAM_DESTROYED") return "closed";
  return { fault: typeof code === "string" ? code : message };
}
