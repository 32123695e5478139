// The rule of dominance: callers may change only accounts all of whose roles they may grant.
// Reaches for tables: changes wait for a lock while a role is given.
import { expect } from "chai";
import { newToken } from "../support/token-rows.js";
import { newId, randomText } from "../support/ids.js";
import { type Account, type Holder, holders, inTurns, organizationRoles, populate } from "../support/holders.js";
import { countRows, lockRows, setColumns } from "../support/tables.js";
import { insertOffer, insertStopped, insertVersion } from "../support/workspaces.js";
import { type Client, world } from "../support/world.js";
import { documentOf, requestOf } from "../support/operations.js";

const actors: Record<string, Holder> = {
  ...holders,
  "user admin twice": { site: ["user-admin"], here: ["organization-user-admin"] },
  "admin of both": { site: [], here: ["organization-admin"], elsewhere: ["organization-admin"] },
};
const targets: Record<string, Holder> = {
  ...holders,
  "two roles": { site: [], here: ["organization-user-admin", "organization-auditor"] },
  "one role in each place": { site: ["auditor"], here: ["organization-user-admin"], elsewhere: ["organization-admin"] },
};

// States the rule independently of the policy.
type Place = "site" | "here" | "elsewhere";
const holds = (holder: Holder, role: string, place: Place) => holder[place]?.includes(role) ?? false;

function gives(actor: Holder, role: string, place: Place): boolean {
  if (holds(actor, "owner", "site")) return true;
  if (place === "site") return false;
  if (holds(actor, "organization-admin", place)) return true;
  const administersUsers = holds(actor, "user-admin", "site") || holds(actor, "organization-user-admin", place);
  return administersUsers && role === "organization-user-admin";
}

const dominates = (actor: Holder, target: Holder): boolean =>
  (["site", "here", "elsewhere"] as const).every((place) =>
    (target[place] ?? []).every((role) => gives(actor, role, place)),
  );

const administersAccounts = (actor: Holder) => holds(actor, "owner", "site") || holds(actor, "user-admin", "site");
const administersMembers = (actor: Holder) =>
  administersAccounts(actor) ||
  holds(actor, "organization-admin", "here") ||
  holds(actor, "organization-user-admin", "here");

/** The same accounts, but not members of the tested organization. */
const strangers: Record<string, Holder> = Object.fromEntries(
  Object.entries(targets).map(([name, { site, elsewhere }]) => [`${name}, no member`, { site, elsewhere }]),
);

interface Verb {
  /** Whether the caller may change accounts without roles in this way. */
  by: (actor: Holder) => boolean;
  tried: (victim: Victim, organization: string) => string | [method: string, path: string, body?: unknown];
  /** Roles in the organization that the account gains or loses. */
  changes?: (target: Holder) => string[];
  /** Accounts on which it is tried; by default members of the organization. */
  on?: (target: Holder) => boolean;
  isServiceAccount?: boolean;
  /** Whether the account has a stopped workspace in the organization. */
  hasWorkspace?: boolean;
}

/** An account that is to be changed, and the id of its workspace. */
interface Victim extends Account {
  workspace?: string;
}

/** A member without roles, to whom workspaces are offered. */
const receiver = { id: newId(), key: "", site: [], here: [], token: newToken("session"), isServiceAccount: false };
receiver.key = receiver.token.id;

const mutation = (verb: string, input: string) => `mutation { ${verb}(input: { ${input} }) { __typename } }`;

/** The objects of an operation of the catalog that changes an account. */
const placeOf = ({ id, key }: Victim, organization: string) => ({ user: id, bot: id, newcomer: id, key, organization });
const ofCatalog = (title: string) => (victim: Victim, organization: string) =>
  documentOf(title, placeOf(victim, organization));
const isMember = ({ here }: Holder) => here !== undefined;
const isOwner = (actor: Holder) => holds(actor, "owner", "site");
const transfersWorkspaces = (actor: Holder) => isOwner(actor) || holds(actor, "organization-admin", "here");
const wireName = (role: string) => role.toUpperCase().replaceAll("-", "_");

/** Roles that exactly one of two lists contains. */
const difference = (one: string[], other: string[]) =>
  organizationRoles.filter((role) => one.includes(role) !== other.includes(role));

