// The one API key of the page, in however many fields it is shown. It stays in this tab.

export type ApiKey = {
  /** Empty: no key. */
  readonly value: () => string;
  readonly onChange: (listener: () => void) => void;
};

/** A header takes no other characters. */
const canBeSent = (key: string): boolean => /^[\x21-\x7e]*$/.test(key);

const keyName = "holdfast-api-key";

export const createApiKey = (fields: readonly HTMLInputElement[], tab: Storage): ApiKey => {
  const listeners: (() => void)[] = [];
  const show = (value: string): void => {
    for (const field of fields) field.value = value;
  };
  for (const field of fields) {
    field.addEventListener("input", () => field.setCustomValidity(""));
    field.addEventListener("change", () => {
      const value = field.value.trim();
      if (!canBeSent(value)) {
        field.setCustomValidity("A key has no spaces, and no letters or signs beyond those of ASCII.");
        field.reportValidity();
        return;
      }
      show(value);
      tab.setItem(keyName, value);
      for (const listener of listeners) listener();
    });
  }
  show(tab.getItem(keyName) ?? "");
  return {
    // A field that is being typed into has not changed yet, but what stands in it counts.
    value: () => {
      const typed = fields.find((field) => field === document.activeElement);
      const value = (typed ?? fields[0])?.value.trim() ?? "";
      return canBeSent(value) ? value : "";
    },
    onChange: (listener) => {
      listeners.push(listener);
    },
  };
};
