// Files that come in by dropping them anywhere on a view, or by the chooser. It reads none of them.
import { byId, setMark } from "../elements.ts";

export const acceptFiles = (area: HTMLElement, take: (files: readonly File[]) => void): void => {
  const zone = byId("ask-drop", HTMLElement);
  const input = byId("ask-files", HTMLInputElement);
  const mark = (over: boolean): void => setMark(zone, "over", String(over));
  const bringsFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes("Files") === true;

  area.addEventListener("dragover", (event) => {
    if (!bringsFiles(event)) return;
    // Else the browser would open the file in place of the page.
    event.preventDefault();
    mark(true);
  });
  area.addEventListener("dragleave", (event) => {
    if (!(event.relatedTarget instanceof Node) || !area.contains(event.relatedTarget)) mark(false);
  });
  area.addEventListener("drop", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    mark(false);
    take([...(event.dataTransfer?.files ?? [])]);
  });
  byId("ask-choose", HTMLButtonElement).addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    take([...(input.files ?? [])]);
    // The same file can be chosen again.
    input.value = "";
  });
};
