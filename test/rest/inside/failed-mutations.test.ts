// A failed response means that nothing was stored. The connection to Postgres is cut before each statement of a
// mutation in turn, including those of its payload and the commit.
// Looks inside: a failed response means that no table changed.
import { expect } from "chai";
import { type App, startServer } from "../../support/app.js";
import { type CutOff, cutOff } from "../../support/cut-off.js";
import { documentOf, type Place, requestOf } from "../../support/operations.js";
import { eventually } from "../../support/watchers.js";
import { insertOffer, insertStopped, insertVersion } from "../../support/workspaces.js";
import { type Answer, Client, type Person, world } from "../../support/world.js";

/** Everything that mutations store, except counters of limits, times of last use, and what jobs make of it for administrators. */
const stored = `
  select md5(string_agg(part, '' order by part)) as hash from (
    select 'audit ' || id from audit_events
    union all select (to_jsonb(g) - '{member_count,scim_version}'::text[])::text from groups g
    union all select m::text from group_members m
    union all select b::text from group_ai_budgets b
    union all select (u.id, u.email, u.username, u.name, u.site_roles, u.status)::text from users u
    union all select m::text from organization_members m
    union all select o::text from organizations o
    union all select (i.id, i.email, i.end_reason)::text from invitations i
    union all select 'key ' || id || coalesce(name, '') from api_keys
    union all select i::text from inbox_notifications i where i.user_id not in (select id from users where site_roles <> '{}')
    union all select c::text from inbox_cursors c where c.user_id not in (select id from users where site_roles <> '{}')
    union all select k::text from idempotency_keys k
    union all select s::text from user_secrets s
    union all select q::text from user_quiet_hours q
    union all select p::text from workspace_proxies p
    union all select s::text from site_settings s
    union all select t::text from workspace_transfers t
    union all select (w.id, w.owner_id)::text from workspaces w
  ) everything (part)`;

