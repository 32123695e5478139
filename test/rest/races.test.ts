// Changes that race the deletion of their object: each succeeds before the deletion or fails as the caller's error, and
// never as an internal one.
// Reaches for tables: thousands of accounts without requests, hashes, and mails.
import { expect } from "chai";
import { keysOf } from "../support/accounts.js";
import { insertUsers } from "../support/crowds.js";
import { invite, tokenIn } from "../support/invitations.js";
import { insertKey } from "../support/keys.js";
import { documentOf, type Place } from "../support/operations.js";
import { deleteRows, setColumns } from "../support/tables.js";
import { logged, usualHashes } from "../support/app.js";
import { insertOffer, insertStopped, insertVersion } from "../support/workspaces.js";
import { type Client, GraphqlFailure, world } from "../support/world.js";

/** The number of concurrent pairs, and of rounds. */
const pairs = 12;
const rounds = 4;

/** The outcomes a change may have while its object is deleted. */
const fair = ["done", "NOT_FOUND", "BAD_USER_INPUT", "CONFLICT", "UNAUTHENTICATED", "FORBIDDEN"];

interface Race {
  change: () => Promise<string>;
  end: () => Promise<string>;
}

describe("a change that races the deletion of its object", () => {
  // Pairs wait for each other, on a slow machine for longer than requests usually may.
  const the = world({ ...usualHashes, STEWARD_HASH_CONCURRENCY: "2", STEWARD_REQUEST_TIMEOUT: "5m" });
  let made = 0;

  const owner = () => the().as(the().owner);
  async function outcome(client: Client, document: string): Promise<string> {
    try {
      await client.graphql(document);
      return "done";
    } catch (error) {
      if (error instanceof GraphqlFailure) return error.code;
      throw error;
    }
  }

  const act = (client: Client, verb: string, input: string, selection: string) => () =>
    outcome(client, `mutation { ${verb}(input: { ${input} }) { ${selection} } }`);
  /** An operation of the catalog, on these objects. */
  const run = (client: Client, title: string, place: Partial<Place>, selection: string) => {
    const document = documentOf(title, place, selection);
    return () => outcome(client, document);
  };

  /** Retries while there is nothing to delete yet, or while it cannot be deleted yet. */
  const once =
    (end: () => Promise<string>, notYet = "NOT_FOUND") =>
    async () => {
      for (let attempt = 0; attempt < 200; attempt++) {
        const came = await end();
        if (came !== notYet) return came;
      }
      return notYet;
    };

  const user = "user { id username roles { name } organizationIds }";
  const member = "member { id roles { name } user { id } }";
  const group =
    "group { id totalMemberCount organization { id } members(first: 5) { totalCount nodes { user { id } } } }";
  const password = "seven-lamps-beside-the-old-canal";

  /** A member of the default organization, signed in without waiting for a password hash. */
  async function person(columns: object = {}): Promise<{ id: string; client: Client }> {
    const { id } = await newAccount(columns);
    return { id, client: the().as(await insertKey(the(), { id }, "session").then(({ text }) => ({ token: text }))) };
  }

  async function newAccount(columns: object = {}) {
    const username = `racer-${++made}`;
    const email = `${username}@example.com`;
    const account = { username, email, password_hash: await hashed(), ...columns };
    const [id] = await insertUsers(the(), [account], { organization: the().defaultOrganization });
    return { id: id!, username, email };
  }

  let hash: Promise<string> | undefined;
  const hashed = () => (hash ??= the().app.services.passwords.hash(password));

  const deletion = (id: string) => run(owner(), "deleteUser", { user: id }, "user { id }");
  const groupDeletion = (ref: string) =>
    run(owner(), "deleteGroup", { group: ref }, "group { id members { totalCount } }");
  const organizationDeletion = (ref: string) =>
    run(owner(), "deleteOrganization", { organization: ref }, "organization { id name }");

  const ofUser =
    (verb: string, selection = user) =>
    async (): Promise<Race> => {
      const { id } = await newAccount();
      return { change: run(owner(), verb, { user: id }, selection), end: deletion(id) };
    };
  const byUser =
    (verb: string, selection = user, input?: string) =>
    async (): Promise<Race> => {
      const { id, client } = await person();
      const place = { user: "me" };
      return {
        change: input === undefined ? run(client, verb, place, selection) : act(client, verb, input, selection),
        end: deletion(id),
      };
    };
  const ofMember = (verb: string, input: string, end: (id: string) => Race["end"]) => async (): Promise<Race> => {
    const { id } = await newAccount();
    return { change: act(owner(), verb, `organization: "default", user: "${id}", ${input}`, member), end: end(id) };
  };
  const removal = (id: string) =>
    run(owner(), "removeOrganizationMember", { organization: "default", user: id }, member);

  /** The acceptance of an invitation, and the id of the administrator who sent it. */
  async function acceptance(access: object = {}): Promise<{ inviter: string; change: Race["change"] }> {
    const { id: inviter, client } = await person({ site_roles: ["user-admin"] });
    const { link } = await invite(client, access);
    const guest = `token: "${tokenIn(link)}", username: "guest-${++made}", password: "${password}"`;
    return { inviter, change: act(the().nobody, "acceptInvitation", guest, `sessionToken ${user}`) };
  }

  let version: Promise<string> | undefined;
  const stopped = async (ownerId: string) => insertStopped(the(), ownerId, await (version ??= insertVersion(the())));

  const races: Record<string, () => Promise<Race>> = {
    "updateUser, deleteUser": ofUser("updateUser"),
    "suspendUser, deleteUser": ofUser("suspendUser"),
    "activateUser, deleteUser": async () => {
      const { id } = await newAccount();
      await setColumns(the(), "users", { id }, { status: "suspended" });
      return { change: run(owner(), "activateUser", { user: id }, user), end: deletion(id) };
    },
    "setUserRoles, deleteUser": ofUser("setUserRoles"),
    "resetUserPassword, deleteUser": ofUser("resetUserPassword"),
    "resetSecondFactors, deleteUser": ofUser("resetSecondFactors"),
    "unlinkUserIdentity, deleteUser": ofUser("unlinkUserIdentity"),
    "linkUserIdentity, deleteUser": async () => {
      const { id } = await newAccount();
      await setColumns(the(), "users", { id }, { login_type: "oidc", password_hash: null });
      const input = `user: "${id}", subject: "${id}", issuer: "https://id.example.com"`;
      return { change: act(owner(), "linkUserIdentity", input, user), end: deletion(id) };
    },
    "setQuietHours, deleteUser": ofUser("setQuietHours", "quietHours { next }"),
    "createUser, deleteUser": async () => {
      const username = `racer-${++made}`;
      const input = `email: "${username}@example.com", username: "${username}", isServiceAccount: true`;
      return { change: act(owner(), "createUser", input, user), end: once(deletion(username)) };
    },
    "login, deleteUser": async () => {
      const { id, email } = await newAccount();
      const input = `email: "${email}", password: "${password}"`;
      return { change: act(the().nobody, "login", input, `sessionToken ${user}`), end: deletion(id) };
    },
    "updateProfile, deleteUser": byUser("updateProfile"),
    "convertLogin, deleteUser": byUser(
      "convertLogin",
      "stateString user { id }",
      `user: "me", toType: OIDC, password: "${password}"`,
    ),
    "changePassword, deleteUser": byUser(
      "changePassword",
      user,
      `currentPassword: "${password}", newPassword: "${password}-2"`,
    ),
    "createUserSecret, deleteUser": byUser("createUserSecret", "userSecret { id }"),
    "sendCustomNotification, deleteUser": byUser("sendCustomNotification", "notification { id }"),
    "createApiKey, deleteUser": byUser("createApiKey", "token apiKey { id user { id } }"),
    "createApiKey, revokeApiKey": async () => {
      const { id, client } = await person();
      const end = once(async () => {
        const [key] = await keysOf(the(), { id }, "TOKEN");
        return key ? run(client, "revokeApiKey", { key: key.id }, "apiKey { id }")() : "NOT_FOUND";
      });
      return { change: run(client, "createApiKey", {}, "token apiKey { id user { id } }"), end };
    },
    "updateApiKey, revokeApiKey": async () => {
      const { client } = await person();
      const { createApiKey } = await client.graphql(documentOf("createApiKey", {}, "apiKey { id }"));
      const place = { key: createApiKey.apiKey.id };
      return {
        change: run(client, "updateApiKey", place, "apiKey { id name user { id } }"),
        end: run(client, "revokeApiKey", place, "apiKey { id }"),
      };
    },
    "createUserSecret, deleteUserSecret": async () => {
      const { client } = await person();
      return {
        change: act(client, "createUserSecret", `name: "a", value: "v"`, "userSecret { id }"),
        end: once(act(client, "deleteUserSecret", `name: "a"`, "userSecret { id }")),
      };
    },
    "addOrganizationMember, removeOrganizationMember": async () => {
      const { id } = await newAccount();
      await deleteRows(the(), "organization_members", { user_id: id });
      const place = { organization: "default", newcomer: id };
      return { change: run(owner(), "addOrganizationMember", place, member), end: once(removal(id)) };
    },
    "addOrganizationMember, deleteUser": async () => {
      const { id } = await newAccount();
      await deleteRows(the(), "organization_members", { user_id: id });
      const place = { organization: "default", newcomer: id };
      return { change: run(owner(), "addOrganizationMember", place, member), end: deletion(id) };
    },
    "addOrganizationMember, deleteOrganization": async () => {
      const [{ id }, organization] = [await newAccount(), await the().organization()];
      const place = { organization: organization.id, newcomer: id };
      return {
        change: run(owner(), "addOrganizationMember", place, member),
        end: organizationDeletion(organization.id),
      };
    },
    "setOrganizationMemberRoles, removeOrganizationMember": ofMember(
      "setOrganizationMemberRoles",
      "roles: [ORGANIZATION_AUDITOR]",
      removal,
    ),
    "setOrganizationMemberRoles, deleteUser": ofMember(
      "setOrganizationMemberRoles",
      "roles: [ORGANIZATION_AUDITOR]",
      deletion,
    ),
    "createOrganization, deleteOrganization": async () => {
      const name = `race-${++made}`;
      return {
        change: act(owner(), "createOrganization", `name: "${name}"`, "organization { id name }"),
        end: once(organizationDeletion(name)),
      };
    },
    "updateOrganization, deleteOrganization": async () => {
      const { id } = await the().organization();
      return {
        change: run(owner(), "updateOrganization", { organization: id }, "organization { id description }"),
        end: organizationDeletion(id),
      };
    },
    "createGroup, deleteGroup": async () => {
      const name = `race-${++made}`;
      const input = `organization: "default", name: "${name}"`;
      return { change: act(owner(), "createGroup", input, group), end: once(groupDeletion(name)) };
    },
    "transferWorkspaces, deleteUser": async () => {
      const [box, { id }] = [await stopped(the().owner.id), await newAccount()];
      const input = `workspaces: ["${box}"], receiver: "${id}"`;
      return { change: act(owner(), "transferWorkspaces", input, "isOffered"), end: deletion(id) };
    },
    "declineWorkspaceTransfer, deleteUser": async () => {
      const { id, client } = await person();
      const offer = await insertOffer(the(), await stopped(the().owner.id), id, the().owner.id);
      return { change: act(client, "declineWorkspaceTransfer", `id: "${offer}"`, "workspaceId"), end: deletion(id) };
    },
    "acceptWorkspaceTransfer, deleteUser of its former owner": async () => {
      const [{ id }, { id: receiver, client }] = [await newAccount(), await person()];
      const offer = await insertOffer(the(), await stopped(id), receiver, the().owner.id);
      return {
        change: act(client, "acceptWorkspaceTransfer", `id: "${offer}"`, "workspaceId"),
        end: once(deletion(id), "CONFLICT"),
      };
    },
    "acceptInvitation, deleteUser of its inviter": async () => {
      const { inviter, change } = await acceptance();
      return { change, end: deletion(inviter) };
    },
    "acceptInvitation, deleteGroup": async () => {
      const { id } = await the().group();
      const { change } = await acceptance({ groups: [id] });
      return { change, end: groupDeletion(id) };
    },
    "acceptInvitation, deleteOrganization": async () => {
      const organization = await the().organization();
      const { id } = await the().group(undefined, { organization: organization.id });
      const organizations = [{ organization: "default" }, { organization: organization.id }];
      const { change } = await acceptance({ organizations, groups: [id] });
      return { change, end: organizationDeletion(organization.id) };
    },
    "createGroup, deleteOrganization": async () => {
      const { id } = await the().organization();
      return { change: run(owner(), "createGroup", { organization: id }, group), end: organizationDeletion(id) };
    },
    "updateGroup, deleteGroup": async () => {
      const [{ id }, joining] = [await the().group(), await newAccount()];
      const input = `group: "${id}", displayName: "New", addUsers: ["${joining.id}"]`;
      return { change: act(owner(), "updateGroup", input, group), end: groupDeletion(id) };
    },
    "updateGroup, deleteOrganization": async () => {
      const organization = await the().organization();
      const { id } = await the().group(undefined, { organization: organization.id });
      return { change: run(owner(), "updateGroup", { group: id }, group), end: organizationDeletion(organization.id) };
    },
    "updateGroup, deleteUser": async () => {
      const [{ id }, joining] = [await the().group(), await newAccount()];
      const input = `group: "${id}", addUsers: ["${joining.id}"]`;
      return { change: act(owner(), "updateGroup", input, group), end: deletion(joining.id) };
    },
    "setGroupAiBudget, deleteGroup": async () => {
      const { id } = await the().group();
      const selection = `groupAiBudget { spendLimitMicros ${group} }`;
      return { change: run(owner(), "setGroupAiBudget", { group: id }, selection), end: groupDeletion(id) };
    },
    "deleteGroupAiBudget, deleteGroup": async () => {
      const { id } = await the().group();
      await owner().graphql(documentOf("setGroupAiBudget", { group: id }));
      const selection = `groupAiBudget { spendLimitMicros ${group} }`;
      return { change: run(owner(), "deleteGroupAiBudget", { team: id }, selection), end: groupDeletion(id) };
    },
  };

  for (const [names, begin] of Object.entries(races)) {
    it(`succeeds or fails cleanly: ${names}`, async () => {
      const lines = logged.length;
      const alone = await begin();
      expect([await alone.change(), await alone.end()]).to.deep.equal(["done", "done"]);
      for (let round = 0; round < rounds; round++) {
        const ready = await Promise.all(Array.from({ length: pairs }, begin));
        const answers = await Promise.all(ready.flatMap(({ change, end }) => [change(), end()]));
        for (const answer of answers) expect(answer).to.be.oneOf(fair);
      }
      expect(logged.slice(lines).filter(({ msg }) => msg === "defect")).to.deep.equal([]);
    });
  }
});
