// Providers of sign-in cost nothing where no person signs in: requests take the same statements with and without them, and
// sign-ins no more than they do now.
// Looks inside: counts statements.
import { expect } from "chai";
import { ForgingProvider } from "../support/forging-provider.js";
import { newId } from "../support/ids.js";
import { signInWith, Visitor } from "../support/provider-visits.js";
import { client } from "../support/providers.js";
import { allStatementsOf, statementsOf } from "../support/statements.js";
import { type Anything, type Client, type World, world } from "../support/world.js";

const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { __typename } }`;

/** Requests of users, of which none signs in. */
const requests: Record<string, (client: Client, group: string) => Promise<unknown>> = {
  "a group by REST": (own, group) => own.get(`/api/v2/groups/${group}`),
  "the own user": (own) => own.graphql(`{ user(user: "me") { id username roles { name } organizations { id } } }`),
  "a page of users": (own) => own.graphql("{ users(first: 50) { nodes { id username } } }"),
  "a page of an inbox": (own) => own.get("/api/v2/notifications/inbox"),
  "a custom notification": (own) => own.post("/api/v2/notifications/custom", { content: { title: "A", message: "B" } }),
  "a key": (own) => own.graphql(`mutation { createApiKey(input: { name: "${newId()}" }) { __typename } }`),
  "the page of sign-in": (own) => own.get("/api/v2/users/authmethods"),
};

/** The statements of a sign-in with a mapping whose claims give what the person has, and of one without. */
const most = { plain: 8, mapped: 9 };

describe("providers of sign-in", () => {
  const the = world({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" });
  let provider: ForgingProvider;
  let made: Promise<void> | undefined;
  let team = { id: "" };
  before(async () => {
    provider = await ForgingProvider.open();
    provider.refreshToken = "refresh";
    team = await the().group();
  });
  after(() => provider.close());

  /** Makes providers, all of the same issuer, with everything that they can have. */
  async function makeProviders(w: World): Promise<void> {
    const input = {
      kind: "OIDC",
      issuer: provider.issuer,
      clientId: client.id,
      clientSecret: client.secret,
      emailDomains: ["example.com"],
    };
    const full = {
      ...input,
      claimMappings: [{ claim: "groups", grants: [{ values: ["engineers"], groups: [team.id] }] }],
      appliesClaims: true,
      locksGroups: true,
      signsOut: true,
      checkInterval: 60,
    };
    await w.as(w.owner).graphql(create, { input: { ...input, name: "plain" } });
    for (const name of ["full", "second", "third"]) await w.as(w.owner).graphql(create, { input: { ...full, name } });
  }

  const signIn = async (w: World, name: string, claims: Anything = {}) => {
    const visitor = new Visitor(w.app.services.config.accessUrl);
    const person = { sub: name, email: `${name}@example.com`, preferred_username: name, ...claims };
    expect((await signInWith(visitor, name, provider, person)).status).to.equal(303);
    return visitor;
  };

  it("add no statement to requests of sessions that began at them, or elsewhere", async () => {
    const w = the();
    const before = w.as({ token: await w.session(w.owner.id) });
    const statements: Record<string, string[]> = {};
    for (const [what, request] of Object.entries(requests)) {
      await request(before, team.id);
      statements[what] = await statementsOf(() => request(before, team.id));
    }
    const token = await w.session(w.owner.id);
    const first = await allStatementsOf(() => w.as({ token }).get("/api/v2/auth/scopes"));
    await (made ??= makeProviders(w));
    const { id } = w.owner;
    const visitor = await signIn(w, "full", { groups: ["engineers"] });
    const { user } = await visitor.client.graphql(`{ user(user: "me") { id groups(first: 9) { nodes { id } } } }`);
    expect(user.groups.nodes.map((each: Anything) => each.id)).to.include(team.id);
    await w
      .as(w.owner)
      .graphql(`mutation($id: String!) { setUserRoles(input: { user: $id, roles: [OWNER] }) { __typename } }`, {
        id: user.id,
      });
    for (const own of [w.as({ token: await w.session(id) }), visitor.client])
      for (const [what, request] of Object.entries(requests)) {
        await request(own, team.id);
        expect(await statementsOf(() => request(own, team.id)), what).to.deep.equal(statements[what]);
      }
    const another = await signIn(w, "full", { groups: ["engineers"] });
    expect(await allStatementsOf(() => another.client.get("/api/v2/auth/scopes"))).to.deep.equal(first);
  });

  it("sign people in with no more statements than they do now", async () => {
    const w = the();
    await (made ??= makeProviders(w));
    for (const [name, claims] of [
      ["plain", {}],
      ["full", { groups: ["engineers"] }],
    ] as const) {
      await signIn(w, name, claims);
      const statements = await allStatementsOf(() => signIn(w, name, claims));
      const limit = name === "plain" ? most.plain : most.mapped;
      expect(statements.length, `\n${statements.join("\n\n")}\n`).to.be.at.most(limit);
    }
  });
});