const settingRoles = (roles: string[]): Verb => ({
  by: administersMembers,
  tried: ({ id }, organization) =>
    mutation(
      "setOrganizationMemberRoles",
      `organization: "${organization}", user: "${id}", roles: [${roles.map(wireName).join(" ")}]`,
    ),
  changes: ({ here = [] }) => difference(here, roles),
});

const verbs: Record<string, Verb> = {
  "changing the email address": {
    by: administersAccounts,
    tried: ofCatalog("updateUser with an email address"),
  },
  "resetting the password": { by: administersAccounts, tried: ofCatalog("resetUserPassword") },
  "unlinking an identity": { by: administersAccounts, tried: ofCatalog("unlinkUserIdentity") },
  "removing second factors": { by: administersAccounts, tried: ofCatalog("resetSecondFactors") },
  suspending: { by: administersAccounts, tried: ofCatalog("suspendUser") },
  activating: { by: administersAccounts, tried: ofCatalog("activateUser") },
  deleting: { by: administersAccounts, tried: ofCatalog("deleteUser") },
  "setting site roles": { by: isOwner, tried: ofCatalog("setUserRoles") },
  "removing site roles": { by: isOwner, tried: ({ id }) => mutation("setUserRoles", `user: "${id}", roles: []`) },
  "setting quiet hours": { by: administersAccounts, tried: ofCatalog("setQuietHours") },
  "setting quiet hours through REST": {
    by: administersAccounts,
    tried: (victim, organization) => requestOf("setQuietHours", placeOf(victim, organization)),
  },
  "creating a key": {
    by: administersAccounts,
    tried: ofCatalog("createApiKey for a service account"),
    isServiceAccount: true,
  },
  "revoking a key": { by: administersAccounts, tried: ofCatalog("revokeApiKey") },
  "taking over a workspace": {
    by: transfersWorkspaces,
    tried: ({ workspace }) => mutation("transferWorkspaces", `workspaces: ["${workspace}"]`),
    hasWorkspace: true,
  },
  "offering a workspace to another member": {
    by: transfersWorkspaces,
    tried: ({ workspace }) =>
      `mutation { transferWorkspaces(input: { workspaces: ["${workspace}"], receiver: "${receiver.id}" }) { isOffered } }`,
    hasWorkspace: true,
  },
  adding: { by: administersMembers, tried: ofCatalog("addOrganizationMember"), on: (target) => !isMember(target) },
  removing: { by: administersMembers, tried: ofCatalog("removeOrganizationMember") },
  "removing all roles": settingRoles([]),
  ...Object.fromEntries(organizationRoles.map((role) => [`granting ${role} alone`, settingRoles([role])])),
  "granting all roles": settingRoles(organizationRoles),
};
async function outcomeOf(client: Client, request: string | [string, string, unknown?]): Promise<string> {
  if (typeof request === "string") {
    const { body } = await client.post("/graphql", { query: request });
    return body.errors?.[0].extensions.code ?? "done";
  }
  const { status } = await client.request(...request);
  return status === 403 ? "FORBIDDEN" : status === 404 ? "NOT_FOUND" : status < 300 ? "done" : String(status);
}

