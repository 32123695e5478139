import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { countUpTo, mostCounted, type Order, rowsIn } from "../kernel/list.js";
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
import { allOf, anyOf, containing, given, raw, type Sql, sql } from "../kernel/sql.js";
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
  const matches = allOf(
    isLive,
    isReadableTemplate(ctx),
    given(organizationId, (id) => sql`t.organization_id = ${id}`),
    given(search || undefined, contains),
  );
  const order: Order = {
    keys: [{ column, ofPlace: (id) => ofReadable(ctx, column, id) }],
    id: sql`t.id`,
    isDescending: orderBy?.direction === OrderDirection.DESC,
  };
  const rows = rowsIn(
    range,
    order,
    (beyond) => sql`select ${raw(templateColumns)} from templates t where ${allOf(matches, beyond)}`,
  );
  return pageOf(range, await ctx.select<TemplateRow>(rows), {
    cursor: (template) => cursor(template.id, valueOf(template)),
    count: () => ctx.count(countUpTo(mostCounted, sql`select from templates t where ${matches}`)),
  });
}

/** The key of a template at which a page begins. Its position would disclose the name of one that is unreadable. */
const ofReadable = (ctx: Context, column: Sql, id: string): Sql =>
  sql`(select ${column} from templates t where ${allOf(sql`t.id = ${id}`, isLive, isReadableTemplate(ctx))})`;

const contains = (part: string): Sql =>
  anyOf(sql`lower(t.name) like lower(${containing(part)})`, sql`lower(t.display_name) like lower(${containing(part)})`);