describe("a mutation", () => {
  const the = world();
  let way: CutOff;
  let app: App;
  let group: { id: string };
  let ada: Person;
  /** Signs in through a provider. */
  let ida: Person;
  /** A workspace of the owner, and offers of others to Ada: each attempt takes one. */
  let box: string;
  const offers: string[] = [];
  let made = 0;
  const fresh = (prefix: string) => `${prefix}-${++made}`;

  before(async () => {
    way = await cutOff(the().database.url);
    app = await startServer(way.url);
    group = await the().group();
    [ada] = (await the().users("ada")) as [Person];
    ida = await the().user("ida", undefined, "OIDC");
    const version = await insertVersion(the());
    box = await insertStopped(the(), the().owner.id, version);
    for (let count = 0; count < 200; count++) {
      const offered = await insertStopped(the(), the().owner.id, version);
      offers.push(await insertOffer(the(), offered, ada.id, the().owner.id));
    }
    await the().as(the().owner).put(`/api/v2/groups/${group.id}/ai/budget`, { spend_limit_micros: 5 });
  });
  after(async () => {
    await app.close();
    await way.close();
  });

  const owner = () => new Client(app.url, the().owner.token);

  const everything = async () => (await the().app.services.database.pool.query(stored)).rows[0].hash as string;

  const graphql = (verb: string, input: () => string, selection: string) => (): Promise<Answer> =>
    owner().post("/graphql", { query: `mutation { ${verb}(input: { ${input()} }) { ${selection} } }` });
  /** Operations of the catalog, which store something new each time, over GraphQL and by their rows. */
  const of = (title: string, selection: string, place: () => Partial<Place> = () => ({})) => ({
    [title]: () => owner().post("/graphql", { query: documentOf(title, place(), selection) }),
  });
  const row = (title: string, place: () => Partial<Place> = () => ({}), headers?: () => Record<string, string>) => ({
    [`${title}, by its row`]: () => {
      const [method, path, body] = requestOf(title, place());
      return owner().request(method, path, body, headers?.());
    },
  });

  const takingOffer = (verb: string) =>
    new Client(app.url, ada.token).post("/graphql", {
      query: `mutation { ${verb}(input: { id: "${offers.pop()!}" }) { workspaceId } }`,
    });

  const isFailed = ({ status, body }: Answer) => status >= 400 || body.errors !== undefined;

  const inDefault = () => ({ organization: "default" });
  const ofGroup = () => ({ group: group.id });
  const mutations: Record<string, () => Promise<Answer>> = {
    ...row("createGroup", inDefault),
    ...row("updateGroup", ofGroup),
    ...row("sendCustomNotification", undefined, () => ({ "Idempotency-Key": fresh("key") })),
    ...row("createUserSecret", () => ({ user: "me" })),
    ...row("createWorkspaceProxy"),
    "PUT /groups/{group}/ai/budget": () =>
      owner().put(`/api/v2/groups/${group.id}/ai/budget`, { spend_limit_micros: ++made }),
    "PUT /users/{user}/quiet-hours": () =>
      owner().put("/api/v2/users/me/quiet-hours", {
        schedule: `CRON_TZ=UTC ${++made % 60} ${Math.floor(made / 60) % 24} * * *`,
      }),
    ...of(
      "createGroup",
      "group { id members { totalCount nodes { user { username } } } aiBudget { updatedAt } organization { name } }",
      inDefault,
    ),
    ...of(
      "updateGroup",
      "group { displayName members { nodes { user { username } } } aiBudget { updatedAt } }",
      ofGroup,
    ),
    ...of("createUser", "user { id roles { name } organizationIds }"),
    ...of("createOrganization", "organization { id name }"),
    ...of("createApiKey", "token apiKey { id name user { id } }"),
    ...of("updateUser", "user { id name roles { name } }", () => ({ user: ada.id })),
    inviteUser: graphql(
      "inviteUser",
      () => `email: "${fresh("guest")}@example.com", delivery: LINK, roles: [AUDITOR]`,
      "link invitation { id memberships { organizationName } inviter { username } }",
    ),
    transferWorkspaces: graphql(
      "transferWorkspaces",
      () => `workspaces: ["${box}"], receiver: "${ada.id}"`,
      "isOffered workspaces { id owner { id } }",
    ),
    acceptWorkspaceTransfer: () => takingOffer("acceptWorkspaceTransfer"),
    declineWorkspaceTransfer: () => takingOffer("declineWorkspaceTransfer"),
    linkUserIdentity: graphql(
      "linkUserIdentity",
      () => `user: "${ida.id}", subject: "${fresh("subject")}", issuer: "https://id.example.com"`,
      "user { id name }",
    ),
  };

  const ways = {
    "loses its connection": (statement: number) => way.cutBefore(statement),
    "loses a response of Postgres": (statement: number) => way.loseResponseTo(statement),
  };
  const cases = Object.entries(ways).flatMap(([what, lose]) =>
    Object.entries(mutations).map(([name, mutate]) => ({ what, lose, name, mutate })),
  );

  for (const { what, lose, name, mutate } of cases) {
    it(`that ${what} stores everything with a success and nothing with a failure: ${name}`, async () => {
      const outcomes = new Set<string>();
      for (let statement = 1; ; statement++) {
        await eventually(async () => (await owner().get("/api/v2/groups")).status === 200, "the server responds");
        const before = await everything();
        lose(statement);
        const answer = await mutate();
        const wasCut = way.disarm();
        const isStored = (await everything()) !== before;
        const outcome = `${isFailed(answer) ? "failed" : "succeeded"}, ${isStored ? "stored" : "nothing stored"}`;
        expect(["failed, nothing stored", "succeeded, stored"], JSON.stringify(answer.body)).to.include(outcome);
        outcomes.add(outcome);
        if (!wasCut) break;
      }
      expect([...outcomes]).to.have.members(["failed, nothing stored", "succeeded, stored"]);
    });
  }

  it("that loses the response to its commit in a longer outage says that its outcome is unknown", async () => {
    const send = (name: string) => owner().post("/api/v2/organizations/default/groups", { name });
    const isWell = async () => (await send(fresh("well"))).status === 201;
    await eventually(isWell, "the server responds", 20_000);
    const name = fresh("lost");
    way.loseResponseTo({ commitOf: name }, 12_000);
    const { status, body } = await send(name);
    expect(way.disarm()).to.equal(true);
    expect(status).to.equal(503);
    expect(body.detail).to.match(/^It is not known whether the request was carried out/);
    await eventually(isWell, "the server recovers", 20_000);
    const groups = (await owner().get("/api/v2/groups")).body as Array<{ name: string }>;
    expect(groups.map((each) => each.name)).to.include(name);
  });
});
