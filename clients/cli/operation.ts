/** An operation of the API: its text, and the types of its variables and its result. */
export interface Operation<Data, Variables> {
  readonly text: string;
  /** Carries the types; it is never called. */
  readonly types?: (variables: Variables) => Data;
}

export const operation = <Data, Variables>(text: string): Operation<Data, Variables> => ({ text });
