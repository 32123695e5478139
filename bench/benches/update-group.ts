import { hold } from "../contest.js";
import { ids, ownerToken, writtenGroups } from "../data.js";
import { updateGroup } from "../documents.js";
import type { Load } from "../load.js";
import { graphql } from "../requests.js";
import { type Bench, startScript } from "../run.js";
import { startSteward } from "../steward.js";

const connections = writtenGroups;

/** Each connection changes a group of its own to a new value every time, as a request without changes is cheaper. */
const load: Load = {
  connections,
  request: (connection, nth) => asked[(nth % changes) * connections + connection]!,
};

const changes = 100;
const asked = Array.from({ length: changes * connections }, (_, nr) => {
  const change = Math.floor(nr / connections);
  const input = {
    group: ids.writtenGroup(nr % connections),
    displayName: `Renamed ${change}`,
    quotaAllowance: change,
  };
  return graphql(updateGroup, { input }, ownerToken());
});

/** Some GraphQL servers end their responses with a line feed. */
const spell = (body: string) => body.trimEnd();

const byHand = { name: "the same SQL by hand", start: startScript("floors/update-group.ts"), load, spell };
const steward = { name: "Steward GraphQL", start: startSteward, load, spell };

/** A complete mutation: lock, rules, audit event, and the object read back after the commit. */
export const updateGroupBench: Bench = {
  name: "update-group",
  measure: (run) =>
    hold(
      {
        title: "update a group",
        contestants: [byHand, steward],
        pairs: [{ of: steward.name, against: byHand.name, goal: { limit: 2.5, aim: 1.5 } }],
      },
      run,
    ),
};
