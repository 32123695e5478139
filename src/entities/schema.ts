// The database as Kysely's types see it, inferred from the entities: tables and columns in camel case, as CamelCasePlugin
// spells them.
import type { InferKyselyDB } from "@mikro-orm/postgresql";
import type { ColumnType } from "kysely";
import type * as entities from "./index.js";

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** Rows hold times as RFC 3339 text; statements take them as text or `Date`. */
type Read<Value> = Value extends Date ? string : Value;
type Written<Value> = Value extends Date ? Date | string : Value;
type Column<Value> = [Value] extends [ColumnType<infer Selected, infer Inserted, infer Updated>]
  ? ColumnType<Read<Selected>, Written<Inserted>, Written<Updated>>
  : ColumnType<Read<Value>, Written<Value>, Written<Value>>;
type Table<Columns> = { [Name in keyof Columns & string as Camel<Name>]: Column<Columns[Name]> };

type Inferred = InferKyselyDB<(typeof entities)[keyof typeof entities]>;
type Tables = { [Name in keyof Inferred as Camel<Name>]: Table<Inferred[Name]> };

/** The columns of composite foreign keys, which are not inferred. */
interface Composite {
  groupMembers: Omit<Tables["groupMembers"], "membershipOrganization" | "membershipUser"> & {
    organizationId: string;
    userId: string;
  };
}

/** All tables by name. */
export type Schema = Omit<Tables, keyof Composite> & Composite;
