// Which handler of a path a request's method means, for families of paths. Knows no family's errors.

type Answer = Response | Promise<Response>;
export type Methods<H> = Partial<Record<string, H>>;

/** HEAD is GET, and of its answer all but the body. `refuse` is told the methods that the path takes. */
export async function dispatch<H>(
  methods: Methods<H>,
  request: Request,
  call: (handler: H) => Answer,
  refuse: (allow: string) => Response,
): Promise<Response> {
  const isHead = request.method === "HEAD";
  const method = isHead ? "GET" : request.method;
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handler === undefined) {
    const allow = Object.keys(methods).flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name]));
    return refuse(allow.join(", "));
  }
  const response = await call(handler);
  if (!isHead) return response;
  await response.body?.cancel();
  return new Response(null, response);
}
