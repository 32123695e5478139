import { type Contestant, hold } from "../contest.js";
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

const f1: Contestant = { name: "F1", start: startScript("floors/read-group.ts"), load: byRest };
const f1s: Contestant = { name: "F1s", start: startScript("floors/read-group-with-session.ts"), load: byRest };
const mercurius: Contestant = {
  name: "mercurius + jit",
  start: startScript("peers/mercurius.ts"),
  load: byGraphql,
  spell: asRest,
};
const stock: Contestant = {
  name: "Apollo + type-graphql + em.find",
  start: startScript("peers/stock.ts"),
  load: byGraphql,
  spell: asRest,
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
  measure: (run) =>
    hold(
      {
        title: "read a group",
        contestants: [f1s, f1, rest, restUncached, overGraphql, mercurius, stock],
        pairs: [
          { of: rest.name, against: f1s.name, goal: { limit: 1.6, aim: 1 } },
          { of: restUncached.name, against: f1s.name },
          { of: overGraphql.name, against: f1s.name, goal: { limit: 1.8, aim: 1.2 } },
          { of: overGraphql.name, against: stock.name, goal: { limit: 0.2, aim: 0.2 } },
          { of: overGraphql.name, against: mercurius.name },
          { of: mercurius.name, against: f1s.name },
          { of: stock.name, against: f1s.name },
        ],
      },
      run,
    ),
};
