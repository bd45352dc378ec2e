// Tolerant reading of JSON objects from the wire: what is missing or of another kind is undefined. Never throws and never
// refuses an object for what it does not know, because the console must show newer servers too.

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const fieldsIn = (from: Fields | undefined, name: string): Fields | undefined => {
  const value = from?.[name];
  return isFields(value) ? value : undefined;
};

export const textIn = (from: Fields | undefined, name: string): string | undefined => {
  const value = from?.[name];
  return typeof value === "string" ? value : undefined;
};

export const numberIn = (from: Fields | undefined, name: string): number | undefined => {
  const value = from?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
};

/** The items of an array field that are objects; none when the field is no array. */
export const listIn = (from: Fields | undefined, name: string): Fields[] => {
  const value = from?.[name];
  return Array.isArray(value) ? value.filter(isFields) : [];
};

/** The value of JSON text, or undefined when it is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
};
