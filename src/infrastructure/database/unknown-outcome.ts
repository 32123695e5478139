/** The connection was lost while a transaction was committed, and no server says whether it was. */
export class UnknownOutcome extends Error {
  override readonly name = "UnknownOutcome";

  constructor(cause: unknown) {
    super("It is not known whether the transaction was committed.", { cause });
  }
}