describe("dominance", () => {
  const the = world();
  let organization: string;
  let another: string;
  const clients = new Map<string, Client>();
  const ids = new Map<string, string>();
  let version: string;

  before(async () => {
    organization = (await the().organization()).id;
    another = (await the().organization()).id;
    const people = Object.entries(actors).map(([name, holder]) => {
      const token = newToken("session");
      clients.set(name, the().as({ token: token.text }));
      ids.set(name, newId());
      return { ...holder, id: ids.get(name)!, key: token.id, token, isServiceAccount: false };
    });
    await populate(the(), organization, another, [...people, receiver]);
    version = await insertVersion(the(), organization);
  });

  for (const [name, verb] of Object.entries(verbs)) {
    const { by, tried, changes, on = isMember, isServiceAccount = false, hasWorkspace } = verb;
    it(`governs ${name}, for callers and accounts of every role`, async () => {
      const cases = Object.entries({ ...targets, ...strangers })
        .filter(([, target]) => on(target))
        .flatMap(([about, target]) =>
          Object.entries(actors).map(([who, actor]) => ({
            who,
            actor,
            about,
            target,
            victim: { id: newId(), key: randomText(10) } as Victim,
          })),
        );
      await populate(
        the(),
        organization,
        another,
        cases.map(({ target, victim }) => ({ ...target, ...victim, isServiceAccount })),
      );
      if (hasWorkspace)
        for (const { victim } of cases) victim.workspace = await insertStopped(the(), victim.id, version);
      const wrong: string[] = [];
      let done = 0;
      await inTurns(cases, async ({ who, actor, about, target, victim }) => {
        const isTheirs = by(actor);
        const changed = changes?.(target) ?? [];
        const expected = isTheirs && dominates(actor, target) && changed.every((role) => gives(actor, role, "here"));
        const outcome = await outcomeOf(clients.get(who)!, tried(victim, organization));
        const right = expected ? ["done"] : isTheirs ? ["FORBIDDEN"] : ["FORBIDDEN", "NOT_FOUND"];
        if (!right.includes(outcome)) wrong.push(`${who} on ${about}: ${outcome}`);
        if (outcome === "done") done++;
      });
      expect(wrong).to.deep.equal([]);
      expect(done).to.be.above(0);
    });
  }

  it("governs the acceptance of a workspace by the roles that both have by then", async () => {
    const cases = Object.entries(targets)
      .filter(([, target]) => isMember(target))
      .flatMap(([about, target]) =>
        Object.entries(actors).map(([who, actor]) => ({ who, actor, about, target, id: newId(), key: randomText(10) })),
      );
    const people = cases.map((each) => ({ ...each, ...each.target, isServiceAccount: false }));
    await populate(the(), organization, another, people);
    const client = the().as({ token: receiver.token.text });
    const wrong: string[] = [];
    await inTurns(cases, async ({ who, actor, about, target, id }) => {
      const workspace = await insertStopped(the(), id, version);
      const offer = await insertOffer(the(), workspace, receiver.id, ids.get(who)!);
      const outcome = await outcomeOf(client, mutation("acceptWorkspaceTransfer", `id: "${offer}"`));
      const expected = transfersWorkspaces(actor) && dominates(actor, target) ? "done" : "CONFLICT";
      if (outcome !== expected) wrong.push(`${who} on ${about}: ${outcome}`);
    });
    expect(wrong).to.deep.equal([]);
  });

  it("is reflected by authcheck for stored accounts", async () => {
    const people = Object.entries(targets).map(([about, target]) => ({
      about,
      target,
      id: newId(),
      key: randomText(10),
    }));
    await populate(
      the(),
      organization,
      another,
      people.map((person) => ({ ...person, ...person.target, isServiceAccount: false })),
    );
    const wrong: string[] = [];
    const cases = people.flatMap((person) => Object.entries(actors).map(([who, actor]) => ({ ...person, who, actor })));
    await inTurns(cases, async ({ who, actor, about, target, id }) => {
      const object = { resource_type: "user", resource_id: id };
      const checks = Object.fromEntries(
        ["update", "delete", "update_personal"].map((action) => [action, { action, object }]),
      );
      const { body } = await clients.get(who)!.post("/api/v2/authcheck", { checks });
      const expected = administersAccounts(actor) && dominates(actor, target);
      for (const action of Object.keys(checks)) if (body[action] !== expected) wrong.push(`${who} ${action} ${about}`);
    });
    expect(wrong).to.deep.equal([]);
  });

  it("explains a rejection to callers who may change other accounts", async () => {
    const made = { id: newId(), key: randomText(10), site: [], here: ["organization-admin"], isServiceAccount: false };
    await populate(the(), organization, another, [made]);
    const path = `/api/v2/users/${made.id}/quiet-hours`;
    const detailOf = async (who: string) =>
      (await clients.get(who)!.put(path, { schedule: "0 1 * * *" })).body.detail as string | undefined;
    expect(await detailOf("user-admin")).to.equal("The account holds a role that you may not give.");
    expect(await detailOf("auditor")).to.equal(undefined);
  });

  describe("under concurrent role changes", () => {
    const victim = async (isServiceAccount: boolean) => {
      const made = { id: newId(), key: randomText(10), site: [], here: [], isServiceAccount };
      await populate(the(), organization, another, [made]);
      return made;
    };

    const raced = Object.entries(verbs).filter(
      ([name, { by, on }]) => by(actors["user-admin"]!) && on === undefined && !name.startsWith("granting"),
    );
    for (const [name, { tried, isServiceAccount = false }] of raced)
      it(`lets ${name} wait for a role that is being granted, and then rejects it`, async () => {
        const made = await victim(isServiceAccount);
        const outcome = await lockRows(the(), "users", { id: made.id }, async ({ awaited, commit }) => {
          const changing = outcomeOf(clients.get("user-admin")!, tried(made, organization));
          await awaited();
          const membership = { organization_id: organization, user_id: made.id };
          await setColumns(the(), "organization_members", membership, { roles: ["organization-admin"] });
          await commit();
          return changing;
        });
        expect(outcome).to.equal("FORBIDDEN");
      });

    it("lets taking over a workspace wait for a role that is being granted, and then rejects it", async () => {
      const made = await victim(false);
      const workspace = await insertStopped(the(), made.id, version);
      const outcome = await lockRows(the(), "users", { id: made.id }, async ({ awaited, set, commit }) => {
        const verb = verbs["taking over a workspace"]!;
        const taking = outcomeOf(clients.get("organization-admin")!, verb.tried({ ...made, workspace }, organization));
        await awaited();
        await set({ site_roles: ["auditor"] });
        await commit();
        return taking;
      });
      expect(outcome).to.equal("FORBIDDEN");
    });

    it("makes role changes and removals take the lock that all changes of an account wait for", async () => {
      const owner = clients.get("owner")!;
      for (const verb of ["granting organization-admin alone", "removing", "setting site roles"]) {
        const made = await victim(false);
        const outcome = await lockRows(the(), "users", { id: made.id }, async ({ awaited, commit }) => {
          const changing = outcomeOf(owner, verbs[verb]!.tried(made, organization));
          await awaited();
          await commit();
          return changing;
        });
        expect(outcome, verb).to.equal("done");
      }
    });

    it("never lets both a removal and a concurrent promotion succeed", async () => {
      const remove = verbs.removing!;
      const promote = verbs["granting organization-admin alone"]!;
      for (let round = 0; round < 20; round++) {
        const made = await victim(false);
        const outcomes = await Promise.all([
          outcomeOf(clients.get("organization-user-admin")!, remove.tried(made, organization)),
          outcomeOf(clients.get("owner")!, promote.tried(made, organization)),
        ]);
        expect(outcomes.join(" and ")).to.be.oneOf(["done and NOT_FOUND", "FORBIDDEN and done"]);
      }
    });

    it("lets no two user admins strip an account of a role that they may not grant by removing and adding it", async () => {
      for (let round = 0; round < 10; round++) {
        const made = {
          id: newId(),
          key: randomText(10),
          site: [],
          here: ["organization-admin"],
          isServiceAccount: false,
        };
        await populate(the(), organization, another, [made]);
        const attempts = ["organization-user-admin", "user-admin"].flatMap((who) =>
          [verbs.removing!, verbs.adding!, verbs["removing all roles"]!].map(({ tried }) =>
            outcomeOf(clients.get(who)!, tried(made, organization)),
          ),
        );
        for (const outcome of await Promise.all(attempts)) expect(outcome).to.be.oneOf(["FORBIDDEN", "CONFLICT"]);
        const admins = { organization_id: organization, user_id: made.id, roles: "{organization-admin}" };
        expect(await countRows(the(), "organization_members", admins)).to.equal(1);
      }
    });
  });

  describe("over the caller's own account", () => {
    const self = async (holder: Holder) => {
      const token = newToken("session");
      const made = { ...holder, id: newId(), key: token.id, token, isServiceAccount: false };
      await populate(the(), organization, another, [made]);
      return { made, client: the().as({ token: token.text }) };
    };

    it("lets user admins join and leave organizations", async () => {
      const { made, client } = await self({ site: ["user-admin"] });
      expect(await outcomeOf(client, verbs.adding!.tried(made, organization))).to.equal("done");
      expect(await outcomeOf(client, verbs.removing!.tried(made, organization))).to.equal("done");
    });

    it("keeps callers from granting themselves more than they may grant", async () => {
      const { made, client } = await self({ site: ["user-admin"], here: [] });
      expect(await outcomeOf(client, verbs["granting organization-admin alone"]!.tried(made, organization))).to.equal(
        "FORBIDDEN",
      );
      expect(
        await outcomeOf(client, verbs["granting organization-user-admin alone"]!.tried(made, organization)),
      ).to.equal("done");
    });

    it("lets only owners change the email address or password of holders of site roles", async () => {
      const { made, client } = await self({ site: ["user-admin"] });
      for (const verb of ["changing the email address", "resetting the password"])
        expect(await outcomeOf(client, verbs[verb]!.tried(made, organization))).to.equal("FORBIDDEN");
    });
  });
});
