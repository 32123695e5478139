import { type RawBuilder, sql, type SqlBool } from "kysely";
import { foldCase } from "../../runtime/text.js";
import type { Comparison, Filter, Operator, Target } from "./filter.js";
import { leafOf, type Place } from "./paths.js";
import type { Attribute } from "./schema.js";

/** A part of a statement. */
type Sql = RawBuilder<unknown>;
type Condition = RawBuilder<SqlBool>;

/** Where statements find the attributes of the resources that a list selects. */
export interface Columns {
  /** The value of a single-valued attribute that is not in `json`, by its path: `meta.created`. */
  values: Readonly<Record<string, Sql>>;
  /**
   * The multi-valued attributes that are not in `json`, by name. `values` has the columns of the sub-attributes of a
   * value, or `self` for a value without sub-attributes. `exists` returns the condition that some value matches one on
   * these columns.
   */
  lists: Readonly<
    Record<string, { values: Readonly<Record<string, Sql>>; exists: (condition: Condition) => Condition }>
  >;
  /** The other attributes, as JSON. */
  json: Sql;
  /** Returns another condition under which a comparison is true as well; `undefined` for most comparisons. */
  also?: (comparison: Comparison) => Condition | undefined;
  /** Selects the ids of all resources that match a comparison by an index, and possibly more; absent for some comparisons. */
  candidates: (comparison: Comparison) => Candidates | undefined;
}

/** Ids of resources by an index. */
export interface Candidates {
  ids: Sql;
  /** Whether they are few, since values are unique or nearly so. */
  areFew: boolean;
}

/** Ids of values that are unique or nearly so. */
export const few = (ids: Sql): Candidates => ({ ids, areFew: true });

/** For resources and values whose attributes are all in columns. */
export const noJson: Sql = sql`'{}'::jsonb`;

/** A filter as SQL. Values are parameters; names come from the schema. */
export const conditionOf = (filter: Filter, columns: Columns) => ({
  matches: compileFilter(filter, columns),
  candidates: candidatesOf(filter, columns),
});

const all = (conditions: readonly Condition[]) => sql<SqlBool>`(${sql.join(conditions, sql` and `)})`;
const any = (conditions: readonly Condition[]) => sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;

function compileFilter(filter: Filter, columns: Columns): Condition {
  switch (filter.kind) {
    case "and":
      return all(filter.parts.map((part) => compileFilter(part, columns)));
    case "or":
      return any(filter.parts.map((part) => compileFilter(part, columns)));
    case "not":
      return sql<SqlBool>`(not ${compileFilter(filter.part, columns)})`;
    case "present":
      return present(filter.target, columns);
    default:
      return compileComparison(filter, columns);
  }
}

/** A comparison without a value is false, `ne` true. */
function compileComparison(comparison: Comparison, columns: Columns): Condition {
  const { target, operator, value } = comparison;
  if (value === null) {
    const isPresent = present(target, columns);
    return operator === "ne" ? isPresent : sql<SqlBool>`(not ${isPresent})`;
  }
  const positive = operator === "ne" ? "eq" : operator;
  const also = columns.also?.({ ...comparison, operator: positive });
  const holds = some(target, columns, (column) => holdsFor(leafOf(target), positive, value, column));
  const either = also ? any([holds, also]) : holds;
  return operator === "ne" ? sql<SqlBool>`(not ${either})` : either;
}

/** Whether a value at the target satisfies a condition, never null. */
function some(target: Target, columns: Columns, condition: (column: Sql) => Condition): Condition {
  const { attribute, sub, where, extension } = target;
  const path = pathOf({ attribute, extension });
  const list = columns.lists[path.join(".")];
  if (list) return list.exists(ofEntry(target, list.values, condition));
  if (attribute.isMultiValued && attribute.subAttributes) {
    const values = Object.fromEntries(attribute.subAttributes.map((each) => [each.name, entryColumn(each)]));
    return sql<SqlBool>`exists(
      select from jsonb_array_elements(${columns.json} #> ${inJson(path)}) e
      where ${ofEntry({ attribute, sub, where }, values, condition)})`;
  }
  return sql<SqlBool>`(${condition(columnAt(columns, target))} is true)`;
}

