// What a run changed in its workspace, as its newest record of that kind tells. Pure.
import type { ThreadRecord } from "../../schemas/thread.ts";
import type { WorkspaceChanges } from "../../schemas/thread-rows.ts";
import { asArray, asRecord, isRecord } from "../wire/json.ts";

const NOTHING: WorkspaceChanges = {
  available: false,
  version: 1,
  summary: { created: 0, modified: 0, deleted: 0, symlink_created: 0, additions: 0, deletions: 0, truncated: false },
  files: [],
  limits: {},
};

/** `undefined` for a run that recorded none. Without diffs each is empty. */
export function workspaceChanges(
  record: ThreadRecord | undefined,
  { includeFiles, includeDiff }: { includeFiles: boolean; includeDiff: boolean },
): WorkspaceChanges {
  const changes = asRecord(record?.metadata["workspace_changes"]);
  if (changes === undefined) return NOTHING;
  const files = includeFiles ? asArray(changes["files"]) : [];
  return {
    available: true,
    version: 1,
    summary: asRecord(changes["summary"]) ?? NOTHING.summary,
    files: includeDiff ? [...files] : files.map((file) => (isRecord(file) ? { ...file, diff: "" } : file)),
    limits: asRecord(changes["limits"]) ?? {},
  };
}
