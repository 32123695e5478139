import type { Limited } from "./limits";

/** A field of the input of a mutation, as the schema declares it. */
export interface InputField extends Limited {
  type: string;
  isRequired?: true;
  isList?: true;
  /** The values of an enum. */
  options?: readonly string[];
  /** The fields of an object. */
  fields?: InputFields;
  /** How people enter it. */
  kind?: "secret" | "duration" | "multi-line" | "choice" | "reference";
}

export type InputFields = Readonly<Record<string, InputField>>;

/** An operation of the API: its text, and the types of its variables and its result. */
export interface Operation<Data, Variables> {
  readonly text: string;
  readonly input: InputFields;
  /** Carries the types; it is never called. */
  readonly types?: (variables: Variables) => Data;
}

export const operation = <Data, Variables>(
  text: string,
  input: Operation<Data, Variables>["input"] = {},
): Operation<Data, Variables> => ({ text, input });
