// Reads and writes that users wait for, against floors, PostGraphile, and Koa.
import { type Contest, type Contestant, contestBench } from "../contest.js";
import { ids, inboxReader, memberToken, ownerSessions, ownerToken, sendCustom } from "../data.js";
import * as documents from "../documents.js";
import { always, inTurn, type Load } from "../load.js";
import * as postgraphile from "../peers/postgraphile-documents.js";
import type { Goal } from "../report.js";
import { get, graphql } from "../requests.js";
import { startScript } from "../run.js";
import { startSteward } from "../steward.js";

const steward = (name: string, load: Load, more: Partial<Contestant> = {}): Contestant => ({
  name,
  start: startSteward,
  load,
  ...more,
});

const byHand = (script: string, load: Load): Contestant => ({
  name: "the same SQL by hand",
  start: startScript(`floors/${script}.ts`),
  load,
});

const health = always(get("/healthz"));

/** The bodies differ: only the costs are compared. */
const spell = () => "";

/** The cost that every request has. */
export const healthBench = contestBench("healthz", () => [
  {
    title: "healthz",
    others: [{ name: "bare Koa", start: startScript("peers/koa.ts"), load: health, spell }],
    ours: [steward("Steward", health, { spell, goal: { limit: 1.8, aim: 1.4 } })],
  },
]);

const path = `/api/v2/groups/${ids.smallGroup}?exclude_members=true`;
const group = always(get(path, ownerToken()));
const groupByGraphql = always(graphql(documents.readGroup, { group: ids.smallGroup }, ownerToken()));
const uncached = Array.from({ length: ownerSessions }, (_, nr) => get(path, ownerToken(nr)));

/** One small object with a session check: the case that shows a framework's own overhead the most. */
export const readGroupBench = contestBench("read-group", () => [
  {
    title: "read a group",
    others: [byHand("read-group-with-session", group)],
    ours: [
      steward("Steward REST", group, { goal: { limit: 1.6, aim: 1.4 } }),
      steward("Steward REST, session not cached", inTurn(uncached), { goal: { limit: 3, aim: 2.5 } }),
      steward("Steward GraphQL", groupByGraphql, { spell: documents.asRest, goal: { limit: 1.65, aim: 1.4 } }),
    ],
  },
]);

const againstFloor = (title: string, script: string, request: string, limit: number): Contest => ({
  title,
  others: [byHand(script, always(request))],
  ours: [steward("Steward GraphQL", always(request), { spell: (body) => body.trimEnd(), goal: { limit, aim: 1.5 } })],
});

const startPostgraphile = startScript("peers/postgraphile.ts");

/** PostGraphile checks no session. */
const againstPostgraphile = (
  title: string,
  variables: Record<string, string>,
  ours: string,
  theirs: string,
  spellTheirs: (body: string) => string,
  goal: Goal,
): Contest => {
  const load = (document: string) => always(graphql(document, variables, ownerToken()));
  return {
    title,
    others: [{ name: "PostGraphile 5", start: startPostgraphile, load: load(theirs), spell: spellTheirs }],
    ours: [steward("Steward GraphQL", load(ours), { spell: (body) => body.trimEnd(), goal })],
  };
};

/** Pages of lists, the most frequent reads of dashboards. */
export const listsBench = contestBench("lists", () => [
  againstFloor("page of 50 users", "list-users", graphql(documents.listUsers, {}, ownerToken()), 1.75),
  againstFloor(
    "page of 50 notifications",
    "list-inbox",
    graphql(documents.listInbox, {}, memberToken(inboxReader)),
    1.65,
  ),
  againstPostgraphile(
    "list of 20 groups",
    { organization: ids.listedOrganization },
    documents.listOrganizationGroups,
    postgraphile.listGroups,
    postgraphile.spellGroups,
    { limit: 0.75, aim: 0.6 },
  ),
  againstPostgraphile(
    "group with 50 members",
    { group: ids.largeGroup },
    documents.readGroupWithMembers,
    postgraphile.readGroupWithMembers,
    postgraphile.spellGroupWithMembers,
    { limit: 0.65, aim: 0.5 },
  ),
]);

/** Users who send notifications. */
const senders = 10_000;

/** Notifications in a row before a user rests: the limit is 20 a minute, and the session of a busy user is cached. */
const inARow = 10;

const sends = Array.from({ length: senders }, (_, nr) => sendCustom(memberToken(nr)));

/** A connection takes the next rested user each time its current one has sent its share. */
function notifications(): Load {
  let turns = 0;
  const current: number[] = [];
  return {
    request(connection, nth) {
      if (nth % inARow === 0) current[connection] = turns++ % senders;
      return sends[current[connection]!]!;
    },
  };
}

/** A small durable write: inbox row, counter and audit event. */
export const customNotificationBench = contestBench("custom-notification", () => [
  {
    title: "custom notification",
    others: [byHand("custom-notification", notifications())],
    ours: [steward("Steward REST", notifications(), { goal: { limit: 2.3, aim: 1.8 } })],
  },
]);
