// The list of chats with its two dialogs. It shows rows and asks for names and a yes; what is done about them is its caller's.
import { dialogOf } from "../dialog.ts";
import { byId, make, setText } from "../elements.ts";
import { isolated, timeWords } from "../wording.ts";
import type { ChatRow } from "./history.ts";

export type ListActions = {
  readonly rename: (row: ChatRow, title: string) => void;
  readonly remove: (row: ChatRow) => void;
};

export type ChatList = (rows: readonly ChatRow[], openChatId: string) => void;

export const createChatList = ({ rename, remove }: ListActions): ChatList => {
  const renaming = dialogOf("rename-dialog", focusPlace);
  const deleting = dialogOf("delete-dialog", focusPlace);
  const field = byId("rename-field", HTMLInputElement);

  const askName = (row: ChatRow): void => {
    field.value = nameOf(row);
    renaming(() => {
      const title = field.value.trim();
      if (title !== "" && title !== row.title) rename(row, title);
    });
    field.select();
  };
  const askYes = (row: ChatRow): void => {
    setText(byId("delete-words", HTMLElement), `“${isolated(nameOf(row))}” and its messages are gone for good.`);
    deleting(() => remove(row));
  };

  let drawn = "";
  return (rows, openChatId) => {
    const wanted = JSON.stringify([rows, openChatId]);
    if (wanted === drawn) return;
    drawn = wanted;
    byId("chats-empty", HTMLElement).hidden = rows.length > 0;
    const list = byId("chat-list", HTMLElement);
    const focused = document.activeElement;
    const place = focused instanceof HTMLElement && list.contains(focused) ? focused.dataset["focus"] : undefined;
    list.replaceChildren(
      ...rows.map((row) => {
        const item = make("li");
        const link = make("a", "", "chat-link");
        link.href = `#chat=${encodeURIComponent(row.chatId)}`;
        if (row.chatId === openChatId) link.setAttribute("aria-current", "true");
        link.append(
          make("span", nameOf(row), "chat-name"),
          make("span", timeWords(row.updatedAt, new Date()), "chat-time"),
        );
        link.dataset["focus"] = `open ${row.chatId}`;
        item.append(link, tool("Rename", row, askName), tool("Delete", row, askYes));
        return item;
      }),
    );
    if (place !== undefined) focusPlace(place);
  };
};

/** The element that stands now where the focus was, or the way to another chat. */
const focusPlace = (place: string): void => {
  const places = byId("chat-list", HTMLElement).querySelectorAll<HTMLElement>("[data-focus]");
  const found = [...places].find(({ dataset }) => dataset["focus"] === place);
  (found ?? byId("new-chat", HTMLElement)).focus({ preventScroll: true });
};

const nameOf = ({ title, preview }: ChatRow): string => [title, preview].find((name) => name !== "") ?? "Untitled chat";

const tool = (word: "Rename" | "Delete", row: ChatRow, act: (row: ChatRow) => void): HTMLElement => {
  const button = make("button", word === "Rename" ? "✎" : "✕", "small");
  button.type = "button";
  button.title = word;
  button.ariaLabel = `${word} ${nameOf(row)}`;
  button.dataset["focus"] = `${word} ${row.chatId}`;
  button.addEventListener("click", () => act(row));
  return button;
};
