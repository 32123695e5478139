import { type Contestant, hold, usualMethod } from "../contest.js";
import { ids, ownerSessions, ownerToken } from "../data.js";
import { asRest, readGroup } from "../documents.js";
import type { Load } from "../load.js";
import { get, graphql } from "../requests.js";
import { type Bench, startScript } from "../run.js";
import { startSteward } from "../steward.js";

const connections = 16;
const path = `/api/v2/groups/${ids.smallGroup}?exclude_members=true`;
const requests = {
  rest: get(path, ownerToken()),
  graphql: graphql(readGroup, { group: ids.smallGroup }, ownerToken()),
};

const byRest: Load = { connections, request: () => requests.rest };
const byGraphql: Load = { connections, request: () => requests.graphql };

const byHand: Contestant = {
  name: "the same SQL by hand",
  start: startScript("floors/read-group-with-session.ts"),
  load: byRest,
};
const uncached = Array.from({ length: ownerSessions }, (_, nr) => get(path, ownerToken(nr)));
const rest: Contestant = { name: "Steward REST", start: startSteward, load: byRest };
const restUncached: Contestant = {
  name: "Steward REST, session not cached",
  start: startSteward,
  load: { connections, request: (connection, nth) => uncached[(nth * connections + connection) % uncached.length]! },
};
const overGraphql: Contestant = { name: "Steward GraphQL", start: startSteward, load: byGraphql, spell: asRest };

/** One small object with a session check: the case that shows a framework's own overhead the most. */
export const readGroupBench: Bench = {
  name: "read-group",
  method: usualMethod,
  measure: (run) =>
    hold(
      {
        title: "read a group",
        contestants: [byHand, rest, restUncached, overGraphql],
        pairs: [
          { of: rest.name, against: byHand.name, goal: { limit: 1.6, aim: 1 } },
          { of: restUncached.name, against: byHand.name },
          { of: overGraphql.name, against: byHand.name, goal: { limit: 1.8, aim: 1.2 } },
        ],
      },
      run,
    ),
};
