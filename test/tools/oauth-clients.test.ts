// Unmodified OAuth2 client libraries, with users who decide in a real browser.
import { expect } from "chai";
import express from "express";
import session from "express-session";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import passport from "passport";
import OAuth2Strategy from "passport-oauth2";
import type { Browser } from "playwright-core";
import { AuthorizationCode, ClientCredentials } from "simple-oauth2";
import { launchBrowser } from "../support/browser.js";
import { type Person, world } from "../support/world.js";
import { createApp, createServiceAccount, reads, type Registered, Site, Visitor } from "./visitors.js";

const scope = "user:read group:read";

describe("OAuth2 client libraries", () => {
  const w = world();
  let browser: Browser;
  let site: Site;
  let ada: Person;
  let visitor: Visitor;
  before(async () => {
    [browser, site] = await Promise.all([launchBrowser(), Site.open()]);
  });
  after(() => Promise.all([browser.close(), site.close()]));
  beforeEach(async () => {
    ada = await w().user("ada");
    visitor = await Visitor.open(browser, ada);
  });
  afterEach(() => visitor.close());

  /** The only address that clients are given. */
  const issuer = () => new URL(w().app.services.config.accessUrl);
  const callback = () => `${site.url}/callback`;
  const working = () => ({ rest: 200, graphql: 200, username: ada.username });
  const ended = { rest: 401, graphql: 401, username: undefined };

  describe("openid-client", () => {
    const insecure = { algorithm: "oauth2" as const, execute: [openid.allowInsecureRequests] };
    const discover = (
      { clientId, clientSecret }: Registered,
      authentication = openid.ClientSecretBasic(clientSecret),
    ) => openid.discovery(issuer(), clientId, undefined, authentication, insecure);

    /** The code flow with PKCE and state. */
    async function signIn(config: openid.Configuration, parameters: Record<string, string> = { scope }) {
      const pkceCodeVerifier = openid.randomPKCECodeVerifier();
      const expectedState = openid.randomState();
      const request = openid.buildAuthorizationUrl(config, {
        redirect_uri: callback(),
        state: expectedState,
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: "S256",
        ...parameters,
      });
      const returned = await visitor.decide(request);
      return openid.authorizationCodeGrant(config, returned, { pkceCodeVerifier, expectedState });
    }

    it("gets tokens, uses, refreshes, introspects and revokes them", async () => {
      const config = await discover(await createApp(w(), { name: "Night Owl", callbackUrl: callback() }));
      const tokens = await signIn(config);
      expect(visitor.shown).to.include(ada.username);
      expect(tokens).to.include({ token_type: "bearer", scope });
      expect(tokens.expires_in).to.be.within(3_500, 3_600);
      expect(await reads(w(), tokens.access_token)).to.deep.equal(working());

      const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!, { scope: "user:read" });
      expect(refreshed).to.include({ scope: "user:read" });
      expect(await reads(w(), refreshed.access_token)).to.deep.equal({ ...working(), rest: 403 });

      const described = await openid.tokenIntrospection(config, tokens.access_token);
      expect(described).to.include({ active: true, scope, username: ada.username, sub: ada.id, iss: issuer().origin });

      await openid.tokenRevocation(config, refreshed.refresh_token!);
      expect(await openid.tokenIntrospection(config, tokens.access_token)).to.deep.equal({ active: false });
      expect(await reads(w(), tokens.access_token)).to.deep.equal(ended);
      const failure = await openid.refreshTokenGrant(config, refreshed.refresh_token!).catch((error: unknown) => error);
      expect(failure).to.include({ error: "invalid_grant", status: 400 });
    });

    it("registers itself, and authenticates in the body", async () => {
      const config = await openid.dynamicClientRegistration(
        issuer(),
        {
          client_name: "Self-made",
          redirect_uris: [callback()],
          scope,
          token_endpoint_auth_method: "client_secret_post",
        },
        undefined,
        insecure,
      );
      const tokens = await signIn(config);
      expect(visitor.shown).to.match(/registered itself/i);
      expect(await reads(w(), tokens.access_token)).to.deep.equal(working());
    });

    it("connects a device", async () => {
      const app = await createApp(w(), {
        name: "Television",
        callbackUrl: callback(),
        grantTypes: ["DEVICE_CODE", "REFRESH_TOKEN"],
      });
      const config = await discover(app);
      const started = await openid.initiateDeviceAuthorization(config, { scope });
      const polled = openid.pollDeviceAuthorizationGrant(config, started);
      await visitor.decide(started.verification_uri_complete!);
      expect(visitor.shown).to.include(started.user_code);
      const { access_token } = await polled;
      expect(await reads(w(), access_token)).to.deep.equal(working());
    });

    it("acts as a service account without a user", async () => {
      const serviceUserId = await createServiceAccount(w(), "night-owl");
      const grantTypes = ["CLIENT_CREDENTIALS"];
      const app = await createApp(w(), { name: "Cron", grantTypes, serviceUserId });
      const config = await discover(app, openid.ClientSecretPost(app.clientSecret));
      const tokens = await openid.clientCredentialsGrant(config, { scope });
      expect(tokens).to.not.have.property("refresh_token");
      expect(await reads(w(), tokens.access_token)).to.deep.equal({ ...working(), username: "night-owl" });
    });
  });

  describe("oauth4webapi", () => {
    const options = { [oauth.allowInsecureRequests]: true };

    it("finds everything from the URL of the API, and gets a token for it alone", async () => {
      const groups = new URL("/api/v2/groups", issuer());
      const challenge = await oauth
        .protectedResourceRequest("unknown", "GET", groups, undefined, undefined, options)
        .catch((error: unknown) => error as oauth.WWWAuthenticateChallengeError);
      const { scope: needed } = (challenge as oauth.WWWAuthenticateChallengeError).cause[0]!.parameters;
      const resource = new URL("/api/v2", issuer());
      const found = await oauth.resourceDiscoveryRequest(resource, options);
      const { authorization_servers } = await oauth.processResourceDiscoveryResponse(resource, found);

      const server = new URL(authorization_servers![0]!);
      const discovered = await oauth.discoveryRequest(server, { algorithm: "oauth2", ...options });
      const as = await oauth.processDiscoveryResponse(server, discovered);
      const client = await oauth.processDynamicClientRegistrationResponse(
        await oauth.dynamicClientRegistrationRequest(
          as,
          { client_name: "Explorer", redirect_uris: [callback()], scope: needed!, token_endpoint_auth_method: "none" },
          options,
        ),
      );
      expect(client).to.not.have.property("client_secret");

      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const request = new URL(as.authorization_endpoint!);
      request.search = new URLSearchParams({
        client_id: client.client_id,
        redirect_uri: callback(),
        response_type: "code",
        scope: needed!,
        state,
        resource: resource.href,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      }).toString();
      // Checks state, and `iss` against mix-ups.
      const parameters = oauth.validateAuthResponse(as, client, await visitor.decide(request), state);
      const { access_token, refresh_token } = await oauth.processAuthorizationCodeResponse(
        as,
        client,
        await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), parameters, callback(), verifier, options),
      );
      const onlyRest = { rest: 200, graphql: 401, username: undefined };
      expect(await reads(w(), access_token)).to.deep.equal(onlyRest);

      const refreshed = await oauth.processRefreshTokenResponse(
        as,
        client,
        await oauth.refreshTokenGrantRequest(as, client, oauth.None(), refresh_token!, options),
      );
      expect(await reads(w(), refreshed.access_token)).to.deep.equal(onlyRest);

      await oauth.processRevocationResponse(
        await oauth.revocationRequest(as, client, oauth.None(), refreshed.access_token, options),
      );
      const failure = await oauth
        .protectedResourceRequest(refreshed.access_token, "GET", groups, undefined, undefined, options)
        .catch((error: unknown) => error as oauth.WWWAuthenticateChallengeError);
      const { cause } = failure as oauth.WWWAuthenticateChallengeError;
      expect(cause[0]).to.deep.include({ scheme: "bearer" });
      expect(cause[0]!.parameters).to.include({ realm: "steward", error: "invalid_token" });
    });

    it("learns that the user denied the request", async () => {
      const { clientId } = await createApp(w(), { name: "Denied", callbackUrl: callback() });
      const as = await oauth.processDiscoveryResponse(
        issuer(),
        await oauth.discoveryRequest(issuer(), { algorithm: "oauth2", ...options }),
      );
      const request = new URL(as.authorization_endpoint!);
      const state = oauth.generateRandomState();
      request.search = new URLSearchParams({ client_id: clientId, response_type: "code", scope, state }).toString();
      const returned = await visitor.decide(request, "Deny");
      expect(() => oauth.validateAuthResponse(as, { client_id: clientId }, returned, state))
        .to.throw(oauth.AuthorizationResponseError)
        .with.property("error", "access_denied");
    });
  });

  describe("simple-oauth2", () => {
    const auth = () => ({ tokenHost: issuer().origin, tokenPath: "/oauth2/tokens", revokePath: "/oauth2/revoke" });
    const authorize = () => ({ ...auth(), authorizePath: "/oauth2/authorize" });
    const clientOf = ({ clientId, clientSecret }: Registered) => ({ id: clientId, secret: clientSecret });

    for (const bodyFormat of ["form", "json"] as const) {
      it(`gets tokens by a code without PKCE, refreshes and revokes them, with bodies as ${bodyFormat}`, async () => {
        const app = await createApp(w(), { name: "Simple", callbackUrl: callback() });
        const client = new AuthorizationCode({ client: clientOf(app), auth: authorize(), options: { bodyFormat } });
        const redirect = { redirect_uri: callback() };
        const returned = await visitor.decide(client.authorizeURL({ ...redirect, scope, state: "a state" }));
        expect(returned.searchParams.get("state")).to.equal("a state");
        const first = await client.getToken({ ...redirect, code: returned.searchParams.get("code")! });
        expect(first.expired()).to.equal(false);
        expect(await reads(w(), first.token.access_token as string)).to.deep.equal(working());

        const second = await first.refresh();
        expect(await reads(w(), second.token.access_token as string)).to.deep.equal(working());
        await second.revokeAll();
        expect(await reads(w(), second.token.access_token as string)).to.deep.equal(ended);
      });
    }

    it("acts as a service account without a user", async () => {
      const serviceUserId = await createServiceAccount(w(), "early-bird");
      const app = await createApp(w(), { name: "Cron", grantTypes: ["CLIENT_CREDENTIALS"], serviceUserId });
      const client = new ClientCredentials({ client: clientOf(app), auth: auth() });
      const { token } = await client.getToken({ scope });
      expect(await reads(w(), token.access_token as string)).to.deep.equal({ ...working(), username: "early-bird" });
    });
  });

  describe("passport-oauth2", () => {
    it("signs users in to a site, with state and PKCE", async () => {
      const own = await Site.open();
      try {
        const callbackURL = `${own.url}/callback`;
        const { clientId, clientSecret } = await createApp(w(), {
          name: "Passport",
          redirectUris: [callbackURL],
          pkceRequired: true,
        });
        const strategy = new OAuth2Strategy(
          {
            authorizationURL: `${issuer().origin}/oauth2/authorize`,
            tokenURL: `${issuer().origin}/oauth2/tokens`,
            clientID: clientId,
            clientSecret,
            callbackURL,
            scope: scope.split(" "),
            state: true,
            pkce: true,
          },
          (accessToken: string, refreshToken: string, _: unknown, done: OAuth2Strategy.VerifyCallback) =>
            done(null, { accessToken, refreshToken }),
        );
        let user: Express.User | undefined;
        const app = express();
        app.use(session({ secret: "a secret of the site", resave: false, saveUninitialized: false }));
        const authenticate = passport.authenticate(strategy, { session: false });
        app.get("/", authenticate);
        app.get("/callback", authenticate, (request, response) => {
          ({ user } = request);
          response.send("<h1>Welcome</h1>");
        });
        own.serve(app);

        await visitor.decide(own.url);
        expect(await visitor.heading()).to.equal("Welcome");
        const { accessToken, refreshToken } = user as { accessToken: string; refreshToken: string };
        expect(await reads(w(), accessToken)).to.deep.equal(working());
        expect(refreshToken).to.match(/^stwr_/);
      } finally {
        await own.close();
      }
    });
  });
});
