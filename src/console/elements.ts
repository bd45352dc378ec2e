// Finding and making elements. Text goes in as text only: nothing here or in its callers parses HTML.

/** The element of index.html with this id; a missing or different one is a bug. */
export const byId = <Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind => {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`index.html has no ${kind.name} with the id ${id}`);
};

export const make = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  text = "",
  className = "",
): HTMLElementTagNameMap[Tag] => {
  const made = document.createElement(tag);
  if (text !== "") made.textContent = text;
  if (className !== "") made.className = className;
  return made;
};

/** Writes only a changed text, so that live regions speak once. */
export const setText = (element: HTMLElement, text: string): void => {
  if (element.textContent !== text) element.textContent = text;
};

export const setMark = (element: HTMLElement, name: string, value: string): void => {
  if (element.dataset[name] !== value) element.dataset[name] = value;
};

/** Whether the reader of a scrolled element was at its end when it last scrolled; a resize moves the end without scrolling. */
const followed = new WeakMap<HTMLElement, boolean>();

/** Applies a change and keeps the end of a scrolled element in sight, unless its reader has scrolled away from it. */
export const keepingEnd = (scroller: HTMLElement, change: () => void): void => {
  if (!followed.has(scroller)) {
    followed.set(scroller, true);
    scroller.addEventListener("scroll", () => {
      followed.set(scroller, scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 32);
    });
  }
  change();
  if (followed.get(scroller) === true) scroller.scrollTop = scroller.scrollHeight;
};
