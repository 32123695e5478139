import type { Page } from "../kernel/page.js";
import type { OrganizationRow } from "../organizations/organizations.js";
import type { UserRow } from "../users/users.js";

/** Who made a group: people, or an identity provider. */
export enum GroupSource {
  USER = "user",
  OIDC = "oidc",
}

/** What every member of a group may spend on AI in a calendar month. */
export interface GroupAiBudgetRow {
  /** Millionths of the deployment's currency. */
  spendLimitMicros: number;
  createdAt: string;
  updatedAt: string;
}

/** A user in a group. */
export interface GroupMemberRow {
  user: UserRow;
  /** The same: the policy shows no member whose account the caller may not read. */
  account: UserRow;
  /** When the user was added; null in Everyone, which holds all members of the organization by itself. */
  addedAt: string | null;
}

/** A group as all its readers see it. */
export interface GroupRow {
  id: string;
  createdAt: string;
  updatedAt: string;
  organizationId: string;
  organization: OrganizationRow;
  name: string;
  displayName: string;
  avatarUrl: string;
  quotaAllowance: number;
  source: GroupSource;
  /** Whether the caller is in it. */
  isMember: boolean;
  /** All members, also those whom the caller does not see. */
  totalMemberCount: number;
  /** Not for every reader: see `aiBudgetOf`. */
  aiBudget: GroupAiBudgetRow | null;
  /** How many members it shows at once, at most. */
  membersAtOnce: number;
  /** The first members, when they were read along: in one statement, so that nobody sees half of a change. */
  firstMembers?: GroupMemberRow[] | null;
  /** Pages of members that were read before the group was deleted, by what was asked. */
  keptPages?: ReadonlyMap<string, Page<GroupMemberRow>>;
}
