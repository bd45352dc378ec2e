// The answer of a family's router. itty-router works on a plain object: handed the request itself it would wrap it in a proxy.

interface Asked {
  method: string;
  url: string;
}

interface Routes<R extends unknown[]> {
  fetch(request: Asked, ...rest: R): Promise<unknown>;
}

/** `undefined` where no path of the router matches. Slashes at the end are passed over. */
export async function matched<R extends unknown[]>(
  router: Routes<R>,
  { method, url }: Asked,
  ...rest: R
): Promise<Response | undefined> {
  const answer = await router.fetch({ method, url }, ...rest);
  return answer instanceof Response ? answer : undefined;
}

/**
 * An address ends with a slash also when its last name was `..`, and then it names something above what its sender meant:
 * where things are kept below others, nothing is deleted that way.
 */
export const deletesAbove = ({ method, url }: Asked): boolean =>
  method === "DELETE" && new URL(url).pathname.endsWith("/");
