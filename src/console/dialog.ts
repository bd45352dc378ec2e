// A dialog of index.html that asks for a yes. What is done about it is its caller's.
import { byId } from "./elements.ts";

/**
 * Gives a function that opens the dialog; its `yes` is called when the form is submitted. `focusPlace` is called with the
 * `data-focus` of what had the focus, when that is no longer there.
 */
export const dialogOf = (id: string, focusPlace: (place: string) => void): ((yes: () => void) => void) => {
  const dialog = byId(id, HTMLDialogElement);
  let agreed: () => void = () => {};
  let place: string | undefined;
  dialog.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
    agreed();
  });
  dialog.querySelector("button[value=close]")?.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    // The list may have been drawn anew meanwhile; the browser gives the focus back to what was there before.
    if (place !== undefined && document.activeElement === document.body) focusPlace(place);
  });
  return (yes) => {
    agreed = yes;
    place = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["focus"] : undefined;
    dialog.showModal();
  };
};
