// What only a server of the demonstration's own gets, since it belongs to the whole deployment: a license, an identity
// provider, proxies, linked accounts, appearance, invitations, and a service account.
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { type Client, Failure } from "./client.js";
import { emailOf } from "./company.js";
import type { Company } from "./fill.js";

const day = 86_400;
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Makes a vendor of licenses: its public keys, and a license signed by it. */
export function makeLicense(): { keys: string; license: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const kid = "larkspur";
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: "steward",
    version: 1,
    iat: now,
    nbf: now - 60,
    exp: now + 395 * day,
    license_expires: now + 365 * day,
    account_type: "direct",
    account_id: "Larkspur Robotics",
    feature_set: "premium",
    features: { user_limit: 40 },
  };
  const signed = `${part({ alg: "EdDSA", typ: "steward-license+jwt", kid })}.${part(claims)}`;
  const signature = sign(null, Buffer.from(signed), privateKey).toString("base64url");
  return {
    keys: JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid }] }),
    license: `${signed}.${signature}`,
  };
}

/** A proxy that reports itself as long as the demonstration runs. */
export interface LiveProxy {
  token: string;
  replicaId: string;
}

const proxies = [
  { name: "lisbon", displayName: "Lisbon", icon: "" },
  { name: "osaka", displayName: "Osaka", icon: "" },
];

/** Adds all of it. Returns the proxy that is to be kept alive. */
export async function administer(made: Company): Promise<LiveProxy> {
  const { owner } = made;
  const banner = { message: "Firmware 4.2 ships on Friday: no releases of tools until then.", enabled: true };
  await owner.mutate("updateAppearance", {
    applicationName: "Larkspur Steward",
    announcementBanners: [{ ...banner, backgroundColor: "#1d5fbf" }],
  });

  const { secret } = await owner.mutate("createScimKey", { name: "Larkspur directory", source: "directory" }, "secret");
  const joining = ["ursula", "viktor", "wanda"];
  await made.each("Identity provider", joining, (name) => provision(owner.url, secret as string, name));

  const [live] = await made.each("Proxies", proxies, async (input): Promise<LiveProxy> => {
    const { proxyToken } = await owner.mutate("createWorkspaceProxy", input, "proxyToken");
    return { token: proxyToken as string, replicaId: randomUUID() };
  });

  const input = { username: "release-robot", email: emailOf({ username: "release-robot" }), name: "Release robot" };
  const { user } = await owner.mutate("createUser", { ...input, isServiceAccount: true }, "user { id }");
  await owner.mutate("createApiKey", { name: "pipeline", scopes: ["template:read", "workspace:read"], user: user.id });
  await owner.mutate("updateUserSecret", { name: "npm-token", description: "Private packages, read only" });
  await owner.mutate("setQuietHours", { schedule: "CRON_TZ=Europe/Lisbon 0 20 * * *" });
  // The company has no mail server, and its people have accounts.
  await owner.run("mutation { dismissFirstSteps { __typename } }");
  for (const [username, name] of [
    ["xenia", "Xenia Castro"],
    ["yusuf", "Yusuf Demir"],
  ] as const)
    await owner.mutate("inviteUser", { email: emailOf({ username }), name, delivery: "LINK" });
  const leaving = made.ids.get("sven");
  if (leaving) await owner.mutate("suspendUser", { user: leaving });
  await linkAccount(owner);
  await owner.mutate("sendCustomNotification", {
    content: { title: "Firmware 4.1 is no longer supported", message: "Update before the end of the month." },
  });
  return live!;
}

/** Creates a user as the company's identity provider does, and tries another one that it sends wrongly. */
async function provision(url: string, key: string, username: string): Promise<void> {
  const name = `${username[0]!.toUpperCase()}${username.slice(1)}`;
  const document = {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    userName: username,
    externalId: `directory-${username}`,
    name: { givenName: name, familyName: "Larsen" },
    emails: [{ value: emailOf({ username }), primary: true }],
    active: true,
  };
  const response = await fetch(`${url}/scim/v2/Users`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/scim+json" },
    body: JSON.stringify(document),
  });
  if (!response.ok) throw new Failure(`The identity provider got ${response.status}.`, "SCIM");
}

/** Links the owner's account at the company's Git service, by its device code. */
async function linkAccount(owner: Client): Promise<void> {
  const { device } = await owner.mutate("startExternalAuthDevice", { providerId: "git" }, "device { deviceCode }");
  await owner.mutate("completeExternalAuthDevice", { providerId: "git", deviceCode: device.deviceCode });
}
