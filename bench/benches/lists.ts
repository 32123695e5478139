import { type Contest, hold, usualMethod } from "../contest.js";
import { ids, inboxReader, memberToken, ownerToken } from "../data.js";
import { listInbox, listOrganizationGroups, listUsers, readGroupWithMembers } from "../documents.js";
import type { Load } from "../load.js";
import * as postgraphile from "../peers/postgraphile-documents.js";
import { graphql } from "../requests.js";
import { type Bench, isChosen, type Run, startScript } from "../run.js";
import { startSteward } from "../steward.js";

const always = (request: string): Load => ({ connections: 16, request: () => request });

/** Goal against hand-written prepared statements with a session check. */
const floorGoal = { limit: 2, aim: 1.5 };

/** Goal against PostGraphile, which checks no session. */
const peerGoal = { limit: 1, aim: 0.8 };

const trimmed = (body: string) => body.trimEnd();

const againstFloor = (title: string, script: string, request: string): Contest => {
  const load = always(request);
  const floor = { name: "the same SQL by hand", start: startScript(script), load };
  const steward = { name: "Steward GraphQL", start: startSteward, load, spell: trimmed };
  return {
    title,
    contestants: [floor, steward],
    pairs: [{ of: steward.name, against: floor.name, goal: floorGoal }],
  };
};

const startPostgraphile = startScript("peers/postgraphile.ts");

const againstPostgraphile = (title: string, ours: string, theirs: string, spell: (body: string) => string): Contest => {
  const steward = { name: "Steward GraphQL", start: startSteward, load: always(ours), spell: trimmed };
  const peer = { name: "PostGraphile 5", start: startPostgraphile, load: always(theirs), spell };
  return { title, contestants: [steward, peer], pairs: [{ of: steward.name, against: peer.name, goal: peerGoal }] };
};

const organization = ids.listedOrganization;
const groups = graphql(listOrganizationGroups, { organization }, ownerToken());
const group = { group: ids.largeGroup };

const contests: Contest[] = [
  againstFloor("page of 50 users", "floors/list-users.ts", graphql(listUsers, {}, ownerToken())),
  againstFloor("page of 50 notifications", "floors/list-inbox.ts", graphql(listInbox, {}, memberToken(inboxReader))),
  againstPostgraphile(
    "list of 20 groups",
    groups,
    graphql(postgraphile.listGroups, { organization }, ownerToken()),
    postgraphile.spellGroups,
  ),
  againstPostgraphile(
    "group with 50 members",
    graphql(readGroupWithMembers, group, ownerToken()),
    graphql(postgraphile.readGroupWithMembers, group, ownerToken()),
    postgraphile.spellGroupWithMembers,
  ),
];

/** Pages of lists, the most frequent reads of dashboards. */
export const listsBench: Bench = {
  name: "lists",
  method: usualMethod,
  async measure(run: Run) {
    const rows = [];
    for (const contest of contests) {
      if (isChosen(run, contest.title)) rows.push(...(await hold(contest, run)));
    }
    return rows;
  },
};
