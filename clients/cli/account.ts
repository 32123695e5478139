// Logins: which servers the user has, and who the user is there.
import { Failed, notSignedIn } from "./failures.js";
import { Me, MyName } from "./account.gql.js";
import { Api } from "./api.js";
import { browse } from "./browse.js";
import { command, flag, text, UsageError } from "./command.js";
import { changeLogins, type Login, readLogins, type Registration } from "./logins.js";
import {
  administrationScopes,
  type DeviceLogin,
  register,
  requireProtection,
  revoke,
  scopes,
  startDevice,
  unregister,
} from "./oauth.js";
import { moment, type Output } from "./output.js";
import { requireServer, requireUrl } from "./session.js";

const login = command({
  usage: "login [URL]",
  summary:
    "Sign in to a server: opens a page of it in a browser, on this machine or another one, where you confirm a code. The login is kept in the file logins.json of ~/.config/steward (XDG_CONFIG_HOME, STEWARD_CONFIG_DIR) and renews itself.",
  takes: [0, 1],
  options: {
    scope: text("SCOPES", `What the login permits, separated by spaces. Default: ${scopes}.`),
    admin: flag("It also permits what the commands of administrators do, as far as you may."),
    "no-browser": flag("Only print the address."),
  },
  run: async ({ words: [word], server, options, isHttpAllowed, output, signal }) => {
    const { current, logins } = await readLogins();
    const named = word ?? server ?? process.env.STEWARD_URL ?? current;
    if (!named) throw new UsageError("Specify the URL of the server.");
    const url = await requireServer(named);
    requireProtection(url, isHttpAllowed);
    const asked = options.scope ?? (options.admin ? `${scopes} ${administrationScopes}` : scopes);
    const { registration, device } = await begin(url, logins[url]?.registration, asked);
    await store(url, registration);
    await present(device, output, options["no-browser"]);
    const { scope, ...tokens } = await device.allowed(signal);
    const session = {
      url,
      token: () => Promise.resolve(tokens.accessToken),
      renewed: () => Promise.reject(notSignedIn(url)),
    };
    // Every credential may read the name of its user.
    const { username } = (await new Api(session, signal, () => {}).run(MyName, {})).me;
    const before = await changeLogins((content) => {
      const replaced = content.logins[url];
      content.logins[url] = { ...tokens, scope, username, registration, isHttpAllowed };
      content.current = url;
      return replaced;
    });
    // The new login does not depend on whether the end of the old one succeeds.
    if (before?.refreshToken) await revoke(url, before.registration, before.refreshToken).catch(() => {});
    const granted = scope.split(" ");
    const leftOut = asked.split(" ").filter((each) => each && !granted.includes(each));
    if (leftOut.length > 0) output.note(`The server did not permit these scopes: ${leftOut.join(" ")}.\n`);
    const value = { server: url, username, scope };
    output.done(value, `Signed in to ${url} as ${username}.`);
  },
});

/** Asks for access with the registration of this program at the server, or a new one. */
async function begin(url: string, known: Registration | undefined, scope: string) {
  const device = known && (await startDevice(url, known, scope));
  if (device) return { registration: known, device };
  const registration = await register(url);
  const started = await startDevice(url, registration, scope);
  if (!started) throw new Failed(`${url} does not accept programs that registered themselves.`);
  return { registration, device: started };
}

/** Keeps the registration, so that the next attempt needs no other one. */
const store = (url: string, registration: Registration) =>
  changeLogins(({ logins }) => {
    const signedOut: Login = { username: "", scope: "", accessToken: "", refreshToken: "", expiresAt: 0, registration };
    logins[url] = { ...(logins[url] ?? signedOut), registration };
  });

async function present(
  { address, completeAddress, userCode, minutes }: DeviceLogin,
  output: Output,
  isSilent: boolean,
) {
  output.note(`Open ${address} in a browser, and enter this code within ${minutes} minutes:\n\n    ${userCode}\n`);
  if (!isSilent && output.isTerminal && completeAddress) await browse(completeAddress);
  output.note("Waiting for your decision…");
}

const logout = command({
  usage: "logout [URL]",
  summary: "End a login: the server revokes it and forgets this program. Default: the current one.",
  takes: [0, 1],
  options: { force: flag("Forget the login even if the server cannot be reached.") },
  run: async ({ words: [word], server, options, isHttpAllowed, output }) => {
    const { current, logins } = await readLogins();
    const named = word ?? server;
    const url = named === undefined ? current : await requireServer(named);
    const found = url === undefined ? undefined : logins[url];
    if (url === undefined || !found) throw notSignedIn(url);
    try {
      requireProtection(url, isHttpAllowed || found.isHttpAllowed === true);
      if (found.refreshToken) await revoke(url, found.registration, found.refreshToken);
      await unregister(url, found.registration);
    } catch (error) {
      if (!options.force) throw new Failed(`${(error as Error).message}\nTo forget the login here only, use --force.`);
    }
    await changeLogins((content) => {
      delete content.logins[url];
      if (content.current === url) content.current = Object.keys(content.logins)[0];
    });
    output.done({ server: url }, `Signed out of ${url}.`);
  },
});

