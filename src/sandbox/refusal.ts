/** The sandbox will not start, for a reason that a person can mend: one sentence that names what to set. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
