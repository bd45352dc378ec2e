// Named gates: a script stands at one until the test opens it. They never open by themselves and know no clock.

export interface Gates {
  /** Opens the gate for all who stand at it and all who come later. */
  open(name: string): void;
  /** Resolves once the gate is open. */
  passed(name: string): Promise<void>;
  /** Resolves once a script has come to the gate, open or not. */
  reached(name: string): Promise<void>;
  /** Forgets every gate. Those who stand at one stay there; their connection has to end them. */
  reset(): void;
}

interface Gate {
  readonly opened: Latch;
  readonly arrived: Latch;
}

interface Latch {
  readonly done: Promise<void>;
  release(): void;
}

/** Makes a set of gates, all closed. */
export function createGates(): Gates {
  const gates = new Map<string, Gate>();

  function gateOf(name: string): Gate {
    const known = gates.get(name);
    if (known !== undefined) return known;
    const made = { opened: createLatch(), arrived: createLatch() };
    gates.set(name, made);
    return made;
  }

  return {
    open(name) {
      gateOf(name).opened.release();
    },
    passed(name) {
      const gate = gateOf(name);
      gate.arrived.release();
      return gate.opened.done;
    },
    reached(name) {
      return gateOf(name).arrived.done;
    },
    reset() {
      gates.clear();
    },
  };
}

function createLatch(): Latch {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { done: promise, release: resolve };
}
