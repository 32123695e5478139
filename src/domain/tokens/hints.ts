import type { UserActor } from "../kernel/actor.js";

/** The hint that a key changed. Caches drop it, and the keys that were created with it, which end with it. */
export const keyHint = (id: string) => ({ topic: "auth", id: `k:${id}` }) as const;

/** The hint that the roles, the status or the keys of a user changed. */
export const userHint = (userId: string) => ({ topic: "auth", id: `u:${userId}` }) as const;

/** The hint that an OAuth2 application changed, or lost a secret or all of its tokens. */
export const clientHint = (clientId: string) => ({ topic: "auth", id: `c:${clientId}` }) as const;

/** The ids of the hints that concern a key of a user. */
export function hintIdsOf({ userId, credential: { id, parentId, oauth } }: UserActor): string[] {
  const hints = [userHint(userId), keyHint(id)];
  const others = [parentId === null ? [] : keyHint(parentId), oauth ? clientHint(oauth.clientId) : []];
  return [...hints, ...others.flat()].map((hint) => hint.id);
}
