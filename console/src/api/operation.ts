/** A field of the input of a mutation, as the schema describes it. */
export interface InputField {
  type: string;
  hint?: string;
  isRequired?: true;
  isList?: true;
  /** The values of an enum. */
  options?: readonly string[];
  /** The fields of an object. */
  fields?: InputFields;
  /** How people enter it. */
  kind?: "secret" | "duration" | "multi-line" | "choice" | "reference";
  limits?: Limits;
  /** The limits as a part of a sentence: `at most 64 characters`. */
  words?: string;
}

export type InputFields = Readonly<Record<string, InputField>>;

/** The limits of a value, and of the entries of a list, as JSON Schema has them. */
export interface Limits {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

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
