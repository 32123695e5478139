import type { Opt } from "@mikro-orm/core";

/** The name of a property in rows: a reference is named like its column, `organization` → `organizationId`. */
type NameOf<Entity, Key extends keyof Entity & string> =
  NonNullable<Entity[Key]> extends { unwrap(): unknown } ? `${Key}Id` : Key;

/** The value of a property in rows: times are RFC 3339, references the id of their object. */
type ValueOf<Property> = Property extends Date
  ? string
  : Property extends { unwrap(): unknown; id: infer Id }
    ? Plain<Id>
    : Plain<Property>;

/** A property without the mark `Opt`, which makes it optional in new entities. */
type Plain<Property> = Property extends Opt<infer Value> ? Value : Property;

/** The properties of an entity in rows. */
type Stored<Entity> = {
  [Key in keyof Entity & string as NameOf<Entity, Key>]: ValueOf<Exclude<Entity[Key], undefined>>;
};

/** A select list in SQL. `Row` is the type of its rows. */
export type Columns<Row> = string & { readonly row?: Row };

/** The type of the rows of a select list. */
export type RowOf<Selected extends Columns<unknown>> = NonNullable<Selected["row"]>;

/** The column of a property, by the naming strategy of the entities: `displayName` → `display_name`. */
export const columnName = (property: string): string =>
  property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Returns the select list of properties of an entity, whose table has the alias `alias`:
 * `g.display_name as "displayName"`. Unknown properties fail to compile.
 */
export const columnsOf = <Entity extends object, Name extends keyof Stored<Entity> & string>(
  _entity: new () => Entity,
  alias: string,
  names: readonly Name[],
): Columns<Pick<Stored<Entity>, Name>> =>
  names.map((name) => `${alias}.${columnName(name)}${columnName(name) === name ? "" : ` as "${name}"`}`).join(", ");
