// Looks inside: 10,000 open streams would take as many sockets, keys last for days, and are stored nowhere as text.
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { livingKeys } from "../../src/domain/tokens/snapshots.js";
import { Watches } from "../../src/domain/tokens/watches.js";
import { accountOf, keysOf } from "../support/accounts.js";
import { audited } from "../support/audit.js";
import { runJob } from "../support/background.js";
import { newToken, parseToken } from "../support/token-rows.js";
import { startServer } from "../support/app.js";
import { holds } from "../support/held.js";
import { insertKey, insertKeys } from "../support/keys.js";
import { deleteRows, lockRows, lockTable, setColumns, setTimes, storedText } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { Client, type Person, userPassword, world } from "../support/world.js";

const anyone = "/api/v2/authcheck";
const create = `mutation($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { token apiKey { id kind name scopes createdAt expiresAt } } }`;
const revoke = `mutation($id: String!) { revokeApiKey(input: { id: $id }) { apiKey { name } } }`;
const hour = 3_600_000;
const day = 24 * hour;

const idOf = (token: string) => parseToken(token).id;
const fieldsOf = ({ errors }: { errors: Array<{ extensions: Record<string, unknown> }> }) =>
  (errors[0]!.extensions.validations as Array<{ field: string }>).map(({ field }) => field);

