import { isDeepStrictEqual } from "node:util";

/** The fields that have a value. Null and absent ones keep what is stored. */
export type Given<Fields> = { [Field in keyof Fields]?: NonNullable<Fields[Field]> };

export const pickGiven = <Fields extends object>(fields: Fields): Given<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as Given<Fields>;

/** The fields whose values differ from those of an object. */
export const differing = <Fields extends object>(object: object, fields: Fields): Partial<Fields> =>
  Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => !isDeepStrictEqual(value, object[field as never])),
  ) as Partial<Fields>;

/** The given fields whose values differ from those of an object. */
export const changesOf = <Fields extends object>(object: object, fields: Fields): Given<Fields> =>
  differing(object, pickGiven(fields));

export const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0;
