import { Field, Mutation, ObjectType, registerEnumType } from "type-graphql";
import { Access, type AccessOptions } from "./access.js";

/** Declares an enum type, with descriptions of its values: `enumType({ Name: values }, description, { VALUE: … })`. */
export function enumType<Values extends Record<string, string | number>>(
  named: Readonly<Record<string, Values>>,
  description: string,
  descriptions: Readonly<Record<keyof Values, string>>,
): void {
  const described = Object.entries<string>(descriptions).map(([value, text]) => [value, { description: text }]);
  for (const [name, values] of Object.entries(named))
    registerEnumType(values, { name, description, valuesConfig: Object.fromEntries(described) });
}

interface PayloadField extends AccessOptions {
  type: () => object;
  description: string;
  nullable?: boolean;
}

/**
 * Declares a mutation named like its method, and its payload: an object type with these fields, whose values the method
 * returns. A function among them is called if the field is selected, within the transaction of the mutation.
 */
export function Mutates<Name extends string>(
  description: string,
  fields: Readonly<Record<Name, PayloadField>>,
  payload?: string,
) {
  type Payload = Readonly<Record<Name, unknown>>;
  return <Verb extends (...args: never[]) => Payload | Promise<Payload>>(
    resolver: object,
    name: string,
    method: TypedPropertyDescriptor<Verb>,
  ): void => {
    // oxlint-disable-next-line typescript/no-extraneous-class -- It gets its fields below.
    class PayloadType {}
    for (const [field, { type, description: text, nullable, ...access }] of Object.entries<PayloadField>(fields)) {
      Field(type, { description: text, nullable })(PayloadType.prototype, field);
      Access(access)(PayloadType.prototype, field);
    }
    const options = { simpleResolvers: true, description: payload ?? `Payload of \`${name}\`.` };
    ObjectType(`${name[0]!.toUpperCase()}${name.slice(1)}Payload`, options)(PayloadType);
    Mutation(() => PayloadType, { description })(resolver, name, method);
  };
}