/** The names that lead to a place, from the outermost one on. */
export const pathOf = ({ attribute, sub, extension }: Place): string[] => [
  ...(extension ? [extension] : []),
  attribute.name,
  ...(sub ? [sub.name] : []),
];

const inJson = (path: readonly string[]): Sql => sql.raw(`'{${path.join(",")}}'`);

/** The column of a single-valued attribute. */
export function columnAt({ values, json }: Columns, place: Place): Sql {
  const path = pathOf(place);
  return values[path.join(".")] ?? sql`(${json} #>> ${inJson(path)})`;
}

/** The column of a value of a multi-valued attribute in `json`: of the primary one, else of the first. */
export function firstAt({ json }: Columns, { attribute, sub, extension }: Required<Pick<Place, "sub">> & Place): Sql {
  return sql`(
    select ${entryColumn(sub)}
    from jsonb_array_elements(${json} #> ${inJson(pathOf({ attribute, extension }))}) with ordinality as entries (e, n)
    order by coalesce(e->'primary' = 'true'::jsonb, false) desc, n limit 1)`;
}

/** The condition on a value `e` of a multi-valued attribute. */
function ofEntry(
  { sub, where }: Target,
  values: Readonly<Record<string, Sql>>,
  condition: (column: Sql) => Condition,
): Condition {
  const columns: Columns = { values, lists: {}, json: noJson, candidates: () => undefined };
  const column = values[sub?.name ?? "self"];
  const conditions = [where && compileFilter(where, columns), column && sql<SqlBool>`(${condition(column)} is true)`];
  const given = conditions.filter((each) => each !== undefined);
  return given.length > 0 ? all(given) : sql<SqlBool>`true`;
}

const entryColumn = ({ name }: Attribute): Sql => sql`(e->>'${sql.raw(name)}')`;

function present(target: Target, columns: Columns): Condition {
  return some(target, columns, (column) =>
    leafOf(target).type === "string" ? sql<SqlBool>`(${column}) <> ''` : sql<SqlBool>`(${column}) is not null`,
  );
}

function holdsFor(leaf: Attribute, operator: Exclude<Operator, "ne">, value: string | boolean, column: Sql): Condition {
  if (typeof value === "boolean") return sql<SqlBool>`(${column}) = ${value}`;
  if (leaf.type === "dateTime") return sql<SqlBool>`(${column}) ${symbols[operator as Order]} ${value}::timestamptz`;
  const [one, other] = leaf.isCaseExact
    ? [sql`(${column})`, value]
    : [sql`lower((${column}) collate "C")`, foldCase(value)];
  switch (operator) {
    case "co":
      return sql<SqlBool>`position(${other}::text in ${one}) > 0`;
    case "sw":
      return sql<SqlBool>`starts_with(${one}, ${other}::text)`;
    case "ew":
      return sql<SqlBool>`right(${one}, length(${other}::text)) = ${other}::text`;
    default:
      return sql<SqlBool>`${one} collate "C" ${symbols[operator]} ${other}::text`;
  }
}

/** The operators that apply to times as well. */
type Order = "eq" | "gt" | "ge" | "lt" | "le";
const symbols: Record<Order, Sql> = {
  eq: sql.raw("="),
  gt: sql.raw(">"),
  ge: sql.raw(">="),
  lt: sql.raw("<"),
  le: sql.raw("<="),
};

/** The ids of all matching resources and possibly more: of `and`, those of any part; of `or`, those of all parts. */
function candidatesOf(filter: Filter, columns: Columns): Candidates | undefined {
  if (filter.kind === "compare") return columns.candidates(filter);
  if (filter.kind !== "and" && filter.kind !== "or") return undefined;
  const each = filter.parts.map((part) => candidatesOf(part, columns));
  const known = each.filter((found) => found !== undefined);
  if (filter.kind === "and") return known.find(({ areFew }) => areFew) ?? known[0];
  if (known.length < each.length) return undefined;
  const ids = sql.join(
    known.map((found) => sql`(${found.ids})`),
    sql` union all `,
  );
  return { ids, areFew: known.every(({ areFew }) => areFew) };
}
