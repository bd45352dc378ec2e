// Closes gaps of valibot's object schemas: an array passes for an object whose fields are all optional, and copies lack some keys. Shapes only.
import * as v from "valibot";

/** The same schema, but an array is no object, as JSON Schema has it. */
export function objectOnly<S extends v.GenericSchema>(schema: S): S {
  return {
    ...schema,
    "~run": (dataset: v.UnknownDataset, config: v.Config<v.BaseIssue<unknown>>) =>
      schema["~run"](Array.isArray(dataset.value) ? { value: null } : dataset, config),
  };
}

const record = objectOnly(v.record(v.string(), v.unknown()));

/** Any object, as it is: valibot's own copy lacks keys named `__proto__`, `constructor` and `prototype`. */
export const anyRecord: typeof record = {
  ...record,
  "~run": (dataset, config) => {
    const { value } = dataset;
    const judged = record["~run"](dataset, config);
    return judged.typed && isRecord(value) ? { typed: true, value } : judged;
  },
};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
