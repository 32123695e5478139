import { hold, usualMethod } from "../contest.js";
import { memberToken, sendCustom } from "../data.js";
import type { Load } from "../load.js";
import { type Bench, startScript } from "../run.js";
import { startSteward } from "../steward.js";

/** Users who send notifications. */
const senders = 10_000;

/** Notifications in a row before a user rests: the limit is 20 a minute, and the session of a busy user is cached. */
const inARow = 10;

const requests = Array.from({ length: senders }, (_, nr) => sendCustom(memberToken(nr)));

/** A connection takes the next rested user each time its current one has sent its share. */
function load(): Load {
  let turns = 0;
  const current: number[] = [];
  return {
    connections: 16,
    request(connection, nth) {
      if (nth % inARow === 0) current[connection] = turns++ % senders;
      return requests[current[connection]!]!;
    },
  };
}

const byHand = { name: "the same SQL by hand", start: startScript("floors/custom-notification.ts"), load: load() };
const steward = { name: "Steward REST", start: startSteward, load: load() };

/** A small durable write: inbox row, counter and audit event. */
export const customNotificationBench: Bench = {
  name: "custom-notification",
  method: usualMethod,
  measure: (run) =>
    hold(
      {
        title: "custom notification",
        contestants: [byHand, steward],
        pairs: [{ of: steward.name, against: byHand.name, goal: { limit: 2.5, aim: 1.5 } }],
      },
      run,
    ),
};
