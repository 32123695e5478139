// What those do who sell licences. None of it needs a database.
import { createPrivateKey, type KeyObject } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text as everything } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { featureNames } from "../domain/entitlements/features.js";
import { quote } from "../domain/kernel/errors.js";
import { newId } from "../domain/kernel/ids.js";
import { claimFaults, type LicenseClaims } from "../domain/licenses/claims.js";
import { newLicenseKey, signLicense } from "../domain/licenses/issuing.js";
import { licenseKeysRule, readLicenseKeys } from "../domain/licenses/keys.js";
import { type LicenseToken, readToken, tokenRule } from "../domain/licenses/token.js";
import { contentFaults, headerFaults, verifyLicense } from "../domain/licenses/verification.js";
import { utcMoment } from "../domain/kernel/text.js";
import { BadNews, type Command, requireOptions, UsageError } from "./command.js";

const string = { type: "string" } as const;
const strings = { type: "string", multiple: true } as const;
const flag = { type: "boolean" } as const;

const keygen: Command = {
  usage: "license keygen --kid K --out DIR",
  does: "Make a key to sign licenses with: license-K.pem, and its public half in license-keys.json.",
  run: async (words) => {
    const { values } = parseArgs({ args: words, options: { kid: string, out: string } });
    requireOptions(values, "kid", "out");
    const { kid, out } = values as Record<"kid" | "out", string>;
    if (!/^[\w-][\w.-]{0,63}$/.test(kid))
      throw new UsageError("--kid must be 1 to 64 letters, digits, hyphens, underscores and dots.");
    const [privateFile, publicFile] = [join(out, `license-${kid}.pem`), join(out, "license-keys.json")];
    const { keys } = await publicKeysIn(publicFile);
    if (keys.some((key) => key.kid === kid)) throw new UsageError(`${publicFile} has a key ${quote(kid)} already.`);

    const { pem, jwk } = newLicenseKey(kid);
    await mkdir(out, { recursive: true }).catch(explain(out, "made"));
    await writeFile(privateFile, pem, { mode: 0o600, flag: "wx" }).catch(explain(privateFile, "written"));
    await replace(publicFile, `${JSON.stringify({ keys: [...keys, jwk] }, null, 2)}\n`);
    return `${privateFile} signs licenses: keep it to yourself.\n${publicFile} is for STEWARD_LICENSE_KEYS.`;
  },
};

interface PublicKeys {
  keys: Array<Record<string, unknown>>;
}

/** The keys that are there so far. */
async function publicKeysIn(path: string): Promise<PublicKeys> {
  const content = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) =>
    error.code === "ENOENT" ? undefined : explain(path, "read")(error),
  );
  if (content === undefined) return { keys: [] };
  if (!readLicenseKeys(content)) throw new UsageError(`${path} must be ${licenseKeysRule}.`);
  return JSON.parse(content) as PublicKeys;
}

/** Whoever reads the file meanwhile reads all of the old or all of the new. */
async function replace(path: string, content: string): Promise<void> {
  const beside = `${path}.${process.pid}`;
  await writeFile(beside, content);
  await rename(beside, path);
}

const issue: Command = {
  usage: "license issue --key FILE --kid K --account-id A (--days N | --expires TIME)",
  does: [
    "Print a license. And: --account-type direct, --not-before TIME, --grace-days 30, --feature-set premium,",
    "--feature NAME=N (often), --deployment-id ID (often), --email E, --trial, --require-telemetry.",
  ].join(" "),
  run: async (words) => {
    const { values } = parseArgs({ args: words, options: issueOptions });
    requireOptions(values, "key", "kid", "account-id");
    const key = await privateKeyIn(values.key!);
    const claims = claimsOf(values, Math.floor(Date.now() / 1000));
    const faults = claimFaults({ ...claims });
    if (faults.length > 0) throw new UsageError(faults.join("\n"));
    return signLicense(claims, values.kid!, key);
  },
};

const issueOptions = {
  key: string,
  kid: string,
  "account-id": string,
  "account-type": { ...string, default: "direct" },
  days: string,
  expires: string,
  "not-before": string,
  "grace-days": { ...string, default: "30" },
  "feature-set": { ...string, default: "premium" },
  feature: strings,
  "deployment-id": strings,
  email: string,
  trial: flag,
  "require-telemetry": flag,
};

type IssueOptions = ReturnType<typeof parseArgs<{ options: typeof issueOptions }>>["values"];

const day = 86_400;

