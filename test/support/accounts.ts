// GraphQL documents that manage accounts, and what their passwords cost.
import type { App } from "./app.js";
import { eventually } from "./watchers.js";
import type { Client, GraphqlFailure, Person, World } from "./world.js";

const userMutation = (verb: string, selection = "user { id }") =>
  `mutation($input: ${verb[0]!.toUpperCase()}${verb.slice(1)}Input!) { ${verb}(input: $input) { ${selection} } }`;
export const createUser = userMutation(
  "createUser",
  `user { id email username name avatarUrl status loginType isServiceAccount lastSeenAt organizationIds roles { name } }`,
);
export const updateUser = userMutation("updateUser", "user { email username name avatarUrl }");
export const updateProfile = userMutation("updateProfile", "user { email username name avatarUrl }");
export const suspendUser = userMutation("suspendUser", "user { status }");
export const activateUser = userMutation("activateUser", "user { status }");
export const deleteUser = userMutation("deleteUser", "user { username organizationIds roles { name organizationId } }");
export const setUserRoles = userMutation("setUserRoles", "user { roles { name displayName organizationId } }");
export const resetUserPassword = userMutation("resetUserPassword");
export const findUser = `query($user: String!) { user(user: $user) { id email } }`;
export const listUsers = `query($filter: UserFilter, $first: Int, $after: String) {
  users(filter: $filter, first: $first, after: $after) { nodes { id username } pageInfo { hasNextPage endCursor } totalCount } }`;

export const goodPassword = "seven-lamps-beside-the-old-canal";

export const code = async (client: Client, document: string, variables: Record<string, unknown> = {}) =>
  (await client.failure(document, variables)).code;

/** Suspends a user, as the owner. */
export const suspend = async (w: World, { id }: Pick<Person, "id">): Promise<void> =>
  w.as(w.owner).graphql(suspendUser, { input: { user: id } });

/** An account, as the owner sees it. Users that do not exist, or no longer, have none. */
export async function accountOf(w: World, user: string) {
  const query = `query($user: String!) {
    user(user: $user) { id username email status loginType lastSeenAt organizationIds roles { name organizationId } } }`;
  const { body } = await w.as(w.owner).post("/graphql", { query, variables: { user } });
  return body.data.user as {
    id: string;
    username: string;
    email: string;
    status: string;
    loginType: string;
    lastSeenAt: string | null;
    organizationIds: string[];
    roles: Array<{ name: string; organizationId: string | null }>;
  } | null;
}

export interface Key {
  id: string;
  kind: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string;
}

/** The sessions, tokens, and other keys of a user, as the owner sees them. */
export async function keysOf(w: World, { id }: Pick<Person, "id">, kind?: string): Promise<Key[]> {
  const { apiKeys } = await w.as(w.owner).graphql(
    `query($user: String!, $kind: ApiKeyKind) {
       apiKeys(user: $user, kind: $kind) { id kind name createdAt lastUsedAt expiresAt } }`,
    { user: id, kind },
  );
  return apiKeys;
}

/** The fields at fault. */
export const fields = ({ errors }: GraphqlFailure) =>
  (errors[0]!.extensions.validations as Array<{ field: string }> | undefined)?.map(({ field }) => field);

export const signedIn = async (w: World, person: Person) =>
  (await w.as(person).post("/graphql", { query: "{ me { id } }" })).status;

/** Waits until the token is rejected. A replica may lag by a second. */
export const isOut = (w: World, person: Person) =>
  eventually(async () => (await signedIn(w, person)) === 401, `${person.username} is signed out`);

/** Counts the passwords that a server hashes and compares from now on, and those that wait for it. */
export function countHashes({ services: { passwords } }: App) {
  const seen = { hashes: 0, waiting: 0, mostWaiting: 0 };
  const hash = passwords.hash.bind(passwords);
  const verify = passwords.verify.bind(passwords);
  const counted = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    seen.hashes++;
    seen.mostWaiting = Math.max(seen.mostWaiting, ++seen.waiting);
    try {
      return await work();
    } finally {
      seen.waiting--;
    }
  };
  passwords.hash = (...given) => counted(() => hash(...given));
  passwords.verify = (...given) => counted(() => verify(...given));
  return seen;
}
