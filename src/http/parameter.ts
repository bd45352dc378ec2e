// Parameters of a path. Decides nothing about them.

/** A parameter as it was meant: a name may come percent-encoded. What cannot be decoded stays, and names nothing. */
export function decodedParameter(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch {
    return parameter;
  }
}
