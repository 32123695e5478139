// Refreshing and validating the tokens of linked accounts: once for all replicas, and whatever the provider does.
// Reaches for tables: tokens expire and are tried again after minutes; those of deleted users are in no response.
import { request, type ServerResponse } from "node:http";
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { audited } from "./support/audit.js";
import { runJob } from "./support/background.js";
import { type App, logged, startServer } from "./support/app.js";
import { expire, externalAuth, ExternalService, link, type Reply } from "./support/external-services.js";
import { insert } from "./support/stage.js";
import { countRows, deleteRows, lockRows, setColumns, setTimes } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { repeats } from "./support/repeats.js";
import { Client, type Person, startWorld, type World } from "./support/world.js";

const api = "/api/v2/external-auth";
const one = `${api}/lab`;

describe("tokens of linked accounts", () => {
  let w: World;
  let other: App;
  let lab: ExternalService;
  let ada: Person;
  /** The same user at two replicas. */
  let hers: Client;
  let there: Client;

  before(async () => {
    lab = await ExternalService.open();
    // Some calls to the provider take until the test has done something else.
    const settings = { ...externalAuth(lab.provider()), STEWARD_EXTERNAL_AUTH_TIMEOUT: "1m" };
    w = await startWorld(settings);
    other = await startServer(w.database.url, settings);
  });
  after(async () => {
    await other.close();
    await w.close();
    await lab.close();
  });
  beforeEach(async () => {
    lab.reset();
    lab.account = { id: 7, login: "octo", name: "Octo Cat" };
    ada = await w.user("ada");
    hers = w.as(ada);
    there = new Client(other.url, ada.token);
    await link(hers);
    lab.seen.length = 0;
  });

  const links = "external_auth_links";
  const mine = () => ({ user_id: ada.id });
  const refreshes = () => lab.to("/token", "refresh_token");
  const authenticated = async (client = hers) => (await client.get(one)).body.authenticated;
  const linkOf = async () => (await hers.get(api)).body.links[0];
  const forget = () => setColumns(w, links, mine(), { validated_at: null, validation_paused_until: null });
  /** Replies in order, then as usual. */
  const replies = (path: string, ...list: Reply[]) => {
    lab.handlers[path] = () => {
      const reply = list.shift()!;
      if (list.length === 0) delete lab.handlers[path];
      return reply;
    };
  };

  describe("are refreshed", () => {
    it("once for parallel reads on two replicas", async () => {
      await expire(w, ada);
      const count = repeats(40, 1000);
      const reads = Array.from({ length: count }, (_, n) => (n % 2 ? hers : there).get(one));
      const results = await Promise.all(reads);
      expect(results.filter(({ body }) => body.authenticated)).to.have.length(count);
      expect(refreshes()).to.have.length(1);
      // Each replica may validate before it sees the result of the other.
      expect(lab.to("/user").length).to.be.within(1, 2);
      const tokens = await Promise.all(
        [hers, there].map((client) => client.graphql('{ externalAuthAccessToken(providerId: "lab") { accessToken } }')),
      );
      expect(tokens[0]).to.deep.equal(tokens[1]);
      expect(lab.valid.has(tokens[0]!.externalAuthAccessToken.accessToken)).to.equal(true);
    });

    it("a minute before they expire, and not earlier", async () => {
      await setTimes(w, links, mine(), { expires_at: "2 min" });
      await hers.get(one);
      expect(refreshes()).to.have.length(0);
      await setTimes(w, links, mine(), { expires_at: "59 s" });
      await hers.get(one);
      expect(refreshes()).to.have.length(1);
    });

    it("even if the client disconnects meanwhile", async () => {
      await expire(w, ada);
      const refreshing = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      lab.handlers["/token"] = async () => {
        refreshing.resolve();
        await left.promise;
        delete lab.handlers["/token"];
        return { body: lab.tokens() };
      };
      const leaving = request(`${w.url}${one}`, { headers: { "Service-Session-Token": ada.token }, agent: false });
      leaving.on("error", () => left.resolve()).end();
      await refreshing.promise;
      leaving.destroy(new Error("The client leaves."));
      await left.promise;
      expect(await authenticated()).to.equal(true);
      expect(refreshes()).to.have.length(1);
    });

    it("again after failures that may pass", async () => {
      await expire(w, ada);
      replies("/token", { status: 503, body: "" }, { status: 429, body: "" });
      expect(await authenticated()).to.equal(true);
      expect(refreshes()).to.have.length(3);
    });

    it("never again once the provider has rejected the refresh token", async () => {
      await expire(w, ada);
      replies("/token", { body: { error: "bad_refresh_token", error_description: "canary" } });
      expect(await authenticated()).to.equal(false);
      expect(await authenticated()).to.equal(false);
      expect(await authenticated(there)).to.equal(false);
      const state = await linkOf();
      expect(state).to.include({
        authenticated: false,
        has_refresh_token: false,
        validate_error: "The provider rejected the refresh of the token: bad_refresh_token.",
      });
      expect(refreshes()).to.have.length(1);
      const updates = await audited(w, { action: "UPDATE", resourceType: "external_auth_link" });
      const [event, ...others] = updates.filter(({ diff }) => diff.userId?.new === ada.id);
      expect(others).to.deep.equal([]);
      expect(event!.actorKind).to.equal("system");
      expect(event!.diff.refreshToken).to.deep.equal({ old: "***" });
      await link(hers);
      expect(await authenticated(), "linked again").to.equal(true);
    });

    it("unless the stored token is still valid when the provider rejects the refresh token", async () => {
      await setTimes(w, links, mine(), { expires_at: "50 s" });
      replies("/token", { status: 400, body: { error: "invalid_grant" } });
      const state = await linkOf();
      expect(state).to.include({ authenticated: true, has_refresh_token: false });
      expect(state.validate_error).to.contain("invalid_grant");
    });

    it("later if the credentials of the server are wrong, which is an error of the operator", async () => {
      await expire(w, ada);
      logged.length = 0;
      replies("/token", { status: 401, body: { error: "invalid_client" } });
      expect(await linkOf()).to.include({ authenticated: false, has_refresh_token: true });
      expect(JSON.stringify(logged)).to.contain("A provider rejected the client credentials.");
      expect(await authenticated()).to.equal(true);
    });

    it("by the replica that is faster, if the slower one is rejected", async () => {
      await expire(w, ada);
      lab.handlers["/token"] = async () => {
        // As if the user had linked the account again meanwhile.
        delete lab.handlers["/token"];
        await link(there);
        return { body: { error: "invalid_grant" } };
      };
      expect(await authenticated()).to.equal(true);
      expect(await linkOf()).to.include({ has_refresh_token: true });
    });

    it("and stored even if the database refuses to store them at first", async () => {
      await expire(w, ada);
      const stored = Promise.withResolvers<void>();
      lab.handlers["/token"] = async () => {
        delete lab.handlers["/token"];
        const body = lab.tokens();
        return new Promise((resolve) => {
          void lockRows(w, links, mine(), () => {
            resolve({ body });
            return stored.promise;
          });
        });
      };
      logged.length = 0;
      const reading = authenticated();
      await eventually(() => JSON.stringify(logged).includes("could not be stored"), "a write fails", 15_000);
      stored.resolve();
      expect(await reading).to.equal(true);
      expect(refreshes()).to.have.length(1);
      expect(JSON.stringify(logged)).to.not.match(/access-\d|refresh-\d/);
    });

    it("by another replica when the one that began has crashed", async () => {
      await expire(w, ada);
      await setTimes(w, links, mine(), { refreshing_until: "300 ms" });
      expect(await authenticated()).to.equal(true);
      expect(refreshes()).to.have.length(1);
    });

    it("not at all with no_refresh, or without the license", async () => {
      const settings = externalAuth(lab.provider({ id: "first" }), lab.provider({ no_refresh: true }));
      const replica = await startServer(w.database.url, settings);
      try {
        const client = new Client(replica.url, ada.token);
        await expire(w, ada);
        expect((await client.get(one)).body.authenticated).to.equal(false);
        expect((await client.get(api)).body.providers[1].allow_refresh).to.equal(false);
        expect(lab.seen).to.deep.equal([]);
      } finally {
        await replica.close();
      }
    });

    it("and revoked if the account is unlinked meanwhile", async () => {
      await expire(w, ada);
      lab.handlers["/token"] = async () => {
        delete lab.handlers["/token"];
        expect(await there.delete(one)).to.include({ status: 200 });
        return { body: lab.tokens() };
      };
      expect(await hers.get(one)).to.include({ status: 200 });
      await eventually(() => lab.to("/revoke").length === 2, "both tokens are revoked");
      expect((await hers.get(api)).body.links).to.deep.equal([]);
    });
  });

  describe("are validated", () => {
    it("once a minute for all replicas", async () => {
      for (const client of [hers, there, hers]) expect(await authenticated(client)).to.equal(true);
      expect(lab.to("/user")).to.have.length(1);
    });

    it("and stay valid while the provider limits the rate of calls", async () => {
      const limited: Reply[] = [
        {
          status: 403,
          headers: { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(Date.now() / 1000 + 300) },
        },
        { status: 429 },
        { status: 403, headers: { "Retry-After": "300" } },
      ];
      for (const reply of limited) {
        await forget();
        lab.seen.length = 0;
        lab.handlers["/user"] = () => reply;
        for (const client of [hers, hers, there]) expect(await authenticated(client)).to.equal(true);
        expect(lab.to("/user"), "no call until the reset").to.have.length(1);
      }
    });

    it("and invalid after 401 or a bare 403", async () => {
      for (const status of [401, 403]) {
        await forget();
        lab.handlers["/user"] = () => ({ status });
        expect(await authenticated()).to.equal(false);
        expect((await linkOf()).authenticated).to.equal(false);
      }
    });

    it("again if the provider does not know a token that it has just issued", async () => {
      await expire(w, ada);
      replies("/user", { status: 401 });
      expect(await authenticated()).to.equal(true);
      expect(lab.to("/user")).to.have.length(2);
    });

    it("without effect when the response makes no sense", async () => {
      expect(await authenticated()).to.equal(true);
      const odd: Reply[] = [
        { status: 500, body: "<html>" },
        { status: 302, headers: { Location: "https://evil.example/" } },
        { status: 204 },
      ];
      for (const reply of odd) {
        await forget();
        lab.handlers["/user"] = () => reply;
        const state = await linkOf();
        expect(state.authenticated).to.equal(true);
        expect(state.validate_error).to.match(
          /^The provider (returned status \d+|redirects, or its address is not usable)\.$/,
        );
        const failed = await hers.get(one);
        expect(failed.status).to.equal(502);
        expect(failed.body.message).to.equal("The external authentication provider failed.");
      }
      lab.account = "<html>";
      lab.handlers = {};
      await forget();
      expect((await hers.get(one)).body).to.deep.include({
        authenticated: true,
        user: { id: 7, login: "octo", name: "Octo Cat" },
      });
    });

    it("without following redirects to another origin", async () => {
      const elsewhere = await ExternalService.open();
      lab.handlers["/user"] = () => ({ status: 302, headers: { Location: `${elsewhere.url}/user` } });
      expect(await hers.get(one)).to.include({ status: 502 });
      lab.handlers["/user"] = () => ({ status: 302, headers: { Location: "/moved" } });
      lab.handlers["/moved"] = ({ headers }) =>
        lab.valid.has(headers.authorization!.slice(7)) ? { body: lab.account } : {};
      expect(await authenticated()).to.equal(true);
      expect(elsewhere.seen).to.deep.equal([]);
      await elsewhere.close();
    });

    it("within limits of time and size", async () => {
      let sent = 0;
      lab.handlers["/user"] = (_, response) => {
        response.writeHead(200, { "Content-Type": "application/json" });
        const more = () => {
          while (response.write(" ".repeat(65_536))) sent += 65_536;
        };
        response.on("drain", more);
        more();
        return undefined;
      };
      expect((await linkOf()).validate_error).to.equal("The response of the provider is too large.");
      expect(sent).to.be.lessThan(64 * 1024 * 1024);
      lab.handlers["/user"] = () => undefined;
      const settings = { ...externalAuth(lab.provider()), STEWARD_EXTERNAL_AUTH_TIMEOUT: "3s" };
      const impatient = await startServer(w.database.url, settings);
      try {
        const [state] = (await new Client(impatient.url, ada.token).get(api)).body.links;
        expect(state.validate_error).to.equal("The provider did not respond in time.");
      } finally {
        await impatient.close();
      }
    });
  });

  it("are kept when they cannot be decrypted", async () => {
    const useKey = (id: string) => setColumns(w, links, mine(), { access_token_key_id: id, refresh_token_key_id: id });
    await insert(w, { encryption_keys: [{ id: "gone", check_value: "", created_at: "now" }] });
    await useKey("gone");
    for (const due of [false, true]) {
      if (due) await expire(w, ada);
      for (const path of [api, one]) expect(await hers.get(path), path).to.include({ status: 503 });
    }
    expect(await hers.delete(one)).to.include({ status: 503 });
    expect(refreshes()).to.have.length(0);
    await useKey("test");
    await deleteRows(w, "encryption_keys", { id: "gone" });
    expect(await authenticated()).to.equal(true);
  });

  describe("of a deleted user", () => {
    const remove = () => w.as(w.owner).graphql(`mutation { deleteUser(input: { user: "${ada.id}" }) { user { id } } }`);
    const left = () => countRows(w, links, mine());
    const makeDue = () => setTimes(w, links, mine(), { revoke_at: "-1 s" });
    const run = () => runJob(w.app, "revocationJob");
    /** The servers run the job by themselves, too: such a run may have taken what the test wants done. */
    const revoked = (times: number) =>
      eventually(() => lab.to("/revoke").length >= times, `the provider is called ${times} times`);
    const isGone = () => eventually(async () => (await left()) === 0, "the link is deleted");

    it("are revoked in the background", async () => {
      await hers.get(`${one}/device`);
      await remove();
      await Promise.all([run(), runJob(other, "revocationJob")]);
      await isGone();
      expect(lab.to("/revoke")).to.have.length(1);
      expect(await left()).to.equal(0);
      expect(await countRows(w, "external_auth_devices", mine())).to.equal(0);
    });

    it("are tried five times, less and less often", async () => {
      lab.handlers["/revoke"] = () => ({ status: 503, body: "" });
      await remove();
      await run();
      await revoked(1);
      await run();
      expect(lab.to("/revoke"), "not before its time").to.have.length(1);
      for (let attempt = 2; attempt <= 5; attempt++) {
        expect(lab.to("/revoke")).to.have.length(attempt - 1);
        await makeDue();
        await run();
        await revoked(attempt);
      }
      await isGone();
      expect(lab.to("/revoke")).to.have.length(5);
      expect(await left()).to.equal(0);
    });
  });

  it("announce their links to waiting agents and pages", async () => {
    const { agent } = await w.workspace(ada);
    const clients = [ada.token, agent.token].map((sessionToken) =>
      createClient({
        url: `${other.url.replace("http", "ws")}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { sessionToken },
        retryAttempts: 0,
      }),
    );
    const query = 'subscription { externalAuthLinkChanged(providerId: "LAB") { providerId isLinked } }';
    const streams = clients.map((client) => client.iterate({ query }));
    const next = async () => {
      const results = await Promise.all(streams.map((stream) => stream.next()));
      return results.map(
        ({ value }) => (value as { data: { externalAuthLinkChanged: object } }).data.externalAuthLinkChanged,
      );
    };
    const state = (isLinked: boolean) => [1, 2].map(() => ({ providerId: "lab", isLinked }));
    expect(await next()).to.deep.equal(state(true));
    await hers.delete(one);
    expect(await next()).to.deep.equal(state(false));
    await link(hers);
    expect(await next()).to.deep.equal(state(true));
    const stranger = createClient({
      url: `${other.url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: ada.token },
    });
    const refused = await stranger.iterate({ query: query.replace("LAB", "unknown") }).next();
    expect(JSON.stringify(refused.value)).to.contain("NOT_FOUND");
    for (const client of [...clients, stranger]) void client.dispose();
  });
});

describe("providers that hang", () => {
  let w: World;
  let lab: ExternalService;
  let slow: ExternalService;

  before(async () => {
    [lab, slow] = [await ExternalService.open(), await ExternalService.open()];
    const hanging = Array.from({ length: 7 }, (_, n) => slow.provider({ id: `slow-${n}` }));
    w = await startWorld({ ...externalAuth(...hanging, lab.provider()), STEWARD_EXTERNAL_AUTH_TIMEOUT: "1m" });
    for (let n = 0; n < 7; n++) await link(w.as(w.owner), `slow-${n}`);
    await link(w.as(w.owner));
  });
  after(async () => {
    await w.close();
    await Promise.all([lab.close(), slow.close()]);
  });

  it("delay the list for ten seconds, and change nothing about other links", async () => {
    const hers = w.as(w.owner);
    const held: ServerResponse[] = [];
    slow.handlers["/user"] = (_, response) => void held.push(response);
    const { status, body } = await hers.get(api);
    expect(status).to.equal(200);
    expect(body.links).to.have.length(8);
    expect(body.links[7])
      .to.include({ provider_id: "lab", authenticated: true })
      .and.not.have.property("validate_error");
    for (const each of body.links.slice(0, 7))
      expect(each).to.include({ authenticated: true, validate_error: "The provider did not respond in time." });
    for (const response of held) response.end();
    // Below the timeout of a call.
  }).timeout(40_000);

  it("leave room for calls to other providers", async () => {
    const hers = w.as(await w.user("ada"));
    slow.handlers["/device"] = () => undefined;
    const waiting = Array.from({ length: 59 }, (_, n) =>
      hers.get(`${api}/slow-${n % 2}/device`).catch(() => undefined),
    );
    await eventually(() => slow.to("/device").length === 32, "two providers have used up their shares");
    expect(await hers.get(`${api}/lab/device`)).to.include({ status: 200 });
    slow.handlers["/device"] = () => ({ status: 500, body: "" });
    await slow.close();
    await Promise.all(waiting);
  });
});