describe("tokens", () => {
  const the = world();
  const ask = (token: string, client = the().nobody) =>
    client.post(anyone, { checks: {} }, { "Service-Session-Token": token });
  const makeKey = async (person: Person, input: Record<string, unknown>) =>
    (await the().as(person).graphql(create, { input })).createApiKey;

  /** The hours until the key of a user expires. */
  const endOf = async (person: Person, id = idOf(person.token)) => {
    const key = (await keysOf(the(), person)).find((each) => each.id === id)!;
    return (Date.parse(key.expiresAt) - Date.now()) / hour;
  };
  /** Makes a key older, and sets its remaining lifetime. */
  const age = async (id: string, since: string, left: string) => {
    await setTimes(the(), "api_keys", { id }, { created_at: `-${since}`, expires_at: left });
    await setColumns(the(), "api_keys", { id }, { last_used_at: null });
  };
  const expire = (id: string) => setTimes(the(), "api_keys", { id }, { expires_at: "0 s" });

  describe("in text form", () => {
    it("are rejected when malformed or invalid, without revealing which part is wrong", async () => {
      const w = the();
      const { message } = (await w.nobody.post(anyone, { checks: {} })).body;
      const detailOf = async (token: string) => {
        const { status, body, headers } = await ask(token);
        expect(status).to.equal(401);
        expect(body.message).to.equal(message);
        expect(headers.get("www-authenticate")).to.match(
          /^Bearer realm="steward",.* error="invalid_token", error_description="The token is [a-z ]+\."$/,
        );
        return body.detail;
      };
      for (const token of ["x", "stw_se_short-secret", `${w.owner.token}x`, `stw_xx${w.owner.token.slice(6)}`]) {
        expect(await detailOf(token), token).to.equal("The token is malformed.");
      }
      const stranger = newToken("session").text;
      const wrongSecret = w.owner.token.slice(0, -43) + stranger.slice(-43);
      const almostRight = w.owner.token.slice(0, -1) + (w.owner.token.endsWith("a") ? "b" : "a");
      const wrongKind = w.owner.token.replace("stw_se_", "stw_ak_");
      // Also while the valid token is cached.
      for (let time = 0; time < 2; time++) {
        for (const token of [stranger, wrongSecret, almostRight, wrongKind]) {
          expect(await detailOf(token), token).to.equal("The token is not valid.");
        }
        expect((await ask(w.owner.token)).status).to.equal(200);
      }
    });

    it("are stored as hashes only", async () => {
      const w = the();
      const { token } = await makeKey(w.owner, { name: "hashed" });
      expect(await storedText(w, "api_keys"))
        .to.contain(idOf(token))
        .and.not.contain(token.slice(-43));
    });
  });

  describe("created by users", () => {
    it("get a name, scopes, and an expiry, and are shown once", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const { token, apiKey } = await makeKey(ada!, { name: "ci" });
      expect(token).to.match(/^stw_ak_/);
      expect(apiKey).to.deep.include({
        id: idOf(token),
        kind: "TOKEN",
        name: "ci",
        scopes: ["all"],
      });
      expect(Date.parse(apiKey.expiresAt) - Date.parse(apiKey.createdAt)).to.be.closeTo(90 * day, hour);
      expect((await ask(token)).status).to.equal(200);

      const { apiKeys } = await w.as(ada!).graphql("{ apiKeys(kind: TOKEN) { name user { id } } }");
      expect(apiKeys).to.deep.equal([{ name: "ci", user: { id: ada!.id } }]);
      for (const current of [token, ada!.token]) {
        const listed = await w.as({ token: current }).graphql("{ apiKeys { id isCurrent } }");
        expect(listed.apiKeys.filter(({ isCurrent }: { isCurrent: boolean }) => isCurrent)).to.deep.equal([
          { id: idOf(current), isCurrent: true },
        ]);
        expect(listed.apiKeys).to.have.length(2);
      }
      const fields = await w.as(ada!).graphql(`{ __type(name: "ApiKey") { fields { name } } }`);
      expect(JSON.stringify(fields)).not.to.match(/secret|hash/i);
    });

    it("have all input faults reported together", async () => {
      const w = the();
      const failure = await w.as(w.owner).failure(create, {
        input: { name: "", scopes: ["group:read", "group:fly"], expiresAt: "2001-01-01T00:00:00Z" },
      });
      expect(fieldsOf(failure)).to.deep.equal(["input.name", "input.scopes[1]", "input.expiresAt"]);
      const late = new Date(Date.now() + 366 * day).toISOString();
      const other = await w
        .as(w.owner)
        .failure(create, { input: { name: "x".repeat(65), scopes: [], expiresAt: late } });
      expect(fieldsOf(other)).to.deep.equal(["input.name", "input.scopes", "input.expiresAt"]);
      const many = await w.as(w.owner).failure(create, { input: { name: "many", scopes: Array(10_000).fill("all") } });
      expect(fieldsOf(many)).to.deep.equal(["input.scopes"]);
    });

    it("have unique names in any letter case, and can be renamed", async () => {
      const w = the();
      const [ada, bob] = await w.users("ada", "bob");
      await makeKey(ada!, { name: "Deploy" });
      await makeKey(bob!, { name: "deploy" });
      const taken = await w.as(ada!).failure(create, { input: { name: "deploy" } });
      expect([taken.code, ...fieldsOf(taken)]).to.deep.equal(["CONFLICT", "input.name"]);

      const { apiKey } = await makeKey(ada!, { name: "other" });
      const rename = (name: string, id = apiKey.id) =>
        [
          `mutation($input: UpdateApiKeyInput!) { updateApiKey(input: $input) { apiKey { name } } }`,
          { input: { id, name } },
        ] as const;
      expect((await w.as(ada!).failure(...rename("DEPLOY"))).code).to.equal("CONFLICT");
      expect(await w.as(ada!).graphql(...rename("new name"))).to.deep.equal({
        updateApiKey: { apiKey: { name: "new name" } },
      });
      expect((await w.as(ada!).failure(...rename("x", idOf(ada!.token)))).code).to.equal("CONFLICT");
      expect((await w.as(bob!).failure(...rename("x"))).code).to.equal("NOT_FOUND");
      expect((await w.as(w.owner).failure(...rename("x"))).code).to.equal("FORBIDDEN");
    });

    it("are limited to 100, even under concurrent creation", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const [filler] = await insertKeys(w, ada!, "token", 98);
      const made = await Promise.allSettled(["a", "b", "c", "d", "e"].map((name) => makeKey(ada!, { name })));
      expect(made.filter(({ status }) => status === "fulfilled")).to.have.length(2);
      expect((await w.as(ada!).failure(create, { input: { name: "f" } })).code).to.equal("CONFLICT");
      await expire(filler!);
      await makeKey(ada!, { name: "g" });
    });

    it("release their names when they expire, to new keys and renamed ones", async () => {
      const w = the();
      const ada = await w.user("ada");
      const rename = `mutation($input: UpdateApiKeyInput!) { updateApiKey(input: $input) { apiKey { name } } }`;
      const names = async () =>
        (await w.as(ada).graphql(`{ apiKeys(kind: TOKEN) { name } }`)).apiKeys.map(
          ({ name }: { name: string }) => name,
        );
      const first = await makeKey(ada, { name: "Deploy" });
      await expire(idOf(first.token));
      expect(await names(), "an expired key stays in the list").to.deep.equal(["Deploy"]);
      const second = await makeKey(ada, { name: "deploy" });
      expect(await names()).to.deep.equal(["deploy"]);
      expect((await w.as(ada).failure(create, { input: { name: "DEPLOY" } })).code).to.equal("CONFLICT");

      const other = await makeKey(ada, { name: "other" });
      const input = { id: other.apiKey.id, name: "Deploy" };
      expect((await w.as(ada).failure(rename, { input })).code).to.equal("CONFLICT");
      await expire(idOf(second.token));
      await w.as(ada).graphql(rename, { input });
      expect(await names()).to.deep.equal(["Deploy"]);
    });

    it("are created for service accounts only by user administrators", async () => {
      const w = the();
      const [admin, ada] = await w.users("admin", "ada");
      await w.grant(admin!, "user-admin");
      const { createUser } = await w
        .as(w.owner)
        .graphql(
          `mutation { createUser(input: { email: "bot@example.com", username: "bot", isServiceAccount: true }) { user { id } } }`,
        );
      const bot = createUser.user.id;
      const { token } = await makeKey(admin!, { name: "robot", user: "bot" });
      expect((await w.as({ token }).graphql("{ me { id } }")).me.id).to.equal(bot);
      expect((await w.as(w.owner).failure(create, { input: { name: "x", user: ada!.id } })).code).to.equal("FORBIDDEN");
      expect((await w.as(ada!).failure(create, { input: { name: "x", user: "bot" } })).code).to.equal("NOT_FOUND");
      expect((await w.as(ada!).failure(`{ apiKeys(user: "bot") { id } }`)).code).to.equal("NOT_FOUND");
      expect((await w.as(admin!).graphql(`{ apiKeys(user: "bot") { name } }`)).apiKeys).to.deep.equal([
        { name: "robot" },
      ]);
    });

    it("with scopes are limited to them, and create no keys with more scopes or a longer life", async () => {
      const w = the();
      const group = await w.group();
      const reader = await makeKey(w.owner, { name: "reader", scopes: ["group:read"] });
      const headers = { "Service-Session-Token": reader.token };
      expect((await w.nobody.get("/api/v2/groups", headers)).status).to.equal(200);
      const patch = await w.nobody.patch(`/api/v2/groups/${group.id}`, { name: "x" }, headers);
      expect(patch.status).to.equal(403);
      expect(patch.headers.get("www-authenticate")).to.equal(
        `Bearer realm="steward", resource_metadata="${w.app.services.config.accessUrl}/.well-known/oauth-protected-resource", error="insufficient_scope", scope="group:update"`,
      );

      const expiresAt = new Date(Date.now() + hour).toISOString();
      const maker = await makeKey(w.owner, { name: "maker", scopes: ["api_key:create", "group:read"], expiresAt });
      const asMaker = { ...w.owner, token: maker.token };
      const made = await makeKey(asMaker, { name: "made" });
      expect(made.apiKey).to.deep.include({ scopes: ["api_key:create", "group:read"], expiresAt });
      expect((await makeKey(asMaker, { name: "narrow", scopes: ["group:*"] })).apiKey.scopes).to.deep.equal([
        "group:read",
      ]);
      expect((await w.as(asMaker).failure(create, { input: { name: "wide", scopes: ["user:read"] } })).code).to.equal(
        "FORBIDDEN",
      );
      expect((await w.as(reader).failure(create, { input: { name: "none" } })).errors[0]!.extensions).to.deep.include({
        code: "FORBIDDEN",
        requiredScopes: ["api_key:create"],
      });
    });

    it("are not created with a credential that is revoked in the meantime", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      expect((await ask(ada!.token)).status).to.equal(200);
      const failure = await lockRows(w, "users", { id: ada!.id }, async ({ awaited, commit }) => {
        const making = w.as(ada!).failure(create, { input: { name: "survivor" } });
        await awaited();
        await deleteRows(w, "api_keys", { user_id: ada!.id });
        await commit();
        return making;
      });
      expect(failure.code).to.equal("UNAUTHENTICATED");
      expect(await keysOf(w, ada!)).to.deep.equal([]);
    });

    it("cannot be created by an OAuth2 application, which cannot change passwords either", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const { text } = await insertKey(w, ada!, "oauth");
      const client = w.as({ token: text });
      expect((await client.failure(create, { input: { name: "x" } })).code).to.equal("FORBIDDEN");
      const change = `mutation { changePassword(input: { currentPassword: "a", newPassword: "b" }) { user { id } } }`;
      expect((await client.failure(change)).code).to.equal("FORBIDDEN");
    });
  });

  describe("end", () => {
    it("at their expiry, which the response names", async () => {
      const w = the();
      const { token, apiKey } = await makeKey(w.owner, { name: "short" });
      const end = new Date(Date.now() - 60_000).toISOString();
      await setColumns(w, "api_keys", { id: apiKey.id }, { expires_at: end });
      const { status, body } = await ask(token);
      expect({ status, detail: body.detail }).to.deep.equal({ status: 401, detail: `API key expired at "${end}".` });
    });

    it("immediately when they are revoked, by their user or an administrator", async () => {
      const w = the();
      const [ada, bob] = await w.users("ada", "bob");
      for (const by of [ada!, w.owner]) {
        const { token, apiKey } = await makeKey(ada!, { name: "doomed" });
        expect((await ask(token)).status).to.equal(200);
        expect((await w.as(bob!).failure(revoke, { id: apiKey.id })).code).to.equal("NOT_FOUND");
        expect(await w.as(by).graphql(revoke, { id: apiKey.id })).to.deep.equal({
          revokeApiKey: { apiKey: { name: "doomed" } },
        });
        expect((await ask(token)).body.detail).to.equal("The token is not valid.");
        expect((await w.as(by).failure(revoke, { id: apiKey.id })).code).to.equal("NOT_FOUND");
      }
    });

    it("by logout, which ends the current credential, and by revoking sessions, which ends all others", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const login = () => w.login(ada!.email, userPassword);
      const others = [await login(), await login()];
      const key = await makeKey(ada!, { name: "stays" });
      const { revokeSessions } = await w.as(ada!).graphql("mutation { revokeSessions { revokedCount } }");
      expect(revokeSessions.revokedCount).to.equal(2);
      for (const token of others) expect((await ask(token)).status).to.equal(401);
      expect((await ask(key.token)).status).to.equal(200);

      const { logout } = await w.as(ada!).graphql("mutation { logout { apiKeyId } }");
      expect(logout.apiKeyId).to.equal(idOf(ada!.token));
      expect((await ask(ada!.token)).status).to.equal(401);
      expect((await ask(key.token)).status).to.equal(200);
      const recorded = (await audited(w, { actor: ada!.id })).map((event) => `${event.action} ${event.resourceType}`);
      expect(recorded.slice(-2)).to.deep.equal(["REVOKE user", "LOGOUT api_key"]);
    });

    it("on every replica, whether the hint arrives or is lost", async () => {
      const w = the();
      const replica = await startServer(w.database.url);
      try {
        const client = new Client(replica.url);
        const told = await makeKey(w.owner, { name: "told" });
        const untold = await makeKey(w.owner, { name: "untold" });
        for (const { token } of [told, untold]) expect((await ask(token, client)).status).to.equal(200);
        await w.as(w.owner).graphql(revoke, { id: told.apiKey.id });
        await deleteRows(w, "api_keys", { id: untold.apiKey.id });
        for (const { token } of [told, untold]) {
          await eventually(
            async () => (await ask(token, client)).status === 401,
            "the other replica rejects the token",
          );
        }
      } finally {
        await replica.close();
      }
    });

    it("and are purged from the table a week later", async () => {
      const w = the();
      const gone = await makeKey(w.owner, { name: "gone" });
      const kept = await makeKey(w.owner, { name: "kept" });
      await setTimes(w, "api_keys", { id: gone.apiKey.id }, { expires_at: "-10081 minutes" });
      await setTimes(w, "api_keys", { id: kept.apiKey.id }, { expires_at: "-167 hours" });
      await runJob(w.app, "keyPurge");
      const left = new Set((await keysOf(w, w.owner)).map(({ id }) => id));
      expect([gone, kept].map(({ apiKey }) => left.has(apiKey.id))).to.deep.equal([false, true]);
    });
  });

  describe("in use", () => {
    it("leave only hashes of their secrets in memory", async () => {
      const w = the();
      const { token } = await makeKey(w.owner, { name: "remembered" });
      const { credentials } = w.app.services;
      for (const _ of [1, 2, 3]) await credentials.authenticate(token);
      const { id, secret } = parseToken(token);
      const beyond = ["database", "log", "events"];
      expect(await holds(credentials, id, beyond), "the search finds the cached key").to.equal(true);
      expect(await holds(credentials, secret, beyond)).to.equal(false);
    });

    it("are remembered for a second, like entitlements, which can be read while all tables are locked", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const read = async () => (await w.as(ada!).get("/api/v2/entitlements")).status === 200;
      // On a busy machine, the second may be over before the lock is taken.
      await eventually(async () => {
        await read();
        const tables = "api_keys, users, organization_members, licenses";
        return lockTable(w, tables, async () => (await Promise.race([read(), sleep(500)])) === true);
      }, "a response without a statement");
    });

    it("carry roles at most a second old, and changed roles immediately", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const mayReadLicenses = async () =>
        (await w.as(ada!).post(anyone, { checks: { it: { action: "read", object: { resource_type: "license" } } } }))
          .body.it;
      expect(await mayReadLicenses()).to.equal(false);
      await w.grant(ada!, "owner");
      expect(await mayReadLicenses()).to.equal(true);
      await setColumns(w, "users", { id: ada!.id }, { site_roles: [] });
      await eventually(async () => !(await mayReadLicenses()), "the role is gone without a hint");
    });

    it("are recorded as used, with their users, shortly after", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      await setColumns(w, "users", { id: ada!.id }, { last_seen_at: null });
      const { token, apiKey } = await makeKey(ada!, { name: "noted" });
      expect((await ask(token)).status).to.equal(200);
      await eventually(async () => {
        const key = (await keysOf(w, ada!)).find(({ id }) => id === apiKey.id)!;
        return key.lastUsedAt !== null && (await accountOf(w, ada!.id))!.lastSeenAt !== null;
      }, "the use is stored");
    });

    it("are extended if they are sessions, once an hour has passed and up to the maximum age", async () => {
      const w = the();
      const [fresh, used, old] = await w.users("fresh", "used", "old");
      const { apiKey, token } = await makeKey(w.owner, { name: "never slides" });
      await age(idOf(fresh!.token), "30 minutes", "23 hours 30 minutes");
      await age(idOf(used!.token), "2 hours", "22 hours");
      await age(idOf(old!.token), "716 hours", "1 hour");
      await age(apiKey.id, "2 hours", "22 hours");
      await Promise.all([fresh!, used!, old!, { token }].map((each) => ask(each.token)));

      await eventually(async () => (await endOf(used!)) > 23.9, "the session is extended");
      await eventually(async () => (await endOf(old!)) > 3.9, "the old session is extended");
      await eventually(async () => {
        const key = (await keysOf(w, fresh!)).find(({ id }) => id === idOf(fresh!.token))!;
        return key.lastUsedAt !== null;
      }, "the use of the fresh session is stored");
      expect(await endOf(fresh!)).to.be.closeTo(23.5, 0.1);
      expect(await endOf(old!)).to.be.closeTo(4, 0.1);
      expect(await endOf(w.owner, apiKey.id)).to.be.closeTo(22, 0.1);
    });
  });
});

