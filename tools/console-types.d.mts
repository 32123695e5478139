import type * as Graphql from "graphql";

/** A program with operations: its folder, the module in it that makes constants, and whether forms need inputs. */
export interface Client {
  folder: string;
  home: string;
  hasForms: boolean;
}

/** Returns the module of the operations of a file, whose name is its path. */
export function moduleOf(
  graphql: typeof Graphql,
  schema: Graphql.GraphQLSchema,
  inputValues: Record<string, Record<string, object>>,
  source: Graphql.Source,
  client: Client,
): string;
/** Returns the text of each generated module by its path. */
export function generateTypes(): Promise<Record<string, string>>;
