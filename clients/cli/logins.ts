// Where the logins of the user are kept: in one file that only the user can read.
import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failed } from "./failures.js";

/** The client that this program registered at a server, with what ends the registration. */
export interface Registration {
  clientId: string;
  uri?: string | undefined;
  token?: string | undefined;
}

export interface Tokens {
  accessToken: string;
  refreshToken: string;
  /** Milliseconds since 1970, by the clock of this machine. */
  expiresAt: number;
}

export interface Login extends Tokens {
  username: string;
  scope: string;
  registration: Registration;
  /** Whether the user has allowed to send its tokens to another machine without encryption. */
  isHttpAllowed?: boolean;
}

interface Content {
  /** The server that commands use. */
  current?: string | undefined;
  /** By the URL of the server. */
  logins: Record<string, Login>;
  /** URLs of servers by the names that the user gave them. */
  profiles?: Record<string, string>;
}

/** Milliseconds for which a command waits for another one to write, and after which it takes the other one for dead. */
const lockTimeout = 30_000;

/** The directory of the user's settings. */
const directory = (): string => {
  const { STEWARD_CONFIG_DIR, XDG_CONFIG_HOME } = process.env;
  return STEWARD_CONFIG_DIR || join(XDG_CONFIG_HOME || join(homedir(), ".config"), "steward");
};

const file = (): string => join(directory(), "logins.json");

const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

const isNamed = (profiles: unknown) =>
  profiles === undefined ||
  (isObject(profiles) && Object.values(profiles as object).every((url) => typeof url === "string"));

export async function readLogins(): Promise<Content> {
  try {
    const content = JSON.parse(await readFile(file(), "utf8")) as Content;
    const hasLogins = isObject(content) && isObject(content.logins) && Object.values(content.logins).every(isObject);
    if (hasLogins && isNamed(content.profiles)) return content;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { logins: {} };
    if (!(error instanceof SyntaxError))
      throw new Failed(`${file()} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  throw new Failed(`${file()} is damaged. Delete it, and sign in again.`);
}

/**
 * Changes the logins while no other command does: of several commands that find an expired token, one renews it. The
 * file is replaced in one step, so that an interruption never leaves half of it.
 */
export async function changeLogins<Result>(change: (content: Content) => Promise<Result> | Result): Promise<Result> {
  await mkdir(directory(), { recursive: true, mode: 0o700 }).catch(explain);
  const release = await lock();
  try {
    const content = await readLogins();
    const result = await change(content);
    const beside = join(directory(), `.logins-${randomUUID()}`);
    await writeFile(beside, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: "wx" }).catch(explain);
    // Whatever the umask is.
    await chmod(beside, 0o600);
    await rename(beside, file());
    return result;
  } finally {
    await release();
  }
}

/** Waits for the lock file, and removes that of a command which died. Returns a function that removes it. */
async function lock(): Promise<() => Promise<void>> {
  const path = join(directory(), "logins.lock");
  for (const deadline = Date.now() + 2 * lockTimeout; ;) {
    try {
      await (await open(path, "wx", 0o600)).close();
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return explain(error);
      const since = await stat(path).catch(() => undefined);
      if (since && Date.now() - since.mtimeMs > lockTimeout) await rm(path, { force: true });
      else if (Date.now() > deadline)
        throw new Failed(`Another command does not release ${path}. Delete it.`, { cause: error });
      else await sleep(20 + 30 * Math.random());
    }
  }
}

const explain = (error: unknown): never => {
  const { code } = error as NodeJS.ErrnoException;
  throw new Failed(`The login cannot be stored in ${directory()} (${code}).`, { cause: error });
};
