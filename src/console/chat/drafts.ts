// What is written and not sent, by chat. One draft for the chat that is not begun yet. Kept as long as the page.

export type Drafts = {
  /** Keeps what stands in the composer and gives what stood there in the other chat; null: a new one. */
  readonly turnTo: (chatId: string | null, written: string) => string;
  /** The new chat is one that is kept from now on. */
  readonly began: (chatId: string) => void;
};

export const createDrafts = (): Drafts => {
  const kept = new Map<string | null, string>();
  let open: string | null = null;
  return {
    turnTo: (chatId, written) => {
      kept.set(open, written);
      open = chatId;
      const draft = kept.get(chatId) ?? "";
      kept.delete(chatId);
      return draft;
    },
    began: (chatId) => {
      open = chatId;
    },
  };
};
