// The one API key of the page, in however many fields it is shown. It stays in this tab.

export type ApiKey = {
  /** Empty: no key. */
  readonly value: () => string;
  readonly onChange: (listener: () => void) => void;
};

const keyName = "holdfast-api-key";

export const createApiKey = (fields: readonly HTMLInputElement[], tab: Storage): ApiKey => {
  const listeners: (() => void)[] = [];
  const show = (value: string): void => {
    for (const field of fields) field.value = value;
  };
  for (const field of fields) {
    field.addEventListener("change", () => {
      const value = field.value.trim();
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
      return (typed ?? fields[0])?.value.trim() ?? "";
    },
    onChange: (listener) => {
      listeners.push(listener);
    },
  };
};
