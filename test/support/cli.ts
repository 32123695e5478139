// The command line as a user runs it, with a directory of settings of its own.
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type Program, spawnProgram } from "./process.js";
import { eventually } from "./watchers.js";
import { Client, type Person } from "./world.js";

/** Milliseconds in which a command ends. */
const patience = 30_000;

export interface Ended {
  status: number | NodeJS.Signals;
  stdout: string;
  stderr: string;
}

export class UserCli {
  private constructor(
    readonly directory: string,
    private readonly settings: NodeJS.ProcessEnv,
  ) {}

  static open = async (settings: NodeJS.ProcessEnv = {}): Promise<UserCli> =>
    new UserCli(await mkdtemp(join(tmpdir(), "steward-cli-")), settings);

  close = () => rm(this.directory, { recursive: true, force: true });

  /** Starts a command. */
  start = (words: readonly string[], { env = {}, input }: { env?: NodeJS.ProcessEnv; input?: string } = {}): Program =>
    spawnProgram(
      "dist/cli/main.js",
      [...words],
      { HOME: this.directory, STEWARD_CONFIG_DIR: join(this.directory, "settings"), ...this.settings, ...env },
      input === undefined ? {} : { input },
    );

  /** Runs a command to its end. */
  run = (...words: string[]): Promise<Ended> => this.runWith({}, ...words);

  async runWith(conditions: { env?: NodeJS.ProcessEnv; input?: string }, ...words: string[]): Promise<Ended> {
    const program = this.start(words, conditions);
    const status = await program.ended;
    return { status, stdout: program.stdout(), stderr: program.stderr() };
  }

  /** Runs a command that must succeed. Returns what it prints. */
  async output(...words: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(...words);
    expect(status, `${words.join(" ")}: ${stdout}${stderr}`).to.equal(0);
    return stdout;
  }

  /** Runs a command that must succeed, with `--json`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into results of every shape
  json = async (...words: string[]): Promise<any> => JSON.parse(await this.output(...words, "--json"));

  /** Signs in to a server: the person allows what the command asks for. */
  async signIn(url: string, person: Pick<Person, "token">, ...words: string[]): Promise<Ended> {
    const login = this.start(["login", url, ...words]);
    const code = await userCode(login);
    await new Client(url, person.token).graphql(
      "mutation($code: String!) { approveOAuth2Device(input: { userCode: $code }) { __typename } }",
      { code },
    );
    const status = await login.ended;
    expect(status, login.output()).to.equal(0);
    return { status, stdout: login.stdout(), stderr: login.stderr() };
  }

  get loginsPath(): string {
    return join(this.directory, "settings", "logins.json");
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into the file
  logins = async (): Promise<any> => JSON.parse(await readFile(this.loginsPath, "utf8"));

  /** Changes the stored login at a server. */
  async changeLogin(url: string, changes: object): Promise<void> {
    const content = await this.logins();
    Object.assign(content.logins[url], changes);
    await writeFile(this.loginsPath, JSON.stringify(content));
  }

  /** The permissions of a file in the directory of settings. */
  modeOf = async (name = ""): Promise<number> => (await stat(join(this.directory, "settings", name))).mode & 0o777;
}

/** Waits until a login shows its code. Returns the code. */
export async function userCode(login: Program): Promise<string> {
  let code: string | undefined;
  let hasEnded = false;
  void login.ended.then(() => (hasEnded = true));
  await eventually(
    () => {
      code = /^ {4}([A-Z]{4}-[A-Z]{4})$/m.exec(login.stderr())?.[1];
      if (hasEnded && !code) throw new Error(`The login ended: ${login.output()}`);
      return code !== undefined;
    },
    "the code",
    patience,
  );
  return code!;
}

/** Waits until a program has printed something. */
export const prints = (program: Program, text: string | RegExp): Promise<void> =>
  eventually(
    () => (typeof text === "string" ? program.output().includes(text) : text.test(program.output())),
    `${text} in ${program.output()}`,
    patience,
  );