/** What the options say; what none of them says is left out. Times in seconds since the epoch. */
function claimsOf(values: IssueOptions, now: number): LicenseClaims {
  const { "not-before": start, feature = [], "deployment-id": ids, email, trial } = values;
  const begins = start === undefined ? now : timeOf("not-before", start);
  const ends = endOf(values, begins);
  return {
    iss: "steward",
    version: 1,
    jti: newId(),
    iat: now,
    nbf: begins,
    exp: ends + daysOf("grace-days", values["grace-days"]) * day,
    license_expires: ends,
    account_type: values["account-type"],
    account_id: values["account-id"]!,
    feature_set: values["feature-set"],
    features: Object.fromEntries(feature.map(featureOf)),
    ...(ids && { deployment_ids: ids }),
    ...(email !== undefined && { sub: email }),
    ...(trial && { trial }),
    ...(values["require-telemetry"] && { require_telemetry: true }),
  };
}

/** The end of the paid term. */
function endOf({ days, expires }: IssueOptions, begins: number): number {
  if ((days === undefined) === (expires === undefined)) throw new UsageError("Give either --days or --expires.");
  return days === undefined ? timeOf("expires", expires!) : begins + daysOf("days", days) * day;
}

function daysOf(option: string, text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new UsageError(`--${option} must be a whole number of days.`);
  return Number(text);
}

function timeOf(option: string, text: string): number {
  const moment = utcMoment(text);
  if (!moment) throw new UsageError(`--${option} must be a time such as 2030-01-31T00:00:00Z.`);
  return Math.floor(Date.parse(moment) / 1000);
}

function featureOf(text: string): [name: string, amount: number] {
  const [, name, amount] = /^(\w+)=(\d{1,10})$/.exec(text) ?? [];
  if (!(featureNames as readonly (string | undefined)[]).includes(name))
    throw new UsageError(`--feature must be NAME=N, where the name is one of ${featureNames.join(", ")}.`);
  return [name!, Number(amount)];
}

async function privateKeyIn(path: string): Promise<KeyObject> {
  const pem = await readFile(path, "utf8").catch(explain(path, "read"));
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // Below.
  }
  throw new UsageError(`${path} must be an Ed25519 private key in PEM form.`);
}

const inspect: Command = {
  usage: "license inspect TOKEN|- [--keys FILE]",
  does: "Print what a license says and whether it is good; with the public keys, whether it is genuine, too.",
  run: async (words) => {
    const { values, positionals } = parseArgs({ args: words, options: { keys: string }, allowPositionals: true });
    if (positionals.length !== 1) throw new UsageError("Give one license, or - to read it from standard input.");
    const given = positionals[0] === "-" ? await everything(process.stdin) : positionals[0]!;
    const { claims, faults, verdict } = await judge(given.trim(), values.keys);
    const answer = [...(claims ? [JSON.stringify(claims, null, 2)] : []), verdict, ...faults].join("\n");
    if (faults.length > 0) throw new BadNews(answer);
    return answer;
  },
};

interface Judgement {
  claims?: LicenseToken["claims"];
  faults: string[];
  verdict: string;
}

async function judge(text: string, keysFile: string | undefined): Promise<Judgement> {
  const token = readToken(text);
  if (!token) return { faults: [`Must be ${tokenRule}.`], verdict: "Not a license." };
  const now = Date.now();
  const faults = keysFile
    ? ((await verifyLicense(text, await keysIn(keysFile), now)).faults ?? [])
    : [...headerFaults(token), ...contentFaults(token, now)];
  const { claims } = token;
  if (faults.length > 0) return { claims, faults, verdict: "Bad." };
  return {
    claims,
    faults,
    verdict: `${keysFile ? "Genuine" : "Good, if it is genuine: see --keys"}. ${termOf(token)}`,
  };
}

function termOf({ claims }: LicenseToken): string {
  const { nbf, exp, license_expires: end } = claims as unknown as LicenseClaims;
  const [from, until, over] = [nbf, end, exp].map((second) => new Date(second * 1000).toISOString());
  return `It counts from ${from} until ${until}, with grace until ${over}.`;
}

async function keysIn(path: string) {
  const keys = readLicenseKeys(await readFile(path, "utf8").catch(explain(path, "read")));
  if (!keys) throw new UsageError(`${path} must be ${licenseKeysRule}.`);
  return keys;
}

const explain =
  (path: string, done: "read" | "made" | "written") =>
  ({ code }: NodeJS.ErrnoException): never => {
    throw new UsageError(`${path} cannot be ${done} (${code}).`);
  };

export const licenseCommands: Record<string, Command> = {
  "license keygen": keygen,
  "license issue": issue,
  "license inspect": inspect,
};
