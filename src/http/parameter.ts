// Parameters of a path. Decides nothing about them.

/** A parameter as it was meant: a name may come percent-encoded. `undefined` when it cannot be decoded. */
export function decoded(parameter: string): string | undefined {
  try {
    return decodeURIComponent(parameter);
  } catch {
    return undefined;
  }
}

/** The same for names that hold no percent sign: what cannot be decoded stays, and names nothing. */
export const decodedParameter = (parameter: string): string => decoded(parameter) ?? parameter;
