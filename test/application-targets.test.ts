// What a proxy learns before it lets a user into an application.
// Reaches for tables: agents and keys end without a build or a request.
import { expect } from "chai";
import { insertKey } from "./support/keys.js";
import { insert } from "./support/stage.js";
import { deleteRows, setTimes } from "./support/tables.js";
import { newToken, parseToken } from "./support/token-rows.js";
import { newId } from "./support/ids.js";
import { makeProxy } from "./support/proxies.js";
import { Client, type Person, type World, world } from "./support/world.js";

const query = `query($owner: String!, $workspace: String!, $agent: String!, $slug: String!, $apiKey: String) {
  applicationTarget(owner: $owner, workspace: $workspace, agent: $agent, slug: $slug, apiKey: $apiKey) {
    workspaceId agentId appId url userId allowed } }`;

/** Inserts an application of an agent. */
async function app(w: World, agentId: string, slug: string, sharingLevel = "owner"): Promise<string> {
  const id = newId();
  const columns = { id, agent_id: agentId, slug, url: `http://127.0.0.1:8080/${slug}`, sharing_level: sharingLevel };
  await insert(w, { workspace_apps: [{ ...columns, created_at: "now", updated_at: "now" }] });
  return id;
}

/** Inserts an application key of a user, or a session with the same scope. */
const keyOf = async (w: World, person: Pick<Person, "id">, kind: "application" | "session" = "application") =>
  (await insertKey(w, person, kind, ["application_connect"])).text;

function stories(settings: NodeJS.ProcessEnv, admins: (expected: boolean) => boolean) {
  const the = world(settings);
  let token: string;
  before(async () => {
    ({ token } = await makeProxy(the(), "eu"));
  });
  const ask = async (variables: object) =>
    (await new Client(the().url).post("/graphql", { query, variables }, { "Service-Proxy-Token": token })).body;

  it("opens an application to the users with whom it is shared", async () => {
    const w = the();
    const [ada, bob, admin] = (await w.users("ada", "bob", "admin")) as [Person, Person, Person];
    await w.grant(admin, "organization-admin");
    const outsider = await w.user("eve", [(await w.organization()).id]);
    const { id: workspaceId, name, agent } = await w.workspace(ada);
    const ids: Record<string, string> = {};
    for (const level of ["owner", "organization", "authenticated", "public"])
      ids[level] = await app(w, agent.id, level, level);
    const keys = {
      ada: await keyOf(w, ada),
      bob: await keyOf(w, bob),
      admin: await keyOf(w, admin),
      owner: await keyOf(w, w.owner),
      eve: await keyOf(w, outsider),
      nobody: undefined,
    };
    const people: Record<string, Person> = { ada, bob, admin, owner: w.owner, eve: outsider };
    const may: Record<string, string[]> = {
      owner: ["ada", ...(admins(true) ? ["admin", "owner"] : [])],
      organization: ["ada", "bob", "admin", "owner"],
      authenticated: ["ada", "bob", "admin", "owner", "eve"],
      public: ["ada", "bob", "admin", "owner", "eve", "nobody"],
    };
    for (const [slug, welcome] of Object.entries(may)) {
      for (const [who, apiKey] of Object.entries(keys)) {
        const allowed = welcome.includes(who);
        const { data } = await ask({ owner: ada.username, workspace: name, agent: "main", slug, apiKey });
        expect(data?.applicationTarget, `${who} at ${slug}`).to.deep.equal({
          workspaceId,
          agentId: agent.id,
          appId: ids[slug],
          url: allowed ? `http://127.0.0.1:8080/${slug}` : null,
          userId: people[who]?.id ?? null,
          allowed,
        });
      }
    }
  });

  return { the, ask };
}

