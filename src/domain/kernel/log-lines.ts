import type { Columns } from "./columns.js";
import type { Context } from "./context.js";
import { type Statement, statement } from "./database.js";
import { Problems } from "./errors.js";
import type { Page } from "./page.js";
import { cursor, pageOf, type Place, readRange } from "./paging.js";
import { type Batch, type Conditional, type Watch, watching } from "./watching.js";

/** A line of a log. Lines of a log are numbered from 1 on, in their order, and are never changed. */
export interface LogLine {
  id: string;
  sequence: number;
}

/** Selects lines of a log: the first ones, or those after a cursor or the id of a line. */
export interface LogArguments {
  first?: number | null;
  after?: string | null;
}

/** The lines of a log from a position on: a sequence number, or the id of a line. */
interface Wanted {
  logId: string;
  sequence: number | null;
  lineId: string | null;
  limit: number;
}

/** Reads logs of one kind, whose lines are in one table. */
export interface LogReader<Line extends LogLine> {
  /** Reads a page of a log with `count` lines. Pages of several logs are read together. */
  page(ctx: Context, logId: string, args: LogArguments, count: number): Promise<Page<Line>>;
  /**
   * Streams the lines of a log after a cursor or the id of a line, by default all, and then those that are appended, until
   * the log is complete. Rejects with BAD_USER_INPUT for the id of a line that the log does not have.
   */
  watch<Log extends { id: string }>(
    ctx: Context,
    after: string | null | undefined,
    options: LogWatching<Log>,
  ): Promise<Watch<Line>>;
}

/** The condition finds what has the log, and its id. The hints are that the log grew or the condition may have changed. */
export interface LogWatching<Log> extends Conditional<Log> {
  /** Whether no lines are added any more. Default: never. */
  isComplete?: (log: Log) => boolean;
}

/** Lines that a watcher holds at most. */
const watchedAtOnce = 100;

/** Declares the reader of a table of lines `l`, which refer to their log by the column `log`. */
export function logReader<Line extends LogLine>(table: string, log: string, columns: Columns<Line>): LogReader<Line> {
  const lines: Statement<Line & { nth: number }> = statement(`
    select wanted.nth, line.*
    from unnest($1::uuid[], $2::int[], $3::uuid[], $4::int[]) with ordinality
      as wanted (log_id, sequence, line_id, most, nth)
    cross join lateral (
      select ${columns} from ${table} l
      where l.${log} = wanted.log_id and l.sequence > coalesce(wanted.sequence, (
        select known.sequence from ${table} known where known.${log} = wanted.log_id and known.id = wanted.line_id))
      order by l.sequence limit wanted.most
    ) line
    order by wanted.nth, line.sequence`);

  const sequenceOf = statement<{ sequence: number }>(`select sequence from ${table} where ${log} = $1 and id = $2`);

  async function linesOf(ctx: Context, wanted: readonly Wanted[]): Promise<Line[][]> {
    const values = (["logId", "sequence", "lineId", "limit"] as const).map((name) => wanted.map((each) => each[name]));
    const found = Map.groupBy(await ctx.rows(lines, ...values), ({ nth }) => nth);
    return wanted.map((_, index) => found.get(index + 1) ?? []);
  }

  return {
    async page(ctx, logId, args, count) {
      const problems = new Problems();
      const range = readRange(args, { sequence: "text" }, problems);
      const position = positionOf(range.place, problems);
      problems.throwIfAny();
      const rows = await ctx.load(linesOf, { logId, ...position, limit: range.limit + 1 });
      return pageOf<Line>(range, rows, { cursor: cursorOf, count: () => Promise.resolve(count) });
    },

    async watch<Log extends { id: string }>(
      ctx: Context,
      after: string | null | undefined,
      { isComplete, ...condition }: LogWatching<Log>,
    ) {
      let position: Position;
      const onBegin = async ({ id: logId }: Log) => {
        const problems = new Problems();
        const { place } = readRange({ after }, { sequence: "text" }, problems);
        const { lineId, sequence } = positionOf(place, problems);
        const known = lineId === null ? { sequence: sequence! } : await ctx.row(sequenceOf, logId, lineId);
        problems.add("after", known ? undefined : "Must be a cursor of this list or the id of a row.");
        problems.throwIfAny();
        position = { sequence: known!.sequence, lineId: null };
        return [];
      };
      // What the condition found is older than the lines: none is added to a complete log.
      const read = async (fresh: Context, owner: Log): Promise<Batch<Line>> => {
        const [events = []] = await linesOf(fresh, [{ logId: owner.id, ...position, limit: watchedAtOnce }]);
        const last = events.at(-1);
        if (last) position = { sequence: last.sequence, lineId: null };
        const isMore = events.length === watchedAtOnce;
        return { events, isMore, isLast: !isMore && isComplete?.(owner) };
      };
      return watching(ctx, { ...condition, onBegin, read });
    },
  };
}

const cursorOf = ({ id, sequence }: LogLine): string => cursor(id, { sequence: String(sequence) });

type Position = Pick<Wanted, "sequence" | "lineId">;

function positionOf(place: Place | undefined, problems: Problems): Position {
  if (!place) return { sequence: 0, lineId: null };
  if (!place.keys) return { sequence: null, lineId: place.id };
  const isNumber = /^\d{1,9}$/.test(place.keys[0]!);
  problems.add("after", isNumber ? undefined : "Must be a cursor of this list or the id of a row.");
  return { sequence: isNumber ? Number(place.keys[0]) : 0, lineId: null };
}
