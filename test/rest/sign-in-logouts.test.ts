// Sign-outs at a provider end the sessions that began there, and sign-outs here can end the session there.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { logged } from "../support/app.js";
import { audited } from "../support/audit.js";
import { ForgingProvider, hashed, newKey, signed, unsigned } from "../support/forging-provider.js";
import { client, OidcProvider } from "../support/providers.js";
import { Visitor } from "../support/provider-visits.js";
import { eventually } from "../support/watchers.js";
import { type Person, world } from "../support/world.js";

const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { identityProvider { id } } }`;
const update = `mutation($input: UpdateIdentityProviderInput!) { updateIdentityProvider(input: $input) { identityProvider { id signsOut } } }`;
const remove = `mutation($input: DeleteIdentityProviderInput!) { deleteIdentityProvider(input: $input) { identityProvider { id } } }`;

type Claims = Record<string, unknown>;

describe("sign-outs at providers", () => {
  const getWorld = world({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" });
  let one: ForgingProvider;
  let two: ForgingProvider;
  let home = "";
  let ada: Person;
  const others: Array<{ name: string; provider: OidcProvider }> = [];
  const owner = () => getWorld().as(getWorld().owner);

  const make = (name: string, issuer: string, more: Record<string, unknown> = {}) =>
    owner().graphql(create, {
      input: {
        name,
        kind: "OIDC",
        issuer,
        clientId: client.id,
        clientSecret: client.secret,
        emailDomains: ["example.com"],
        ...more,
      },
    });

  beforeEach(async () => {
    logged.length = 0;
    home = getWorld().app.services.config.accessUrl;
    [one, two] = [await ForgingProvider.open(), await ForgingProvider.open()];
    for (const [name, { issuer }] of Object.entries({ one, two })) await make(name, issuer);
    ada = await getWorld().user("ada", undefined, "OIDC");
  });
  afterEach(async () => {
    for (const provider of ["one", "two", ...others.map(({ name }) => name)])
      await owner().graphql(remove, { input: { provider, strandedUserCount: 99 } });
    for (const { provider } of others.splice(0)) await provider.close();
    await one.close();
    await two.close();
  });

  /** Begins a sign-in. Returns the function that ends it. */
  async function begin(provider: ForgingProvider, claims: Claims = {}) {
    const name = provider === one ? "one" : "two";
    const visitor = new Visitor(home);
    const begun = await visitor.request(new URL(`/login/${name}`, home));
    const { searchParams } = new URL(begun.headers.get("location")!);
    return async () => {
      provider.nonce = searchParams.get("nonce")!;
      provider.claims = { sub: `ada at ${name}`, email: ada.email, ...claims };
      const query = new URLSearchParams({ code: "a-code", state: searchParams.get("state")! }).toString();
      const back = await visitor.request(new URL(`/login/${name}/callback?${query}`, home));
      return { visitor, status: back.status };
    };
  }

  /** Signs Ada in. Returns her browser. */
  async function signIn(provider: ForgingProvider, claims: Claims = {}): Promise<Visitor> {
    const { visitor, status } = await (await begin(provider, claims))();
    expect(status).to.equal(303);
    return visitor;
  }

  /** Sends a logout token to the address of a provider. */
  async function send(token: string | undefined, name = "one") {
    const response = await fetch(new URL(`/login/${name}/backchannel-logout`, home), {
      method: "POST",
      body: new URLSearchParams(token === undefined ? {} : { logout_token: token }),
    });
    expect(response.headers.get("cache-control")).to.equal("no-store");
    const text = await response.text();
    return { status: response.status, text };
  }

  const isSignedIn = async ({ token }: { token?: string | undefined }): Promise<boolean> => {
    const response = await fetch(new URL("/graphql", home), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ query: "{ me { id } }" }),
    });
    return response.status === 200;
  };
  const left = async (...visitors: Visitor[]) => Promise.all(visitors.map(isSignedIn));

  it("end the named session, with its sockets, on the audit log", async () => {
    const desk = await signIn(one, { sid: "desk" });
    const phone = await signIn(one, { sid: "phone" });
    const sockets = createClient({
      url: `${home.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: desk.token },
      retryAttempts: 0,
      lazy: false,
      onNonLazyError: () => {},
    });
    const closed = new Promise<void>((resolve) => sockets.on("closed", () => resolve()));
    await new Promise<void>((resolve) => {
      sockets.on("connected", () => resolve());
    });
    const { status, text } = await send(signed(one.keys[0]!, one.logoutClaims({ sid: "desk" })));
    expect({ status, text }).to.deep.equal({ status: 200, text: "" });
    await closed;
    expect(await left(desk, phone)).to.deep.equal([false, true]);
    const events = await audited(getWorld(), { resourceId: ada.id, action: "REVOKE" });
    expect(events.at(-1)).to.deep.include({
      diff: {
        sessions: { old: 1, new: 0 },
        provider: { new: "one" },
        reason: { new: "The provider ended its session." },
      },
    });
    await sockets.dispose();
  });

  it("end all sessions of a person who is named alone, from this provider", async () => {
    const desk = await signIn(one, { sid: "desk" });
    const phone = await signIn(one);
    const link = await phone.client.graphql(`mutation { beginIdentityLink(input: { provider: "two" }) { url } }`);
    const back = await phone.request(new URL(link.beginIdentityLink.url));
    const { searchParams } = new URL(back.headers.get("location")!);
    two.nonce = searchParams.get("nonce")!;
    two.claims = { sub: "ada at two", email: ada.email };
    const query = new URLSearchParams({ code: "a-code", state: searchParams.get("state")! }).toString();
    expect((await phone.request(new URL(`/login/two/callback?${query}`, home))).status).to.equal(303);
    const elsewhere = await signIn(two);
    const { status } = await send(signed(one.keys[0]!, one.logoutClaims({ sub: "ada at one" })));
    expect(status).to.equal(200);
    expect(await left(desk, phone, elsewhere)).to.deep.equal([false, false, true]);
  });

  it("of an unknown session, or of a session of another person, end none", async () => {
    const desk = await signIn(one, { sid: "desk" });
    for (const named of [{ sid: "unknown" }, { sub: "another" }, { sid: "desk", sub: "another" }])
      expect((await send(signed(one.keys[0]!, one.logoutClaims(named)))).status, JSON.stringify(named)).to.equal(200);
    expect(await left(desk)).to.deep.equal([true]);
  });

  it("count once, and only as the provider sends them", async () => {
    const desk = await signIn(one, { sid: "desk" });
    const key = one.keys[0]!;
    const time = Math.floor(Date.now() / 1000);
    const logout = (more: Claims) => one.logoutClaims({ sid: "desk", sub: "ada at one", ...more });
    const pem = key.publicKey.export({ type: "spki", format: "pem" }) as string;
    const stranger = newKey(key.kid);
    const forged: Record<string, string | undefined> = {
      "no token": undefined,
      "no form of a token": "desk",
      "no signature": unsigned(logout({})),
      "no signature, of an algorithm": `${signed(key, logout({})).split(".").slice(0, 2).join(".")}.`,
      "the key of a stranger": signed(stranger, logout({})),
      "a key in its header": signed(stranger, logout({}), { jwk: stranger.publicKey.export({ format: "jwk" }) }),
      "a key that is not published": signed(newKey("unknown"), logout({})),
      "the secret of the client": hashed(client.secret, logout({})),
      "the public key as a secret": hashed(pem, logout({}), { kid: key.kid }),
      "the keys of another provider": signed(two.keys[0]!, logout({})),
      "another issuer": signed(key, logout({ iss: two.issuer })),
      "no issuer": signed(key, logout({ iss: undefined })),
      "another audience": signed(key, logout({ aud: "another" })),
      "no audience": signed(key, logout({ aud: undefined })),
      "a nonce": signed(key, logout({ nonce: "a-nonce" })),
      "no events": signed(key, logout({ events: undefined })),
      "another event": signed(key, logout({ events: { "urn:example:event": {} } })),
      "an event of a strange form": signed(
        key,
        logout({ events: { "http://schemas.openid.net/event/backchannel-logout": [] } }),
      ),
      "events of the prototype": signed(key, logout({ events: "backchannel-logout" })),
      "no jti": signed(key, logout({ jti: undefined })),
      "a jti of a strange form": signed(key, logout({ jti: 7 })),
      "neither a person nor a session": signed(key, logout({ sid: undefined, sub: undefined })),
      "a session of a strange form": signed(key, logout({ sid: ["desk"] })),
      "no time": signed(key, logout({ iat: undefined })),
      "a time long ago": signed(key, logout({ iat: time - 3600 })),
      "a time to come": signed(key, logout({ iat: time + 3600, exp: time + 7200 })),
      "an end long ago": signed(key, logout({ exp: time - 3600 })),
      "the type of an access token": signed(key, logout({}), { typ: "at+jwt" }),
      "an ID token": signed(key, { iss: one.issuer, aud: client.id, sub: "ada at one", iat: time, exp: time + 300 }),
    };
    for (const [what, token] of Object.entries(forged)) {
      const { status, text } = await send(token);
      expect(status, what).to.equal(400);
      expect(JSON.parse(text), what).to.have.property("error", "invalid_request");
      expect(text, what).to.not.contain("desk");
    }
    expect((await send(signed(key, logout({})), "two")).status).to.equal(400);
    expect((await send(signed(key, logout({})), "none")).status).to.equal(404);
    expect(await left(desk)).to.deep.equal([true]);

    const token = signed(key, logout({}), { typ: "logout+jwt" });
    const tries = await Promise.all([send(token), send(token), send(token)]);
    expect(tries.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 400, 400]);
    expect(await left(desk)).to.deep.equal([false]);
    const again = await signIn(one, { sid: "desk again" });
    const replayed = await send(token);
    expect({ status: replayed.status, text: replayed.text }).to.deep.equal({
      status: 400,
      text: `{"error":"invalid_request","error_description":"The logout token is not valid. It was used before."}`,
    });
    expect(await left(again)).to.deep.equal([true]);
    expect(JSON.stringify(logged)).to.not.contain(token.split(".")[2]);
  });

  it("are known by a new key of the provider, and are not while it is away", async () => {
    const desk = await signIn(one, { sid: "desk" });
    const phone = await signIn(one, { sid: "phone" });
    expect((await send(signed(one.keys[0]!, one.logoutClaims({ sid: "desk" })))).status).to.equal(200);
    one.keys = [newKey("second")];
    await eventually(
      async () => (await send(signed(one.keys[0]!, one.logoutClaims({ sid: "phone" })))).status === 200,
      "the new key",
    );
    expect(await left(desk, phone)).to.deep.equal([false, false]);
    const elsewhere = await signIn(two, { sid: "elsewhere", sub: "ada at one", email: "eve@example.com" });
    const token = signed(two.keys[0]!, two.logoutClaims({ sid: "elsewhere" }));
    await two.close();
    const { status, text } = await send(token, "two");
    expect({ status, error: JSON.parse(text).error }).to.deep.equal({ status: 502, error: "server_error" });
    expect(await left(elsewhere)).to.deep.equal([true]);
  });

  it("while a sign-in is on its way reject it", async () => {
    const finish = await begin(one, { sid: "desk" });
    expect((await send(signed(one.keys[0]!, one.logoutClaims({ sid: "desk" })))).status).to.equal(200);
    const { status, visitor } = await finish();
    expect({ status, token: visitor.token }).to.deep.equal({ status: 403, token: undefined });
  });

  /** Makes a provider of npm's oidc-provider, which ends sessions in both ways. */
  async function real(signsOut: boolean): Promise<string> {
    const name = `real-${others.length + 1}`;
    const provider = await OidcProvider.open(() => `${home}/login/${name}/callback`, {
      metadata: {
        backchannel_logout_uri: `${home}/login/${name}/backchannel-logout`,
        backchannel_logout_session_required: true,
        post_logout_redirect_uris: [`${home}/login`],
      },
      features: { backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
      conformIdTokenClaims: false,
      // The provider calls no server of its own machine otherwise.
      fetch: (url: URL, { dispatcher: _dispatcher, ...options }: RequestInit & { dispatcher?: unknown }) =>
        fetch(url, options),
    });
    provider.subjects.set("ada", { email: ada.email, email_verified: true });
    others.push({ name, provider });
    await make(name, provider.settings.STEWARD_OIDC_ISSUER_URL!, { signsOut });
    return name;
  }

  /** Signs out as the console does. Returns the URL that the browser goes on to. */
  async function signOut(visitor: Visitor): Promise<string> {
    const token = visitor.token!;
    const response = await fetch(new URL("/logout", home), {
      method: "POST",
      redirect: "manual",
      headers: { cookie: `service_session_token=${token}`, "sec-fetch-site": "same-origin" },
      body: new URLSearchParams({ csrf_token: visitor.cookie("service_csrf_token")! }),
    });
    expect(response.status).to.be.lessThan(400);
    expect(await isSignedIn({ token })).to.equal(false);
    return response.headers.get("location") ?? response.headers.get("refresh")!.replace("0;url=", "");
  }

  it("of a real provider, which a sign-out here starts, end the other sessions of its browser", async () => {
    const name = await real(true);
    const desk = new Visitor(home);
    expect((await desk.signIn("ada", `/login/${name}`)).status).to.equal(303);
    const first = desk.token!;
    // The same browser signs in once more, with the same session at the provider.
    desk.keep("service_session_token", "");
    expect((await desk.signIn("ada", `/login/${name}`)).status).to.equal(303);
    expect(desk.token).to.not.equal(first);
    const url = new URL(await signOut(desk));
    expect(url.origin).to.equal(others[0]!.provider.settings.STEWARD_OIDC_ISSUER_URL);
    expect(url.searchParams.get("client_id")).to.equal(client.id);
    const asked = await desk.request(url);
    const page = await asked.text();
    const form = Object.fromEntries(
      [...page.matchAll(/name="(\w+)" value="([^"]*)"/g)].map((each) => [each[1], each[2]]),
    );
    const target = new URL(/action="([^"]*)"/.exec(page)![1]!, url);
    const confirmed = await desk.request(target, { ...form, logout: "yes" } as Record<string, string>);
    expect(confirmed.headers.get("location")).to.equal(`${home}/login?state=signed_out`);
    expect(await (await desk.request(new URL("/login?state=signed_out", home))).text()).to.contain(
      "You are signed out.",
    );
    await eventually(async () => !(await isSignedIn({ token: first })), "the other session");
  });

  it("are not passed on unless the provider is meant to know, has an endpoint, and can be reached", async () => {
    const visits: Visitor[] = [await signIn(one)];
    one.metadata = { end_session_endpoint: `${one.issuer}/end` };
    const { updateIdentityProvider } = await owner().graphql(update, { input: { provider: "one", signsOut: true } });
    expect(updateIdentityProvider.identityProvider.signsOut).to.equal(true);
    await owner().graphql(update, { input: { provider: "two", signsOut: true } });
    expect(await signOut(await signIn(two, { email: "eve@example.com" }))).to.equal("/login?signed_out");
    const there = new URL(await signOut(visits[0]!));
    expect(there.origin + there.pathname).to.equal(`${one.issuer}/end`);
    expect(there.searchParams.get("id_token_hint")).to.match(/^ey/);
    const last = await signIn(one);
    await owner().graphql(update, { input: { provider: "one", displayName: "One" } });
    await one.close();
    expect(await signOut(last)).to.equal("/login?signed_out");
    expect(await isSignedIn(last)).to.equal(false);
  });
});
