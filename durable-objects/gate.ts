// Every await in a run's life passes here, by name. Does nothing, until a test takes the gate and ends the object at a step.

export type Gate = (step: string, state: DurableObjectState) => Promise<void>;

let gate: Gate | undefined;

/** For tests: the object of `state` stands still at each step until the returned promise resolves. */
export function takeGate(taken: Gate | undefined): void {
  gate = taken;
}

export async function pass(step: string, state: DurableObjectState): Promise<void> {
  if (gate !== undefined) await gate(step, state);
}
