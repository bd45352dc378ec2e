// Brings files into collections, one after another, and tells how far each is. What becomes of a file is in uploads.ts.
import { checkFile } from "./files.ts";
import { followLines, type LineNotice } from "./follow-lines.ts";
import { documentPath, type Send } from "./kebab-api.ts";
import { advanced, isOver, type Upload, type UploadState } from "./uploads.ts";

export type UploadFlow = {
  readonly rows: () => readonly Upload[];
  readonly add: (files: readonly File[], collection: string) => void;
  /** Those that are over are shown no more. */
  readonly clear: () => void;
};

/** `changed`: this collection has another document now. */
export const createUploadFlow = (send: Send, draw: () => void, changed: (collection: string) => void): UploadFlow => {
  const files = new Map<string, File>();
  let rows: readonly Upload[] = [];
  let going = false;

  const set = (id: string, state: UploadState): void => {
    rows = rows.map((row) => (row.id === id ? { ...row, state } : row));
    draw();
  };

  const stateOf = (id: string): UploadState | undefined => rows.find((row) => row.id === id)?.state;

  const next = async (): Promise<void> => {
    if (going) return;
    going = true;
    try {
      for (;;) {
        const upload = rows.find(({ state }) => state.kind === "waiting");
        if (upload === undefined) return;
        await bring(upload);
        files.delete(upload.id);
        if (stateOf(upload.id)?.kind === "done") changed(upload.collection);
      }
    } finally {
      going = false;
    }
  };

  const bring = async ({ id, name, collection }: Upload): Promise<void> => {
    const file = files.get(id);
    if (file === undefined) return;
    const checked = checkFile(name, file.type, file.size);
    if (!checked.send) return set(id, { kind: "refused", words: checked.words });
    set(id, { kind: "going", fraction: null, words: "Sending…" });
    const body = await file.arrayBuffer().catch(() => undefined);
    if (body === undefined)
      return set(id, { kind: "refused", words: "It could not be read. If it is a folder, drop the files in it." });
    // Sent again after a lost connection it is the same to the server.
    const headers = { "Content-Type": checked.contentType, "Idempotency-Key": `upload-${id}` };
    const request = { method: "PUT", path: documentPath(collection, name), headers, body };
    await new Promise<void>((resolve) => {
      followLines(send, { kind: "begin", request }, (notice: LineNotice) => {
        const before = stateOf(id);
        if (before !== undefined) set(id, advanced(before, notice));
        if (notice.kind === "ended" || notice.kind === "refused") resolve();
      });
    });
  };

  return {
    rows: () => rows,
    add: (added, collection) => {
      // What is over makes room for what comes.
      rows = rows.filter((row) => !isOver(row));
      for (const file of added) {
        const id = crypto.randomUUID();
        files.set(id, file);
        const name = file.webkitRelativePath === "" ? file.name : file.webkitRelativePath;
        rows = [...rows, { id, name, collection, state: { kind: "waiting" } }];
      }
      draw();
      next().catch(reportError);
    },
    clear: () => {
      rows = rows.filter((row) => !isOver(row));
      draw();
    },
  };
};
