// The answer of a family's router. itty-router works on a plain object: handed the request itself it would wrap it in a proxy.

interface Routes<R extends unknown[]> {
  fetch(request: { method: string; url: string }, ...rest: R): Promise<unknown>;
}

/**
 * `undefined` where no path of the router matches. The router passes over slashes at the end; but an address ends with one
 * also when its last name was `..`, and then it names something above what its sender meant: nothing is deleted that way.
 */
export async function matched<R extends unknown[]>(
  router: Routes<R>,
  { method, url }: { method: string; url: string },
  ...rest: R
): Promise<Response | undefined> {
  if (method === "DELETE" && new URL(url).pathname.endsWith("/")) return undefined;
  const answer = await router.fetch({ method, url }, ...rest);
  return answer instanceof Response ? answer : undefined;
}
