/** A field of the input of a mutation, as the schema describes it. */
export interface InputField {
  type: string;
  hint?: string;
  isRequired?: true;
  isList?: true;
  /** The values of an enum. */
  options?: readonly string[];
}

/** An operation of the API: its text, and the types of its variables and its result. */
export interface Operation<Data, Variables> {
  readonly text: string;
  readonly input: Readonly<Record<string, InputField>>;
  /** Carries the types; it is never called. */
  readonly types?: (variables: Variables) => Data;
}

export const operation = <Data, Variables>(
  text: string,
  input: Operation<Data, Variables>["input"] = {},
): Operation<Data, Variables> => ({ text, input });
