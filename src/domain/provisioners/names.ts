/** A key without a secret, which each organization has. */
export interface ReservedKey {
  id: string;
  name: string;
}

/** The keys of the daemon of the server, and of daemons that connect with the session of a user. */
export const reservedKeys = {
  builtIn: { id: "00000000-0000-7000-8000-000000000001", name: "built-in" },
  userAuth: { id: "00000000-0000-7000-8000-000000000002", name: "user-auth" },
} as const satisfies Record<string, ReservedKey>;

const reservedNames = new Set<string>(Object.values(reservedKeys).map(({ name }) => name));

/** Whether a name, in any letter case, is that of a reserved key. */
export const isReservedKey = (name: string): boolean => reservedNames.has(name.toLowerCase());

const namePattern = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/i;

/** Names of keys and daemons. */
export const daemonNameProblem = (name: string): string | undefined =>
  namePattern.test(name)
    ? undefined
    : "Must be 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit at both ends.";
