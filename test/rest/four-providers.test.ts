// Four real providers at the same time: one changes its keys, one is slow and then away, one leaves groups out for their size.
import { expect } from "chai";
import { Visitor } from "../support/provider-visits.js";
import { client, OidcProvider, type Subject } from "../support/providers.js";
import { eventually } from "../support/watchers.js";
import { type Anything, world } from "../support/world.js";

const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { __typename } }`;
const names = ["steady", "rotating", "slow", "large"] as const;
type Name = (typeof names)[number];

describe("four providers at the same time", function () {
  this.timeout(120_000);
  const the = world({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" });
  const providers = {} as Record<Name, OidcProvider>;
  let home = "";
  let team: { id: string; name: string };
  const owner = () => the().as(the().owner);

  before(async () => {
    home = the().app.services.config.accessUrl;
    team = await the().group();
    for (const name of names) {
      providers[name] = await OidcProvider.open(() => `${home}/login/${name}/callback`, {
        claims: { openid: ["sub", "groups"], email: ["email", "email_verified"], profile: ["preferred_username"] },
      });
      await owner().graphql(create, {
        input: {
          name,
          kind: "OIDC",
          issuer: providers[name].issuer,
          clientId: client.id,
          clientSecret: client.secret,
          emailDomains: ["example.com"],
          claimMappings: [{ claim: "groups", grants: [{ values: ["engineers"], groups: [team.id] }] }],
          appliesClaims: true,
        },
      });
    }
  });
  after(() => Promise.all(names.map((name) => providers[name].close())));

  /** A person at a provider, in a group there unless it says otherwise. */
  const person = (name: Name, more: Subject = { groups: ["engineers"] }): string => {
    const subject = `person-of-${name}`;
    const email = `${subject}@example.com`;
    providers[name].subjects.set(subject, { email, email_verified: true, preferred_username: subject, ...more });
    return subject;
  };

  /** Signs a person in. Resolves to the groups that it has then, or to the page that rejects it. */
  async function signIn(name: Name, more?: Subject): Promise<string[] | string> {
    const visitor = new Visitor(home);
    const { status, text } = await visitor.signIn(person(name, more), `/login/${name}`);
    if (status !== 303) return `${status} ${text}`;
    const { me } = await visitor.client.graphql(`{ me { groups(first: 9) { nodes { name isEveryone } } } }`);
    return me.groups.nodes.filter((each: Anything) => !each.isEveryone).map((each: Anything) => each.name);
  }

  const member = () => [team.name];

  it("sign their people in side by side, each with the groups of its claims", async () => {
    const outcomes = await Promise.all(names.map((name) => signIn(name)));
    expect(outcomes).to.deep.equal(names.map(member));
    const again = await Promise.all(
      names.map((name) => signIn(name, { groups: name === "steady" ? [] : ["engineers"] })),
    );
    expect(again).to.deep.equal(names.map((name) => (name === "steady" ? [] : [team.name])));
  });

  it("of which one signs by another key, while people sign in at it and at others", async () => {
    for (let round = 0; round < 3; round++) {
      providers.rotating.rotateKeys();
      const outcomes = await Promise.all((["rotating", "steady", "rotating"] as const).map((name) => signIn(name)));
      expect(outcomes, `round ${round}`).to.deep.equal([member(), member(), member()]);
    }
  });

  it("of which one leaves groups out for their size, which takes none away and is reported", async () => {
    const report = async () =>
      (await owner().graphql(`{ identityProviders { name report { warning } } }`)).identityProviders.find(
        ({ name }) => name === "large",
      )!.report.warning;
    const overages: Record<string, Subject> = {
      "a distributed claim": {
        _claim_names: { groups: "src1" },
        _claim_sources: { src1: { endpoint: "https://graph.example.com/v1.0/users/1/getMemberObjects" } },
      },
      "more values than are read": { groups: Array.from({ length: 1_001 }, (_, nr) => `group-${nr}`) },
      "another type": { groups: { engineers: true } },
    };
    expect(await signIn("large")).to.deep.equal(member());
    for (const [what, claims] of Object.entries(overages)) {
      const outcomes = await Promise.all([signIn("large", claims), signIn("steady")]);
      expect(outcomes, what).to.deep.equal([member(), member()]);
      await eventually(async () => (await report()).includes("malformed"), what);
    }
    expect(await signIn("large", { groups: [] }), "which is empty, and not left out").to.deep.equal([]);
  });

  it("of which one is slow, which others do not wait for, and then away, which takes no rights", async () => {
    let release = () => {};
    providers.slow.held = new Promise((resolve) => (release = resolve));
    const before = providers.slow.requested.length;
    let isOver = false;
    const waiting = signIn("slow").finally(() => (isOver = true));
    await eventually(() => Promise.resolve(providers.slow.requested.slice(before).includes("/token")), "the slow one");
    expect(await Promise.all([signIn("steady"), signIn("rotating"), signIn("large")])).to.deep.equal([
      member(),
      member(),
      member(),
    ]);
    expect(isOver).to.equal(false);
    release();
    expect(await waiting).to.deep.equal(member());
    const visitor = new Visitor(home);
    await visitor.signIn(person("slow"), "/login/slow");
    await providers.slow.close();
    const away = await new Visitor(home).request(new URL("/login/slow", home));
    const response = away.status === 303 ? "started by what is known of it" : String(away.status);
    expect(response).to.be.oneOf(["started by what is known of it", "502"]);
    expect(await Promise.all([signIn("steady"), signIn("large")])).to.deep.equal([member(), member()]);
    const { me } = await visitor.client.graphql(`{ me { groups(first: 9) { nodes { id } } } }`);
    expect(me.groups.nodes.map((each: Anything) => each.id)).to.include(team.id);
  });
});
