// A stage is a synchronous, pure step of a stream: feed it, get what it made of it. It never waits and owns no timer.

export interface Stage<In, Out> {
  /** Output may lag behind input, never the other way round. Bytes are good during the call only: what is needed later is copied. */
  feed(input: In): Out[];
  /** The input is over. Call once, after the last `feed`. */
  end(): Out[];
}

/** One stage from two: what `first` gives goes through `second` at once. */
export function compose<A, B, C>(first: Stage<A, B>, second: Stage<B, C>): Stage<A, C> {
  const through = (items: readonly B[]): C[] => items.flatMap((item) => second.feed(item));
  return {
    feed: (input) => through(first.feed(input)),
    end: () => [...through(first.end()), ...second.end()],
  };
}

/** A stage as a WHATWG stream. In workerd each JavaScript stream stage costs 0.2-0.3 ms per packet: compose first. */
export function toTransformStream<In, Out>(stage: Stage<In, Out>): TransformStream<In, Out> {
  return new TransformStream<In, Out>({
    transform(input, controller) {
      for (const output of stage.feed(input)) controller.enqueue(output);
    },
    flush(controller) {
      for (const output of stage.end()) controller.enqueue(output);
    },
  });
}
