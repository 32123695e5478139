import { type Expression, type SelectQueryBuilder, sql, type SqlBool } from "kysely";
import type { Context } from "./kernel/context.js";
import { badInput, Problems } from "./kernel/errors.js";
import { defineListOfEach, integer } from "./kernel/lists.js";
import { type Page, pageSize, placeRule, placeText, readRange } from "./kernel/paging.js";
import { type Batch, type Conditional, type Watch, watching } from "./kernel/watching.js";
import { type Input, inputOf, optional } from "./kernel/values.js";

/** A line of a log. Lines of a log are numbered from 1 on, in their order, and are never changed. */
export interface LogLine {
  id: string;
  sequence: number;
}

/** Selects lines of a log: the first ones, or those after a cursor or the id of a line. */
export const LogArguments = inputOf({
  first: optional(pageSize, "The page size, at most 1000. The default is 100."),
  after: optional(placeText, "Returns lines after this cursor or line id."),
});
export type LogArguments = Input<typeof LogArguments>;

/** The logs of objects of one kind. */
export interface Logs<Line extends LogLine> {
  /** Reads a page of the log of an object, in one statement with those of other objects. */
  page(ctx: Context, owner: string, args: LogArguments): Promise<Page<Line>>;
  /**
   * Streams the lines of a log after a cursor or the id of a line, by default all, and then those that are appended, until
   * the log is complete. Rejects with BAD_USER_INPUT for the id of a line that the log does not have.
   */
  watch<Owner extends { id: string }>(
    ctx: Context,
    after: string | null | undefined,
    options: LogWatching<Owner>,
  ): Promise<Watch<Line>>;
}

/** The condition finds the object that has the log. The hints are that the log grew or the condition may have changed. */
export interface LogWatching<Owner> extends Conditional<Owner> {
  /** Whether no lines are added any more. Default: never. */
  isComplete?: (owner: Owner) => boolean;
}

/** Lines that a watcher holds at most. */
const watchedAtOnce = 100;

/** Declares the logs of objects of one kind. `lines` selects those of an object, with their table as `l`. */
export function defineLogs<DB, TB extends keyof DB, Line extends LogLine>(
  lines: (ctx: Context, owner: Expression<string>) => SelectQueryBuilder<DB, TB, Line>,
): Logs<Line> {
  const sequence = integer<Line>("l.sequence");
  const list = defineListOfEach(lines, {
    id: { column: "l.id", of: ({ id }) => id },
    orders: { written: { sequence } },
    filters: {},
  });
  const linesOf = (ctx: Context, owner: string, condition: ReturnType<typeof sql<SqlBool>>) =>
    lines(ctx, sql`${owner}::uuid`)
      .where(condition)
      .orderBy(sequence.column)
      .limit(watchedAtOnce)
      .execute();

  /** Returns the sequence number of the last line that a watcher knows. */
  async function sequenceOf(ctx: Context, owner: string, after: string | null | undefined): Promise<number> {
    const problems = new Problems();
    const { place } = readRange({ after }, { sequence: sequence.type }, problems);
    problems.throwIfAny();
    if (!place) return 0;
    if (place.keys) return Number(place.keys[0]);
    const [known] = await linesOf(ctx, owner, sql<SqlBool>`l.id = ${place.id}`);
    if (!known) throw badInput([{ field: "after", detail: placeRule }]);
    return known.sequence;
  }

  return {
    async page(ctx, owner, args) {
      const page = await list.pageOf(ctx, owner, { page: args });
      return { ...page, count: () => page.count(true) };
    },

    async watch(ctx, after, { isComplete, ...condition }) {
      let last: number;
      const onBegin = async ({ id }: { id: string }) => {
        last = await sequenceOf(ctx, id, after);
        return [];
      };
      // `owner` is older than the lines: if its log was complete when it was read, this read misses no line.
      const read = async (
        fresh: Context,
        owner: Parameters<NonNullable<typeof isComplete>>[0],
      ): Promise<Batch<Line>> => {
        const events = await linesOf(fresh, owner.id, sql<SqlBool>`l.sequence > ${last}`);
        last = events.at(-1)?.sequence ?? last;
        const isMore = events.length === watchedAtOnce;
        return { events, isMore, isLast: !isMore && isComplete?.(owner) };
      };
      return watching(ctx, { ...condition, onBegin, read });
    },
  };
}
