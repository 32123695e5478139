// Looks inside: an actor as the server knows it, for tests of the policy.
import type { UserActor } from "../../src/domain/kernel/actor.js";
import { newId } from "./ids.js";

/** A user without roles, with a session that has all scopes. */
export const userActor = (traits: Partial<UserActor> = {}): UserActor => ({
  kind: "user",
  userId: newId(),
  siteRoles: [],
  organizations: new Map(),
  scopes: ["all"],
  entersWorkspaces: false,
  mustChangePassword: false,
  credential: { id: "0123456789", kind: "session", expiresAt: "2099-01-01T00:00:00.000Z", parentId: null },
  ...traits,
});
