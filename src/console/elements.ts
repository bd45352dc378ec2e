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

/** Pixels; who has scrolled less than a line has not left the end. */
const line = 32;

/** The scrollTop at which the end of an element was last in sight; out of reach once its reader has scrolled up. */
const keptAt = new WeakMap<HTMLElement, number>();

/**
 * Applies a change and keeps the end of a scrolled element in sight, unless its reader has scrolled away from it. Only the
 * place tells: scroll events come a frame late, when the list may have another size.
 */
export const keepingEnd = (scroller: HTMLElement, change: () => void): void => {
  const kept = keptAt.get(scroller);
  if (kept === undefined) new ResizeObserver(() => keepingEnd(scroller, () => {})).observe(scroller);
  const below = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
  const following = below < line || scroller.scrollTop > (kept ?? 0) - line;
  change();
  if (following) scroller.scrollTop = scroller.scrollHeight;
  keptAt.set(scroller, following ? scroller.scrollTop : Infinity);
};

/** Applies a change, after which the keyboard is where it was, or where the change put it; else at `otherwise`. */
export const keepingFocus = (within: HTMLElement, otherwise: HTMLElement, change: () => void): void => {
  const had = within.contains(document.activeElement);
  change();
  if (had && !takesKeys(document.activeElement)) otherwise.focus({ preventScroll: true });
};

const takesKeys = (element: Element | null): boolean =>
  element !== null && element !== document.body && element.checkVisibility() && !element.matches(":disabled");