const whoami = command({
  usage: "whoami",
  summary: "Show the server, and who you are there.",
  run: async ({ api: open, output }) => {
    const api = await open();
    const { me } = await api.run(Me, {});
    output.object({ server: api.url, ...me }, [
      ["Server", api.url],
      ["Username", me.username],
      ["Name", me.name],
      ["Email", me.email],
      ["Roles", me.roles.map(({ name }) => name.toLowerCase()).join(", ")],
      ["Organizations", me.organizations.map(({ name }) => name).join(", ")],
    ]);
  },
});

const servers = command({
  usage: "servers",
  summary: "List the servers that you are signed in to. Commands use the one with a star.",
  run: async ({ output }) => {
    const { current, logins } = await readLogins();
    const rows = Object.entries(logins).flatMap(([url, { username, accessToken, expiresAt, scope }]) =>
      accessToken
        ? [{ url, username, isCurrent: url === current, tokenExpiresAt: new Date(expiresAt).toISOString(), scope }]
        : [],
    );
    output.list(rows, {
      "": ({ isCurrent }) => (isCurrent ? "*" : " "),
      SERVER: ({ url }) => url,
      USER: ({ username }) => username,
      "TOKEN UNTIL": ({ tokenExpiresAt }) => moment(tokenExpiresAt),
    });
  },
});

const use = command({
  usage: "servers use URL",
  summary: "Choose the server that commands use.",
  takes: [1, 1],
  run: async ({ words: [word = ""], output }) => {
    await choose(requireUrl(word), output);
  },
});

/** Lets commands use a server from now on. */
async function choose(url: string, output: Output): Promise<void> {
  await changeLogins((content) => {
    if (!content.logins[url]?.accessToken) throw notSignedIn(url);
    content.current = url;
  });
  // Otherwise, it would look as if the choice had no effect.
  if (process.env.STEWARD_URL) output.note("STEWARD_URL is set: it comes first.");
  output.done({ server: url }, `Commands use ${url}.`);
}

const isProfileName = (name: string) => /^[a-z0-9][a-z0-9_-]{0,31}$/i.test(name);

/** Maximum number of profiles. */
const mostProfiles = 100;

const addProfile = command({
  usage: "profile add NAME URL",
  summary: "Give a server a name, which can stand for its URL: in login, logout, --server, and STEWARD_URL.",
  takes: [2, 2],
  run: async ({ words: [name = "", word = ""], output }) => {
    if (!isProfileName(name))
      throw new UsageError(
        "The name must be 1 to 32 letters, digits, hyphens, or underscores, and begin with none of the last two.",
      );
    const server = requireUrl(word);
    await changeLogins((content) => {
      const profiles = { ...content.profiles, [name]: server };
      if (Object.keys(profiles).length > mostProfiles) throw new Failed(`There are ${mostProfiles} profiles already.`);
      content.profiles = profiles;
    });
    const { logins } = await readLogins();
    if (!logins[server]?.accessToken) output.note(`To sign in there: login ${name}`);
    output.done({ name, server }, `The profile ${name} is ${server}.`);
  },
});

/** The server of a profile. Throws `Failed` if there is none of the name. */
async function serverOf(name: string): Promise<string> {
  const { profiles = {} } = await readLogins();
  if (!Object.hasOwn(profiles, name)) throw new Failed(`There is no profile ${name}. See profile list.`);
  return profiles[name]!;
}

const useProfile = command({
  usage: "profile use NAME",
  summary: "Choose the server that commands use by its profile.",
  takes: [1, 1],
  run: async ({ words: [name = ""], output }) => choose(await serverOf(name), output),
});

const listProfiles = command({
  usage: "profile list",
  summary: "List the profiles. Commands use the one with a star.",
  run: async ({ output }) => {
    const { current, logins, profiles = {} } = await readLogins();
    const rows = Object.entries(profiles)
      .map(([name, server]) => ({ name, server, isCurrent: server === current, login: logins[server] }))
      .map(({ login: own, ...row }) => ({ ...row, username: own?.accessToken ? own.username : null }));
    output.list(rows, {
      "": ({ isCurrent }) => (isCurrent ? "*" : " "),
      NAME: ({ name }) => name,
      SERVER: ({ server }) => server,
      USER: ({ username }) => username ?? "not signed in",
    });
  },
});

const removeProfile = command({
  usage: "profile remove NAME",
  summary: "Forget the name of a server. The login there stays: see logout.",
  takes: [1, 1],
  run: async ({ words: [name = ""], output }) => {
    const server = await serverOf(name);
    await changeLogins((content) => {
      content.profiles = Object.fromEntries(Object.entries(content.profiles ?? {}).filter(([each]) => each !== name));
    });
    output.done({ name, server }, `The profile ${name} is forgotten.`);
  },
});

export const accountCommands = {
  login,
  logout,
  whoami,
  "servers use": use,
  servers,
  "profile add": addProfile,
  "profile use": useProfile,
  "profile list": listProfiles,
  "profile remove": removeProfile,
};
