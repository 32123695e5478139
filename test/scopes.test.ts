// What keys with narrow scopes can reach: only what their scopes name, in payloads and nested objects too.
import { expect } from "chai";
import { areas, scopeCatalog } from "./support/catalog.js";
import { newId } from "./support/ids.js";
import { goodPassword } from "./support/accounts.js";
import { insertKey } from "./support/keys.js";
import { type Client, GraphqlFailure, type Person, world } from "./support/world.js";

describe("scopes", () => {
  const the = world();

  const keyOf = async (person: Person, ...scopes: string[]): Promise<Client> => {
    const { createApiKey } = await the()
      .as(person)
      .graphql(
        `mutation($name: String!, $scopes: [String!]) { createApiKey(input: { name: $name, scopes: $scopes }) { token } }`,
        { name: newId(), scopes },
      );
    return the().as(createApiKey);
  };

  /** The scopes that the credential lacks for a document, or undefined if it lacks none. */
  async function missing(client: Client, document: string): Promise<string[] | undefined> {
    try {
      await client.graphql(document);
      return undefined;
    } catch (error) {
      if (!(error instanceof GraphqlFailure) || error.code !== "FORBIDDEN") throw error;
      return error.errors[0]!.extensions.requiredScopes;
    }
  }

  describe("for selected fields", () => {
    it("are required for network details in the payload of a revocation", async () => {
      const ada = await the().user("ada");
      const client = await keyOf(ada, "api_key:delete");
      const id = ada.token.split("_")[2]!.split("-")[0];
      const end = (selection: string) =>
        `mutation { revokeApiKey(input: { id: "${id}" }) { apiKey { ${selection} } } }`;
      for (const shown of ["ip", "userAgent", "id ...Place", "... on ApiKey { lastUsedAt }"]) {
        const document = `${end(shown)} ${shown.includes("Place") ? "fragment Place on ApiKey { ip }" : ""}`;
        expect(await missing(client, document), shown).to.deep.equal(["api_key:read"]);
      }
      expect(await missing(client, end("id name"))).to.equal(undefined);
    });

    it("are required for the content in the payload of a mark", async () => {
      const ada = await the().user("ada");
      await the()
        .as(ada)
        .post("/api/v2/notifications/custom", { content: { title: "Tea", message: "is ready" } });
      const list = await the().as(ada).get("/api/v2/notifications/inbox");
      const { id } = list.body.notifications[0];
      const client = await keyOf(ada, "inbox_notification:update");
      const mark = (selection: string) =>
        `mutation { markInboxNotification(input: { id: "${id}", isRead: true }) { ${selection} } }`;
      expect(await missing(client, mark("notification { title }"))).to.deep.equal(["inbox_notification:read"]);
      expect(await missing(client, mark("unreadCount"))).to.deep.equal(["inbox_notification:read"]);
      expect(await missing(client, mark("notification { id }"))).to.equal(undefined);
      const answer = await client.put(`/api/v2/notifications/inbox/${id}/read-status`, { is_read: false });
      expect(answer.status).to.equal(403);
      expect(answer.headers.get("www-authenticate")).to.match(
        / error="insufficient_scope", scope="inbox_notification:read"$/,
      );
    });

    it("are required for nested objects, except for their names and what the contract includes", async () => {
      const ada = await the().user("ada");
      const group = await the().group(undefined, { members: [ada] });
      const client = await keyOf(the().owner, "group:read", "api_key:read");
      const groups = (selection: string) => `{ group(group: "${group.id}") { ${selection} } }`;
      expect(await missing(client, groups("organization { id name displayName }"))).to.equal(undefined);
      expect(await missing(client, groups("organization { description }"))).to.deep.equal(["organization:read"]);
      expect(await missing(client, groups("members { nodes { account { id username email lastSeenAt } } }"))).to.equal(
        undefined,
      );
      for (const more of ["roles { name }", "organizationIds"])
        expect(await missing(client, groups(`members { edges { node { account { ${more} } } } }`)), more).to.deep.equal(
          ["user:read"],
        );
      expect(await missing(client, "{ apiKeys { ip user { username } } }")).to.equal(undefined);
      // A part of a referenced user that scopes do not cover is null: the record itself may be read.
      const { apiKeys } = await client.graphql(
        `{ apiKeys(user: "${ada.id}") { user { username account { email } } } }`,
      );
      expect(apiKeys[0]!.user).to.deep.equal({ username: ada.username, account: null });
      expect((await client.get(`/api/v2/groups/${group.id}`)).body.members[0]).to.include({ email: ada.email });
    });

    it("are required wherever a fragment is spread, even if another field covered it first", async () => {
      const group = await the().group(undefined, { members: [await the().user("ada")] });
      const client = await keyOf(the().owner, "group:read");
      const own = "me { ...Roles }";
      const others = `group(group: "${group.id}") { members { nodes { account { ...Roles } } } }`;
      const fragment = "fragment Roles on User { roles { name } }";
      expect(await missing(client, `{ ${own} } ${fragment}`)).to.equal(undefined);
      for (const both of [`${own} ${others}`, `${others} ${own}`])
        expect(await missing(client, `{ ${both} } ${fragment}`), both).to.deep.equal(["user:read"]);
    });

    it("limit what a key may do, but not to which accounts", async () => {
      const w = the();
      const [admin, userAdmin, ada] = await w.users("admin", "user-admin", "ada");
      await w.grant(admin!, "organization-admin");
      await w.grant(userAdmin!, "user-admin");
      await w.grant(ada!, "organization-user-admin");
      const quietHours = await keyOf(userAdmin!, "user:update_personal");
      const path = `/api/v2/users/${ada!.id}/quiet-hours`;
      expect(await quietHours.put(path, { schedule: "0 1 * * *" })).to.include({ status: 200 });
      const remover = await keyOf(admin!, "organization_member:delete");
      await remover.graphql(
        `mutation { removeOrganizationMember(input: { organization: "default", user: "${ada!.id}" }) { __typename } }`,
      );
    });

    it("are not required for one's own user, nor for what the request itself creates", async () => {
      const ada = await the().user("ada");
      const own = await keyOf(ada, "user:update_personal");
      expect(await missing(own, "{ me { email roles { name } organizationIds lastSeenAt } }")).to.equal(undefined);
      expect(
        await missing(own, `mutation { updateProfile(input: { name: "Ada" }) { user { email roles { name } } } }`),
      ).to.equal(undefined);
      const maker = await keyOf(ada, "api_key:create");
      const { createApiKey } = await maker.graphql(
        `mutation { createApiKey(input: { name: "made" }) { token apiKey { id scopes expiresAt ip } } }`,
      );
      expect(createApiKey.apiKey.scopes).to.deep.equal(["api_key:create"]);
      const secrets = await keyOf(ada, "user_secret:create");
      expect(await secrets.post("/api/v2/users/me/secrets", { name: "key", value: "v" })).to.include({ status: 201 });
    });
  });

  describe("for AI budgets", () => {
    it("are those of groups: a key that may update groups sets a budget, by id and by name", async () => {
      const w = the();
      const group = await w.group();
      const writer = await keyOf(w.owner, "group:update");
      const remover = await keyOf(w.owner, "group:delete");
      for (const ref of [group.id, group.name]) {
        const path = `/api/v2/groups/${ref}/ai/budget`;
        const answer = await writer.put(path, { spend_limit_micros: 5 });
        expect([answer.status, answer.body.spend_limit_micros], ref).to.deep.equal([200, 5]);
        const refused = await writer.delete(path);
        expect(refused.headers.get("www-authenticate")).to.match(/ error="insufficient_scope", scope="group:delete"$/);
        expect(await remover.delete(path), ref).to.include({ status: 204 });
      }
    });
  });

  describe("in challenges", () => {
    it("are only those that the credential lacks, as in the message and in GraphQL", async () => {
      const w = the();
      const group = await w.group();
      for (const [held, lacking] of [
        [["file:read"], "group:read group:update"],
        [["group:read"], "group:update"],
        [["group:update", "user:read"], "group:read"],
      ] as const) {
        const client = await keyOf(w.owner, ...held);
        const { headers, body } = await client.patch(`/api/v2/groups/${group.id}`, { display_name: "x" });
        expect(/ scope="([^"]*)"/.exec(headers.get("www-authenticate")!)![1], held.join()).to.equal(lacking);
        expect(body.detail).to.match(new RegExp(`the scopes? ${lacking.replace(" ", ", ")}\\.$`));
        const change = `mutation { updateGroup(input: { group: "${group.id}", displayName: "x" }) { group { source } } }`;
        expect(await missing(client, change), held.join()).to.deep.equal(lacking.split(" "));
      }
    });

    it("exist, and match the description of each route", async () => {
      const { body: openApi } = await the().nobody.get("/openapi.json");
      for (const [method, pattern] of areas.flatMap(({ rows }) => rows)) {
        const name = `${method} ${pattern}`;
        const answer = await the().nobody.request(
          method,
          pattern.replace(/:\w+/g, () => newId()),
        );
        const challenge = answer.headers.get("www-authenticate") ?? "";
        // RFC 6750, section 3.1: no error code when no credential was sent.
        expect(challenge, name).to.not.include("error=");
        const [, scopes = ""] = /scope="([^"]*)"/.exec(challenge) ?? [];
        const described = openApi.paths[pattern.replace(/:(\w+)/g, "{$1}")][method.toLowerCase()];
        const required = (described["x-required-scopes"] ?? []) as string[];
        expect(scopes.split(" ").filter(Boolean), name).to.deep.equal(required);
        expect(scopeCatalog, name).to.include.members(required);
      }
    });

    it("are listed together, without those that others cover", async () => {
      const w = the();
      const group = await w.group();
      const client = await keyOf(w.owner, "file:read");
      const patch = await client.patch(`/api/v2/groups/${group.id}`, { display_name: "x" });
      expect(patch.headers.get("www-authenticate")).to.match(
        / error="insufficient_scope", scope="group:read group:update"$/,
      );
      expect(patch.body.detail).to.equal("The credential lacks the scopes group:read, group:update.");
      const roles = `mutation { setUserRoles(input: { user: "me", roles: [OWNER] }) { user { email } } }`;
      expect(await missing(client, roles)).to.deep.equal(["user:*"]);
      expect(await missing(client, "{ encryptionStatus { activeKeyId } groups { totalCount } }")).to.deep.equal([
        "all",
      ]);
      expect(await missing(client, "{ assignableRoles { name } }")).to.deep.equal(["user:read"]);
      // Scopes are checked before any object is looked up.
      for (const organization of ["default", "no-such-organization"])
        expect(
          await missing(client, `{ assignableRoles(organization: "${organization}") { name } }`),
          organization,
        ).to.deep.equal(["organization_member:read"]);
    });
  });

  describe("and kinds of credentials", () => {
    const key = async (person: Person, kind: "token" | "oauth" | "application"): Promise<Client> =>
      the().as({ token: (await insertKey(the(), person, kind)).text });
    const names = { token: "an API token", oauth: "an OAuth2 access token", application: "an application key" };
    const kinds = ["token", "oauth", "application"] as const;

    it("leave operations that outlive or exceed a key to sessions", async () => {
      const w = the();
      const bob = await w.user("bob");
      const passwords = `currentPassword: "x", newPassword: "${goodPassword}"`;
      for (const document of [
        `mutation { changePassword(input: { ${passwords} }) { user { id } } }`,
        `mutation { resetUserPassword(input: { user: "${bob.id}", password: "${goodPassword}" }) { user { id } } }`,
        `mutation { convertLogin(input: { user: "me", toType: OIDC, password: "x" }) { stateString } }`,
        `mutation { updateUser(input: { user: "${bob.id}", email: "b@example.com" }) { user { id } } }`,
        "mutation { revokeSessions { revokedCount } }",
      ]) {
        for (const kind of kinds) {
          const { code, errors } = await (await key(w.owner, kind)).failure(document);
          expect(code, document).to.equal("FORBIDDEN");
          expect(errors[0]!.extensions.requiredScopes).to.equal(undefined);
          expect(errors[0]!.extensions.detail, document).to.equal(
            `This operation takes a session; ${names[kind]} cannot be used for it.`,
          );
        }
      }
      for (const kind of kinds) {
        const client = await key(w.owner, kind);
        const answer = await client.post("/api/v2/users/me/convert-login", { to_type: "oidc", password: "x" });
        expect([answer.status, answer.body.detail]).to.deep.equal([
          403,
          `This operation takes a session; ${names[kind]} cannot be used for it.`,
        ]);
        expect(answer.headers.get("www-authenticate")).to.equal(null);
      }
      const client = await key(w.owner, "token");
      await client.graphql(`mutation { updateUser(input: { user: "${bob.id}", name: "Bob" }) { user { name } } }`);
    });

    it("leave creation of keys to sessions and API tokens", async () => {
      const w = the();
      const create = `mutation { createApiKey(input: { name: "made by another" }) { token } }`;
      for (const kind of ["oauth", "application"] as const) {
        const { code, errors } = await (await key(w.owner, kind)).failure(create);
        expect(code).to.equal("FORBIDDEN");
        expect(errors[0]!.extensions.detail).to.equal(
          `This operation takes a session or an API token; ${names[kind]} cannot be used for it.`,
        );
      }
      await (await key(w.owner, "token")).graphql(create);
    });
  });
});
