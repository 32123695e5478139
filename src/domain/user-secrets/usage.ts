import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { conflict, Problems } from "../kernel/errors.js";
import { findUser, userTarget } from "../users/users.js";

/** The storage that a user's secrets use. Bytes are those of plain values. */
interface Used {
  count: number;
  valueBytes: number;
  /** Bytes of the values that become environment variables. */
  envBytes: number;
}

export interface UserSecretUsage extends Used {
  maxCount: number;
  maxValueBytes: number;
  maxEnvBytes: number;
}

/** The properties of a secret that are unique per user, and its size. */
export interface Occupied {
  id: string;
  name: string;
  envName: string;
  filePath: string;
  valueBytes: number;
}

const usedColumns = `count(*) as count, coalesce(sum(value_bytes), 0) as "valueBytes",
  coalesce(sum(value_bytes) filter (where env_name <> ''), 0) as "envBytes"`;

const usedByUser = statement<Used>(`select ${usedColumns} from user_secrets where user_id = $1`);

/** Reads the usage and limits of a user, for that user only. */
export async function readUserSecretUsage(ctx: Context, ref: string): Promise<UserSecretUsage> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user_secret:read", userTarget(user));
  const used = (await ctx.row(usedByUser, user.id))!;
  const { userSecretsMaxCount, userSecretsMaxTotalBytes, userSecretsMaxEnvBytes } = ctx.config;
  return {
    ...used,
    maxCount: userSecretsMaxCount,
    maxValueBytes: userSecretsMaxTotalBytes,
    maxEnvBytes: userSecretsMaxEnvBytes,
  };
}

interface Others extends Used {
  takesName: boolean | null;
  takesEnvName: boolean | null;
  takesFilePath: boolean | null;
}

const otherSecrets = statement<Others>(`
  select ${usedColumns}, bool_or(name = $3) as "takesName", bool_or(env_name = $4 and $4 <> '') as "takesEnvName",
    bool_or(file_path = $5 and $5 <> '') as "takesFilePath"
  from user_secrets where user_id = $1 and id <> $2`);

/**
 * Throws if a new secret, or a changed one that was `before`, exceeds the user's limits or takes a unique field of
 * another secret. The caller has locked the user, so that the result holds until the commit.
 */
export async function requireRoom(ctx: Context, userId: string, secret: Occupied, before?: Occupied): Promise<void> {
  const { id, name, envName, filePath } = secret;
  const others = (await ctx.row(otherSecrets, userId, id, name, envName, filePath))!;
  rejectTaken(others);
  rejectExcess(ctx, others, secret, before);
}

function rejectTaken({ takesName, takesEnvName, takesFilePath }: Others): void {
  const taken = Object.entries({ name: takesName, envName: takesEnvName, filePath: takesFilePath })
    .filter(([, isTaken]) => isTaken)
    .map(([field]) => ({ field, detail: "Is in use by another secret." }));
  if (taken.length > 0) throw conflict("Validation failed.", taken);
}

/** Rejects growth beyond a limit. Limits may be below current usage. */
function rejectExcess({ config }: Context, others: Used, after: Occupied, before?: Occupied): void {
  const [added, former] = [usageOf(after), usageOf(before)];
  const exceeds = (part: keyof Used, most: number) => added[part] > former[part] && others[part] + added[part] > most;
  const { userSecretsMaxCount: most, userSecretsMaxTotalBytes: bytes, userSecretsMaxEnvBytes: envBytes } = config;
  const problems = new Problems();
  if (exceeds("count", most)) problems.add("name", `A user can have at most ${most} secrets.`);
  if (exceeds("valueBytes", bytes)) problems.add("value", `All values of a user can have at most ${bytes} bytes.`);
  if (exceeds("envBytes", envBytes))
    problems.add("envName", `All values of a user in environment variables can have at most ${envBytes} bytes.`);
  problems.throwIfAny();
}

/** The usage of a single secret. */
const usageOf = (secret: Occupied | undefined): Used => ({
  count: secret ? 1 : 0,
  valueBytes: secret?.valueBytes ?? 0,
  envBytes: secret?.envName ? secret.valueBytes : 0,
});
