// Accounts with roles of every kind, inserted directly into the tables: hundreds of them cost no password hashing.
import { tomorrow } from "./clock.js";
import type { newToken } from "./token-rows.js";
import { insert } from "./stage.js";
import type { World } from "./world.js";

export const siteRoles = ["owner", "template-admin", "user-admin", "auditor"];
export const organizationRoles = ["admin", "template-admin", "user-admin", "auditor"].map(
  (role) => `organization-${role}`,
);

/** Site roles, and roles in the tested organization and in another one; undefined if not a member. */
export interface Holder {
  site: string[];
  here?: string[];
  elsewhere?: string[];
}

export const holders: Record<string, Holder> = {
  "no member": { site: [] },
  member: { site: [], here: [] },
  ...Object.fromEntries(siteRoles.map((role) => [role, { site: [role], here: [] }])),
  ...Object.fromEntries(organizationRoles.map((role) => [role, { site: [], here: [role] }])),
  "organization-admin elsewhere": { site: [], here: [], elsewhere: ["organization-admin"] },
  "organization-user-admin elsewhere": { site: [], here: [], elsewhere: ["organization-user-admin"] },
};
/** Ids of an account and of its key. */
export interface Account {
  id: string;
  key: string;
}

/** Inserts accounts with their roles and one key each. */
export async function populate(
  w: World,
  here: string,
  elsewhere: string,
  people: Array<Holder & Account & { isServiceAccount: boolean; token?: ReturnType<typeof newToken> }>,
) {
  const times = { created_at: "now", updated_at: "now" };
  const rows = {
    users: people.map(({ id, site, isServiceAccount }) => ({
      ...times,
      id,
      email: `${id}@example.com`,
      username: `n${id.replaceAll("-", "").slice(-31)}`,
      login_type: isServiceAccount ? "none" : "password",
      is_service_account: isServiceAccount,
      site_roles: site,
    })),
    organization_members: people.flatMap((person) => [
      ...(person.here ? [{ organization_id: here, user_id: person.id, roles: person.here, created_at: "now" }] : []),
      ...(person.elsewhere
        ? [{ organization_id: elsewhere, user_id: person.id, roles: person.elsewhere, created_at: "now" }]
        : []),
    ]),
    api_keys: people.map(({ id, key, token }) => ({
      id: key,
      user_id: id,
      kind: token ? "session" : "token",
      name: token ? "" : key,
      scopes: ["all"],
      secret_hash: `\\x${(token?.secretHash ?? Buffer.alloc(32)).toString("hex")}`,
      created_at: "now",
      expires_at: tomorrow(),
    })),
  };
  await insert(w, Object.fromEntries(Object.entries(rows).filter(([, list]) => list.length > 0)));
}

/** Runs `work` on each item, 16 at a time. */
export async function inTurns<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}
