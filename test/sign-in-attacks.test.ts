// What strangers, hostile providers, and mistaken ones try at the sign-in through several providers.
import { expect } from "chai";
import { accountOf } from "./support/accounts.js";
import { logged } from "./support/app.js";
import { audited } from "./support/audit.js";
import { ForgingProvider, hashed, newKey, signed, unsigned } from "./support/forging-provider.js";
import { client } from "./support/providers.js";
import { Visitor } from "./support/provider-visits.js";
import { eventually } from "./support/watchers.js";
import { type Person, world } from "./support/world.js";

const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { identityProvider { id } } }`;
const update = `mutation($input: UpdateIdentityProviderInput!) { updateIdentityProvider(input: $input) { identityProvider { id } } }`;
const remove = `mutation($input: DeleteIdentityProviderInput!) { deleteIdentityProvider(input: $input) { identityProvider { id } } }`;
const beginLink = `mutation($input: BeginIdentityLinkInput!) { beginIdentityLink(input: $input) { url } }`;

describe("sign-in through several providers is safe from", () => {
  const getWorld = world({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" });
  let honest: ForgingProvider;
  let hostile: ForgingProvider;
  let home = "";
  let ada: Person;
  const owner = () => getWorld().as(getWorld().owner);

  beforeEach(async () => {
    logged.length = 0;
    home = getWorld().app.services.config.accessUrl;
    [honest, hostile] = [await ForgingProvider.open(), await ForgingProvider.open()];
    for (const [name, { issuer }] of Object.entries({ honest, hostile }))
      await owner().graphql(create, {
        input: {
          name,
          kind: "OIDC",
          issuer,
          clientId: client.id,
          clientSecret: client.secret,
          emailDomains: ["example.com"],
        },
      });
    ada = await getWorld().user("ada", undefined, "OIDC");
    honest.claims = { sub: "ada", email: ada.email };
    expect(await signIn("honest", honest)).to.equal(ada.id);
  });
  afterEach(async () => {
    for (const provider of ["honest", "hostile"])
      await owner().graphql(remove, { input: { provider, strandedUserCount: 99 } });
    await honest.close();
    await hostile.close();
  });

  /** Begins a sign-in. Returns its state. */
  async function begin(name: string, provider: ForgingProvider, visitor: Visitor, path = `/login/${name}`) {
    const begun = await visitor.request(new URL(path, home));
    expect(begun.status).to.equal(303);
    const { searchParams } = new URL(begun.headers.get("location")!);
    provider.nonce = searchParams.get("nonce")!;
    return searchParams.get("state")!;
  }

  /** Returns from a provider. Resolves to the response as text, or to the path that it leads to. */
  async function comeBack(name: string, visitor: Visitor, query: Record<string, string>): Promise<string> {
    const path = `/login/${name}/callback?${new URLSearchParams({ code: "a-code", ...query }).toString()}`;
    const response = await visitor.request(new URL(path, home));
    const text = (await response.text()).replace(/<style[^]*?<\/style>|<[^>]+>/g, " ").replace(/\s+/g, " ");
    return response.status === 303 ? `303 ${response.headers.get("location")}` : `${response.status} ${text.trim()}`;
  }

  /** Signs in, and returns the id of the user, or the page that rejects it. */
  async function signIn(name: string, provider: ForgingProvider, query: Record<string, string> = {}): Promise<string> {
    const visitor = new Visitor(home);
    const state = await begin(name, provider, visitor);
    const outcome = await comeBack(name, visitor, { state, ...query });
    if (!outcome.startsWith("303")) expect(visitor.token, outcome).to.equal(undefined);
    return outcome.startsWith("303") ? (await visitor.client.graphql("{ me { id } }")).me.id : outcome;
  }

  const failed = "502 The identity provider failed.";

  it("unsigned, wrongly signed, and confused tokens", async () => {
    const key = honest.keys[0]!;
    const pem = key.publicKey.export({ type: "spki", format: "pem" }) as string;
    const der = key.publicKey.export({ type: "spki", format: "der" }).toString("base64");
    const stranger = newKey(key.kid);
    const ofAda = { sub: "ada", email: ada.email };
    const forgeries: Record<string, ForgingProvider["token"]> = {
      "without signature": unsigned,
      "without signature, of an algorithm": (claims) => `${signed(key, claims).split(".").slice(0, 2).join(".")}.`,
      "by another key of the same id": (claims) => signed(stranger, claims),
      "by a key in its header": (claims) =>
        signed(stranger, claims, { jwk: stranger.publicKey.export({ format: "jwk" }) }),
      "by a key at a URL in its header": (claims) => signed(stranger, claims, { jku: `${hostile.issuer}/keys` }),
      "hashed with the secret of the client": (claims) => hashed(client.secret, claims),
      "hashed with the public key": (claims) => hashed(pem, claims, { kid: key.kid }),
      "hashed with the public key in another form": (claims) => hashed(der, claims, { kid: key.kid }),
      "changed after it was signed": (claims) => {
        const [header, , signature] = signed(key, { ...claims, sub: "mallory" }).split(".");
        return [header, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
      },
      "encrypted, or so it says": (claims) => `${signed(key, claims)}.x.y`,
      "of no form": () => "ada",
    };
    for (const [what, token] of Object.entries(forgeries)) {
      honest.claims = ofAda;
      honest.token = token;
      expect(await signIn("honest", honest), what).to.contain(failed);
    }
    expect(hostile.requested).to.not.include("/keys");
    honest.token = (claims) => signed(key, claims);
    expect(await signIn("honest", honest)).to.equal(ada.id);
  });

  it("tokens for others, of others, too old, or replayed", async () => {
    const now = Math.floor(Date.now() / 1000);
    const formerNonce = honest.nonce;
    const wrong: Record<string, Record<string, unknown>> = {
      "for another client": { aud: "another" },
      "for several clients, of another party": { aud: [client.id, "another"], azp: "another" },
      expired: { exp: now - 3600 },
      "without an expiry": { exp: undefined },
      "with the nonce of another sign-in": { nonce: formerNonce },
      "without a nonce": { nonce: undefined },
      "of another issuer": { iss: hostile.issuer },
      "of an issuer that begins like it": { iss: `${honest.issuer}/other` },
      "without a subject": { sub: undefined },
      "with an empty subject": { sub: "" },
      "with a subject of 256 characters": { sub: "x".repeat(256) },
      "with an object as subject": { sub: { $ne: "" } },
    };
    for (const [what, claims] of Object.entries(wrong)) {
      honest.claims = { sub: "ada", email: ada.email, ...claims };
      expect(await signIn("honest", honest), what).to.contain(failed);
    }
  });

  it("providers that speak of the people of others, also of an owner", async () => {
    await getWorld().grant(ada, "owner");
    const before = await accountOf(getWorld(), ada.id);
    const ownerEmail = getWorld().owner.email;
    const claimed: Record<string, [Record<string, unknown>, string]> = {
      "the subject of another's person": [{ sub: "ada" }, "403 The provider returned no verified email."],
      "the subject of another's person, and its issuer": [{ sub: "ada", iss: honest.issuer }, failed],
      "the address of another's person": [
        { sub: "mallory", email: ada.email },
        "403 The account with this email signs in through another provider.",
      ],
      "its subject and its address": [
        { sub: "ada", email: ada.email },
        "403 The account with this email signs in through another provider.",
      ],
      "its address in other letters": [
        { sub: "mallory", email: ada.email.toUpperCase() },
        "403 The account with this email signs in through another provider.",
      ],
      "the address of an owner with a password": [{ sub: "owner", email: ownerEmail }, "403 Incorrect login type."],
      "an address outside of its domains": [
        { sub: "mallory", email: "mallory@elsewhere.example.net" },
        "403 There is no account for you here.",
      ],
    };
    for (const [what, [claims, rejected]] of Object.entries(claimed)) {
      hostile.claims = claims;
      expect(await signIn("hostile", hostile), what).to.contain(rejected);
    }
    expect(await accountOf(getWorld(), ada.id)).to.deep.equal(before);
    const failures = () => audited(getWorld(), { resourceId: ada.id, action: "LOGIN_FAILED" });
    // They are recorded after the responses.
    await eventually(async () => (await failures()).length >= 3, "the failed logins are recorded");
    expect(await failures()).to.have.length(3);
    const { userIdentities } = await owner().graphql(`{ userIdentities(user: "${ada.id}") { providerName } }`);
    expect(userIdentities).to.deep.equal([{ providerName: "honest" }]);
  });

  it("responses that are mixed up between providers and browsers", async () => {
    const notStarted = "400 This sign-in was not started in this browser";
    const visitor = new Visitor(home);
    const other = new Visitor(home);
    const state = await begin("honest", honest, visitor);
    // Honest's response is led to hostile's address, with the state of the browser.
    expect(await comeBack("hostile", visitor, { state })).to.contain(notStarted);
    expect(hostile.requested).to.not.include("/token");
    const another = await begin("honest", honest, visitor);
    expect(await comeBack("honest", other, { state: another })).to.contain(notStarted);
    const ofOther = await begin("honest", honest, other);
    expect(await comeBack("honest", visitor, { state: ofOther })).to.contain(notStarted);
    expect(await comeBack("honest", visitor, {})).to.contain(notStarted);
    expect(await signIn("honest", honest, { iss: hostile.issuer })).to.contain(failed);
    // The response names the issuer that sent it (RFC 9207).
    expect(await signIn("honest", honest, { iss: honest.issuer })).to.equal(ada.id);
  });

  it("a response that is used twice, concurrently or later", async () => {
    const visitor = new Visitor(home);
    const state = await begin("honest", honest, visitor);
    const cookie = visitor.cookie("service_sign_in")!;
    const copies = Array.from({ length: 4 }, () => {
      const copy = new Visitor(home);
      copy.keep("service_sign_in", cookie);
      return copy;
    });
    const outcomes = await Promise.all(copies.map((copy) => comeBack("honest", copy, { state })));
    expect(outcomes.filter((outcome) => outcome.startsWith("303"))).to.have.length(1);
    for (const outcome of outcomes.filter((each) => !each.startsWith("303")))
      expect(outcome).to.contain("403 This sign-in has already been used.");
    const late = new Visitor(home);
    late.keep("service_sign_in", cookie);
    expect(await comeBack("honest", late, { state })).to.contain("This sign-in has already been used.");
    const [text, mark] = cookie.split(".");
    const attempt = JSON.parse(Buffer.from(text!, "base64url").toString());
    for (const changes of [{ provider: "hostile" }, { expiresAt: attempt.expiresAt + 1 }, { returnTo: "/x" }]) {
      const changed = Buffer.from(JSON.stringify({ ...attempt, ...changes })).toString("base64url");
      const forger = new Visitor(home);
      forger.keep("service_sign_in", `${changed}.${mark}`);
      expect(await comeBack("honest", forger, { state })).to.contain("400");
    }
  });

  it("pages that link an identity of theirs to the account of their visitor", async () => {
    const visitor = new Visitor(home);
    honest.claims = { sub: "ada", email: ada.email };
    await comeBack("honest", visitor, { state: await begin("honest", honest, visitor) });
    expect(visitor.token).to.not.equal(undefined);
    hostile.claims = { sub: "mallory", email: "mallory@example.com" };
    // Without a ticket, it is an ordinary sign-in, and tickets are for one session.
    const mallory = new Visitor(home);
    await comeBack("hostile", mallory, { state: await begin("hostile", hostile, mallory) });
    const { beginIdentityLink } = await mallory.client.graphql(beginLink, { input: { provider: "honest" } });
    const lured = await visitor.request(new URL(beginIdentityLink.url));
    expect(lured.status).to.equal(403);
    const own = await visitor.client.graphql(beginLink, { input: { provider: "hostile" } });
    const path = own.beginIdentityLink.url.slice(home.length);
    const state = await begin("hostile", hostile, visitor, path);
    // The session ends meanwhile, and another one begins.
    visitor.keep("service_session_token", mallory.token!);
    expect(await comeBack("hostile", visitor, { state })).to.contain("403 This link has expired");
    const { userIdentities } = await owner().graphql(`{ userIdentities(user: "${ada.id}") { providerName } }`);
    expect(userIdentities).to.deep.equal([{ providerName: "honest" }]);
    const tokens = await getWorld().scoped({ token: mallory.token! }, "all");
    expect(
      (
        await getWorld()
          .as(tokens)
          .failure(beginLink, { input: { provider: "honest" } })
      ).code,
    ).to.equal("FORBIDDEN");
  });

  it("a provider that is switched off, or deleted, while its response is on the way", async () => {
    for (const change of [
      () => owner().graphql(update, { input: { provider: "honest", isEnabled: false } }),
      () => owner().graphql(update, { input: { provider: "honest", isEnabled: true, tenants: ["a"] } }),
    ]) {
      const visitor = new Visitor(home);
      let release = () => {};
      honest.held = new Promise((resolve) => (release = resolve));
      const before = honest.requested.length;
      const state = await begin("honest", honest, visitor);
      const response = comeBack("honest", visitor, { state });
      while (!honest.requested.slice(before).includes("/token")) await new Promise(setImmediate);
      await change();
      release();
      expect(await response).to.contain("403 An administrator has just changed this provider.");
      await owner().graphql(update, { input: { provider: "honest", isEnabled: true, tenants: [] } });
    }
  });

  it("and goes on when a provider changes its keys, fails, or comes back", async () => {
    honest.claims = { sub: "ada", email: ada.email };
    honest.keys = [newKey("second")];
    expect(await signIn("honest", honest)).to.equal(ada.id);
    honest.keys = [newKey("third"), honest.keys[0]!];
    expect(await signIn("honest", honest)).to.equal(ada.id);
    await hostile.close();
    expect(await signIn("honest", honest)).to.equal(ada.id);
    const response = await new Visitor(home).request(new URL("/login/hostile", home));
    expect(response.status).to.equal(502);
    hostile = await ForgingProvider.open();
  });

  it("tells no one tokens, codes, and claims", async () => {
    honest.claims = { sub: "ada", email: ada.email, secret_claim: "canary-claim" };
    honest.token = (claims) => `${signed(newKey("unknown"), claims)}canary-token`;
    expect(await signIn("honest", honest, { code: "canary-code" }))
      .to.contain(failed)
      .and.not.contain("canary");
    honest.token = (claims) => signed(honest.keys[0]!, claims);
    expect(await signIn("honest", honest, { code: "canary-code" })).to.equal(ada.id);
    const { identityProviders } = await owner().graphql("{ identityProviders { name report { failure } } }");
    for (const place of [logged, await audited(getWorld(), {}), identityProviders])
      expect(JSON.stringify(place)).to.not.contain("canary").and.not.contain(client.secret);
  });
});
