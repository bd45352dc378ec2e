// Closes a gap of valibot's object schemas: an array passes for an object whose fields are all optional. Shapes only.
import type * as v from "valibot";

/** The same schema, but an array is no object, as JSON Schema has it. */
export function objectOnly<S extends v.GenericSchema>(schema: S): S {
  return {
    ...schema,
    "~run": (dataset: v.UnknownDataset, config: v.Config<v.BaseIssue<unknown>>) =>
      schema["~run"](Array.isArray(dataset.value) ? { value: null } : dataset, config),
  };
}
