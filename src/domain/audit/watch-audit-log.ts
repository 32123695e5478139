import type { Context } from "../kernel/context.js";
import { badInput } from "../kernel/errors.js";
import { requireUser } from "../kernel/actor.js";
import { OpenWatches } from "../kernel/open-watches.js";
import { type Watch, watching } from "../kernel/watching.js";
import { AuditEventFilter, type AuditEventRow, filterOfReader, readEvents } from "./audit-log.js";
import { Reader } from "./audit-readers.js";
import { flag, type Input, inputOf, optional, otherwise, string } from "../kernel/values.js";
import { lastNumber, numbersAbove, numbersHint } from "./numbering.js";

/** An audit event with its number. */
export interface NumberedAuditEvent {
  number: number;
  /** Resumes after it. */
  cursor: string;
  event: AuditEventRow;
}

export const WatchAuditLog = inputOf({
  filter: optional(AuditEventFilter, "Selects the events to send."),
  since: optional(
    string,
    "The cursor of the last received event, or its number; 0 for all events that have a number. Default: only events that are numbered from now on.",
  ),
  follow: otherwise(flag, true, "Whether to wait for further events once all are sent."),
});
export type WatchAuditLog = Input<typeof WatchAuditLog>;

/** Maximum number of events that a watcher reads at a time. */
const pageSize = 200;

const openWatches = new OpenWatches(20, "A reader of the audit log");

/**
 * Streams the audit events that the caller may read and that match the filter, in the order of their numbers, each once.
 * Ends once the caller may not read the log any more. A rejected watch throws before this resolves.
 */
export async function watchAuditLog(
  ctx: Context,
  { filter: given, since, follow }: WatchAuditLog,
): Promise<Watch<NumberedAuditEvent>> {
  const filter = given ?? {};
  const { userId } = requireUser(ctx.actor);
  let position: number;
  let reader: Reader;

  return watching(ctx, {
    while: (fresh) => filterOfReader(fresh, filter),
    hints: () => [numbersHint],
    async onBegin() {
      position = await startingPosition(ctx, since);
      openWatches.begin(ctx.services, userId);
      try {
        reader = await Reader.begin(ctx, filter, position);
      } catch (error) {
        openWatches.end(ctx.services, userId);
        throw error;
      }
      return [];
    },
    async read(fresh, resolved) {
      // All that was read before is sent.
      await reader.note(position);
      const numbers = await numbersAbove(fresh, position, pageSize);
      if (numbers.length === 0) return { events: [], isLast: !follow };
      const ids = numbers.map(({ eventId }) => eventId);
      const events = await readEvents(fresh, resolved, ids);
      position = numbers.at(-1)!.number;
      const isMore = numbers.length === pageSize;
      return {
        events: numbers.flatMap(({ number, eventId }) => {
          const event = events.get(eventId);
          return event ? [{ number, cursor: cursorOf(number, eventId), event }] : [];
        }),
        isMore,
        isLast: !follow && !isMore,
      };
    },
    onEnd() {
      openWatches.end(ctx.services, userId);
      reader.end();
      return [];
    },
  });
}

const cursorOf = (number: number, eventId: string): string => `${number}-${eventId}`;

/**
 * The number after which a watcher begins. A cursor names its event beside the number: in a database that was set back to
 * an earlier state by other means than our restore, numbers are given again, and the watch is rejected rather than lose
 * events silently.
 */
async function startingPosition(ctx: Context, since: string | null | undefined): Promise<number> {
  const last = await lastNumber(ctx);
  if (since == null) return last;
  const [, digits, eventId] = /^(\d{1,15})(?:-([0-9a-f-]{36}))?$/.exec(since) ?? [];
  if (digits === undefined) throw invalidSince("Must be the cursor or the number of an event.");
  const number = Number(digits);
  if (number > last) throw invalidSince(unknownEvent);
  if (eventId === undefined || number === 0) return number;
  const [found] = await numbersAbove(ctx, number - 1, 1);
  // Numbers of before a restore, and of before the retention, have no event any more.
  if (found?.number === number && found.eventId !== eventId) throw invalidSince(unknownEvent);
  return number;
}

const unknownEvent =
  "The log has no event with this cursor: the database was set back. Resume after an earlier event, or after 0.";

const invalidSince = (detail: string) => badInput([{ field: "since", detail }]);