describe("open streams", () => {
  const the = world();

  it("end when their key is revoked or expires, or its user is suspended, and not otherwise", async () => {
    const w = the();
    const { credentials } = w.app.services;
    const ended = new Set<string>();
    const people = await w.users("revoked", "expired", "suspended", "stays", "left");
    const [revoked, expired, suspended, , left] = people;
    const stop = new Map<Person, () => void>();
    for (const person of people) {
      const actor = await credentials.authenticate(person.token);
      stop.set(
        person,
        credentials.watch(actor, () => ended.add(person.id)),
      );
    }
    stop.get(left!)!();
    await w.as(revoked!).graphql("mutation { logout { apiKeyId } }");
    await w.as(left!).graphql("mutation { logout { apiKeyId } }");
    await setTimes(w, "api_keys", { id: idOf(expired!.token) }, { expires_at: "0 s" });
    await w.as(w.owner).graphql(`mutation { suspendUser(input: { user: "${suspended!.id}" }) { user { id } } }`);
    await eventually(() => ended.size >= 3, "three streams end", 10_000);
    expect([...ended].sort()).to.deep.equal([revoked!.id, expired!.id, suspended!.id].sort());
    for (const end of stop.values()) end();
  });

  it("end when their key is deleted, among ten thousand", async () => {
    const w = the();
    const { database, log } = w.app.services;
    const keys = await insertKeys(w, w.owner, "application", 10_000);
    const watches = new Watches((ids) => livingKeys(database.db, ids), log);
    const ended: number[] = [];
    for (let n = 0; n < 10_000; n++) watches.add(keys[n]!, [], () => ended.push(n));
    watches.add(keys[7]!, [], () => ended.push(-7));
    await deleteRows(w, "api_keys", { id: [keys[7], keys[9_999]] });
    try {
      watches.checkAll();
      await eventually(() => ended.length >= 3, "the two keys end");
      expect(ended).to.have.members([7, -7, 9_999]);
    } finally {
      watches.close();
    }
  });
});
