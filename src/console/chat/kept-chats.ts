// The chats that the server keeps for the visitor: read, shown in the list, renamed and deleted. Of the open one it tells the chat's flow.
import type { ChatFlow } from "./chat-flow.ts";
import { createChatList } from "./chat-list.ts";
import { type ChatRow, chatRows } from "./history.ts";
import type { SvedaApi } from "./sveda-api.ts";

export type KeptChats = {
  readonly has: (chatId: string) => boolean;
  readonly read: () => Promise<void>;
  readonly show: () => void;
  /** They are another visitor's. */
  readonly forget: () => void;
};

/** `close`: the open chat is gone. */
export const createKeptChats = (api: SvedaApi, { view, apply }: ChatFlow, close: () => void): KeptChats => {
  let rows: readonly ChatRow[] = [];

  const show = (): void => drawList(rows, view().chatId);

  const read = async (): Promise<void> => {
    const answer = await api.histories();
    if (!answer.ok) return;
    rows = chatRows(answer.value);
    const own = rows.find(({ chatId }) => chatId === view().chatId);
    if (view().title === null && own !== undefined && own.title !== "") apply({ kind: "renamed", title: own.title });
    show();
  };

  const rename = async (row: ChatRow, title: string): Promise<void> => {
    const answer = await api.rename(row.chatId, title);
    if (!answer.ok) return apply({ kind: "refused", problem: answer.problem });
    if (row.chatId === view().chatId) apply({ kind: "renamed", title });
    await read();
  };

  const remove = async (row: ChatRow): Promise<void> => {
    const answer = await api.remove(row.chatId);
    if (!answer.ok && answer.problem.status !== 404) return apply({ kind: "refused", problem: answer.problem });
    if (row.chatId === view().chatId) close();
    await read();
  };

  const drawList = createChatList({
    rename: (row, title) => {
      rename(row, title).catch(reportError);
    },
    remove: (row) => {
      remove(row).catch(reportError);
    },
  });

  return {
    has: (chatId) => rows.some((row) => row.chatId === chatId),
    read,
    show,
    forget: () => {
      rows = [];
      show();
    },
  };
};