describe("the lookup of an application target", () => {
  const { the, ask } = stories({}, () => false);

  it("closes to users who have to add a second factor first, also by keys that they had before", async () => {
    const w = the();
    const ada = await w.user("ada");
    const { name, agent } = await w.workspace(ada);
    await app(w, agent.id, "tool");
    await w.grant(ada, "auditor");
    const key = { owner: ada.username, workspace: name, agent: "main", slug: "tool", apiKey: await keyOf(w, ada) };
    expect((await ask(key)).data.applicationTarget).to.include({ allowed: true });
    const set = `mutation($input: SetSecondFactorRuleInput!) { setSecondFactorRule(input: $input) { __typename } }`;
    const rule = (level: string) => w.as(w.owner).graphql(set, { input: { role: "AUDITOR", level, daysToEnrol: 0 } });
    await rule("REQUIRED");
    w.app.services.credentials.onChange(`u:${ada.id}`);
    expect((await ask(key)).data.applicationTarget).to.include({ allowed: false, userId: null });
    await rule("OFF");
    w.app.services.credentials.onChange(`u:${ada.id}`);
    expect((await ask(key)).data.applicationTarget).to.include({ allowed: true });
  });

  it("accepts the names in application addresses, and finds nothing stopped or deleted", async () => {
    const w = the();
    const [ada] = (await w.users("ada")) as [Person];
    const { id, name, agent } = await w.workspace(ada);
    await app(w, agent.id, "code", "public");
    const named = { owner: ada.username, workspace: name, agent: "main", slug: "code" };
    const found = await ask({ ...named, owner: ada.username.toUpperCase(), workspace: name.toUpperCase() });
    expect(found.data.applicationTarget).to.include({ workspaceId: id, allowed: true });
    for (const change of [
      { owner: "nobody" },
      { owner: "me" },
      { workspace: "other" },
      { agent: "other" },
      { agent: "MAIN" },
      { slug: "other" },
      { slug: "CODE" },
      { slug: "%" },
    ])
      expect((await ask({ ...named, ...change })).errors[0].extensions.code, JSON.stringify(change)).to.equal(
        "NOT_FOUND",
      );
    await setTimes(w, "workspace_agents", { id: agent.id }, { token_ended_at: "0 s" });
    expect((await ask(named)).errors[0].extensions.code, "a stopped agent").to.equal("NOT_FOUND");
    const next = await w.agent({ id });
    await app(w, next.id, "code", "public");
    expect((await ask(named)).data.applicationTarget).to.include({ agentId: next.id });
    await setTimes(w, "workspaces", { id }, { deleted_at: "0 s" });
    expect((await ask(named)).errors[0].extensions.code, "a deleted workspace").to.equal("NOT_FOUND");
  });

  it("allows valid application keys and no other credential", async () => {
    const w = the();
    const [ada] = (await w.users("ada")) as [Person];
    const { name, agent } = await w.workspace(ada);
    await app(w, agent.id, "code");
    const named = { owner: ada.username, workspace: name, agent: "main", slug: "code" };
    const expired = await keyOf(w, ada);
    const revoked = await keyOf(w, ada);
    await setTimes(w, "api_keys", { id: parseToken(expired).id }, { expires_at: "-1 min" });
    await deleteRows(w, "api_keys", { id: parseToken(revoked).id });
    for (const [what, apiKey] of Object.entries({
      "a session": ada.token,
      "a session with the same scope": await keyOf(w, ada, "session"),
      "an agent": agent.token,
      nonsense: "nonsense",
      nothing: "",
      expired,
      revoked,
      unknown: newToken("application").text,
    })) {
      const { data } = await ask({ ...named, apiKey });
      expect(data.applicationTarget, what).to.include({ allowed: false, userId: null, url: null });
    }
    const good = await keyOf(w, ada);
    expect((await ask({ ...named, apiKey: good })).data.applicationTarget).to.include({
      allowed: true,
      userId: ada.id,
    });
    await w
      .as(w.owner)
      .graphql("mutation($user: String!) { suspendUser(input: { user: $user }) { __typename } }", { user: ada.id });
    expect((await ask({ ...named, apiKey: good })).data.applicationTarget).to.include({ allowed: false, userId: null });
  });
});

describe("the lookup of an application target where administrators may enter workspaces", () => {
  stories({ STEWARD_ADMIN_WORKSPACE_ACCESS: "true" }, () => true);
});
