import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { countIn, countMatches, matchesIn, type Order, rowsIn, type Search } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import {
  cursor,
  type OrderBy,
  OrderDirection,
  type OrderKeys,
  type PageArguments,
  pageOf,
  readRange,
} from "../kernel/paging.js";
import { allOf, anyOf, contains, given, raw, type Sql, sql } from "../kernel/sql.js";
import { proseProblem } from "../kernel/text.js";
import { findOrganization } from "../organizations/organizations.js";
import { isReadableTemplate } from "./access.js";
import { templateColumns, type TemplateRow } from "./templates.js";

/** Filters of templates. An absent filter does not narrow. */
export interface TemplateFilter {
  /** Id, name or `default`. */
  organization?: string | null;
  /** Part of the name or display name, in any letter case. */
  search?: string | null;
}

export const TemplateOrderField = { NAME: "name", CREATED_AT: "createdAt" } as const;
export type TemplateOrderField = (typeof TemplateOrderField)[keyof typeof TemplateOrderField];

export interface TemplatesQuery extends PageArguments {
  filter?: TemplateFilter | null;
  /** By default by name, ascending. */
  orderBy?: OrderBy<TemplateOrderField> | null;
}

/** An order with the key of cursors, its column, and the value of a row. */
interface Sorting {
  keys: OrderKeys;
  column: Sql;
  valueOf: (template: TemplateRow) => Record<string, string>;
}

const sortings: Record<TemplateOrderField, Sorting> = {
  name: {
    keys: { name: "text" },
    column: sql`lower(t.name) collate "C"`,
    valueOf: ({ name }) => ({ name: name.toLowerCase() }),
  },
  createdAt: {
    keys: { createdAt: "time" },
    column: sql`t.created_at`,
    valueOf: ({ createdAt }) => ({ createdAt }),
  },
};

const isLive = sql`t.deleted_at is null`;

/** Lists the templates that the caller may read. */
export async function listTemplates(
  ctx: Context,
  { filter, orderBy, ...page }: TemplatesQuery,
): Promise<Page<TemplateRow>> {
  const { keys, column, valueOf } = sortings[orderBy?.field ?? TemplateOrderField.NAME];
  const problems = new Problems();
  const range = readRange(page, keys, problems);
  const { organization, search } = filter ?? {};
  problems.add("filter.search", search == null ? undefined : proseProblem(search, 254));
  problems.throwIfAny();
  const organizationId = organization ? (await findOrganization(ctx, organization)).id : undefined;
  const from = (condition?: Sql) =>
    sql`from templates t where ${allOf(
      isLive,
      isReadableTemplate(ctx),
      given(organizationId, (id) => sql`t.organization_id = ${id}`),
      condition,
    )}`;
  const order: Order = {
    keys: [{ column, ofPlace: (id) => ofReadable(ctx, column, id) }],
    id: sql`t.id`,
    isDescending: orderBy?.direction === OrderDirection.DESC,
  };
  const columns = raw(templateColumns);
  const found = given(search || undefined, (part) => ({ columns, from, ...searchFor(part) }));
  const rows = found
    ? matchesIn(range, order, found)
    : rowsIn(range, order, (beyond) => sql`select ${columns} ${from(beyond)}`);
  return pageOf(range, await ctx.select<TemplateRow>(rows), {
    cursor: (template) => cursor(template.id, valueOf(template)),
    count: () =>
      ctx.count(found ? countMatches(order, found) : countIn(order, (condition) => sql`select ${from(condition)}`)),
  });
}

/** The key of a template at which a page begins. Its position would disclose the name of one that is unreadable. */
const ofReadable = (ctx: Context, column: Sql, id: string): Sql =>
  sql`(select ${column} from templates t where ${allOf(sql`t.id = ${id}`, isLive, isReadableTemplate(ctx))})`;

/** The search for templates whose name or display name contains a text. */
function searchFor(part: string): Pick<Search, "matches" | "candidates"> {
  const matches = anyOf(contains("t.name", part), contains("t.display_name", part));
  return { matches, candidates: sql`select t.id from templates t where ${isLive} and ${matches}` };
}
