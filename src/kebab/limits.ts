// How much a collection holds, and a request. Numbers only.

export const MAX_DOCUMENTS = 10_000;
export const MAX_BYTES = 100 * 1024 * 1024;
export const MAX_CHUNKS = 250_000;
/** Of one document. */
export const MAX_DOCUMENT_CHUNKS = 20_000;
/** Bytes of a document, and of a batch. */
export const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;
