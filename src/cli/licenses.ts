// Commands for license vendors. None of them needs a database.
import { createPrivateKey, type KeyObject } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text as everything } from "node:stream/consumers";
import type { parseArgs } from "node:util";
import { featureNames } from "../domain/entitlements/features.js";
import { quote } from "../domain/kernel/errors.js";
import { newId } from "../domain/kernel/ids.js";
import { claimFaults, type LicenseClaims } from "../domain/licenses/claims.js";
import { newLicenseKey, signLicense } from "../domain/licenses/issuing.js";
import { licenseKeysRule, readLicenseKeys } from "../domain/licenses/license-keys.js";
import { type LicenseToken, readToken, tokenRule } from "../domain/licenses/token.js";
import { contentFaults, headerFaults, verifyLicense } from "../domain/licenses/verification.js";
import { utcMoment } from "../runtime/text.js";
import { withoutEdges } from "../runtime/pasted.js";
import { jsonOf } from "../runtime/terminal.js";
import { CheckFailed, type Command, parseWords, requireOptions, UsageError } from "../runtime/command-line.js";
import { instantOf } from "../runtime/clock.js";

const string = { type: "string" } as const;
const strings = { type: "string", multiple: true } as const;
const flag = { type: "boolean" } as const;

const keygen: Command = {
  usage: "license keygen --kid K --out DIR",
  summary: "Generate a signing key: the private key in license-K.pem, the public key added to license-keys.json.",
  options: [
    ["--kid K", "Name of the key: letters, digits, hyphens, underscores, and dots."],
    ["--out DIR", "Directory of the files. It is created if necessary."],
  ],
  run: async (words) => {
    const { values } = parseWords({ args: words, options: { kid: string, out: string } });
    requireOptions(values, "kid", "out");
    const { kid, out } = values as Record<"kid" | "out", string>;
    if (!/^[\w-][\w.-]{0,63}$/.test(kid))
      throw new UsageError("--kid must be 1 to 64 letters, digits, hyphens, underscores and dots.");
    const privateFile = join(out, `license-${kid}.pem`);
    const publicFile = join(out, "license-keys.json");
    const { keys } = await publicKeysIn(publicFile);
    if (keys.some((key) => key.kid === kid)) throw new UsageError(`${publicFile} already has a key ${quote(kid)}.`);

    const { pem, jwk } = newLicenseKey(kid);
    await mkdir(out, { recursive: true }).catch(explain(out, "created"));
    await writeFile(privateFile, pem, { mode: 0o600, flag: "wx" }).catch(explain(privateFile, "written"));
    await replace(publicFile, `${JSON.stringify({ keys: [...keys, jwk] }, null, 2)}\n`);
    return `Private key: ${privateFile}. Keep it secret.\nPublic keys: ${publicFile}. Set STEWARD_LICENSE_KEYS_FILE to it.`;
  },
};

interface PublicKeys {
  keys: Array<Record<string, unknown>>;
}

/** Reads the public keys generated so far; none if the file does not exist. */
async function publicKeysIn(path: string): Promise<PublicKeys> {
  const content = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) =>
    error.code === "ENOENT" ? undefined : explain(path, "read")(error),
  );
  if (content === undefined) return { keys: [] };
  if (!readLicenseKeys(content)) throw new UsageError(`${path} must be ${licenseKeysRule}.`);
  return JSON.parse(content) as PublicKeys;
}

/** Replaces a file atomically: concurrent readers see either the old or the new content. */
async function replace(path: string, content: string): Promise<void> {
  const beside = `${path}.${process.pid}`;
  await writeFile(beside, content);
  await rename(beside, path);
}

const issue: Command = {
  usage: "license issue --key FILE --kid K --account-id A (--days N | --expires TIME)",
  summary: "Issue a license and print it.",
  options: [
    ["--key FILE", "Private key that signs the license."],
    ["--kid K", "Name of the key."],
    ["--account-id A", "Account of the customer."],
    ["--account-type T", "Type of the account. Default: direct."],
    ["--days N, --expires TIME", "Term of the license: days from its start, or its end."],
    ["--not-before TIME", "Start of the term. Default: now."],
    ["--grace-days N", "Days after the end for which the license still works. Default: 30."],
    ["--feature-set S", "Set of features. Default: premium."],
    ["--feature NAME=N", "A feature and its amount. Repeatable."],
    ["--deployment-id ID", "A deployment that may use the license. Repeatable. Default: any."],
    ["--email E", "Contact of the customer."],
    ["--trial", "Marks a trial."],
    ["--require-telemetry", "Requires telemetry."],
  ],
  run: async (words) => {
    const { values } = parseWords({ args: words, options: issueOptions });
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

/** Converts the options to claims and omits claims without an option. Times are in seconds since the epoch. */
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
    ...(email !== undefined && { sub: withoutEdges(email) }),
    ...(trial && { trial }),
    ...(values["require-telemetry"] && { require_telemetry: true }),
  };
}

/** Returns the end of the licensed term, before the grace period. */
function endOf({ days, expires }: IssueOptions, begins: number): number {
  if ((days === undefined) === (expires === undefined)) throw new UsageError("Specify either --days or --expires.");
  return days === undefined ? timeOf("expires", expires!) : begins + daysOf("days", days) * day;
}

function daysOf(option: string, text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new UsageError(`--${option} must be a whole number of days.`);
  return Number(text);
}

function timeOf(option: string, text: string): number {
  const moment = utcMoment(text);
  if (!moment) throw new UsageError(`--${option} must be a time such as 2030-01-31T00:00:00Z.`);
  return Math.floor(instantOf(moment) / 1000);
}

function featureOf(text: string): [name: string, amount: number] {
  const [, name, amount] = /^(\w+)=(\d{1,10})$/.exec(text) ?? [];
  if (!(featureNames as readonly (string | undefined)[]).includes(name))
    throw new UsageError(`--feature must be NAME=N, where NAME is one of ${featureNames.join(", ")}.`);
  return [name!, Number(amount)];
}

async function privateKeyIn(path: string): Promise<KeyObject> {
  const pem = await readFile(path, "utf8").catch(explain(path, "read"));
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${path} must be an Ed25519 private key in PEM form.`);
}

const inspect: Command = {
  usage: "license inspect TOKEN|- [--keys FILE]",
  summary: "Print the claims of a license and check them; with --keys, also verify the signature.",
  options: [["--keys FILE", "Public keys, such as license-keys.json."]],
  run: async (words) => {
    const { values, positionals } = parseWords({ args: words, options: { keys: string }, allowPositionals: true });
    if (positionals.length !== 1) throw new UsageError("Specify one license, or - to read it from standard input.");
    const given = positionals[0] === "-" ? await everything(process.stdin) : positionals[0]!;
    const { claims, faults, verdict } = await judge(withoutEdges(given), values.keys);
    const output = [...(claims ? [jsonOf(claims, 2)] : []), verdict, ...faults].join("\n");
    if (faults.length > 0) throw new CheckFailed(output);
    return output;
  },
};

interface Judgment {
  claims?: LicenseToken["claims"];
  faults: string[];
  verdict: string;
}

async function judge(text: string, keysFile: string | undefined): Promise<Judgment> {
  const token = readToken(text);
  if (!token) return { faults: [`Must be ${tokenRule}.`], verdict: "Not a license." };
  const now = Date.now();
  const faults = keysFile
    ? ((await verifyLicense(text, await keysIn(keysFile), now)).faults ?? [])
    : [...headerFaults(token), ...contentFaults(token, now)];
  const { claims } = token;
  if (faults.length > 0) return { claims, faults, verdict: "Invalid." };
  return {
    claims,
    faults,
    verdict: `${keysFile ? "Valid" : "Valid, but the signature was not verified: specify --keys"}. ${termOf(token)}`,
  };
}

function termOf({ claims }: LicenseToken): string {
  const { nbf, exp, license_expires: end } = claims as unknown as LicenseClaims;
  const [from, until, over] = [nbf, end, exp].map((second) => new Date(second * 1000).toISOString());
  return `The license is valid from ${from} to ${until}, with a grace period until ${over}.`;
}

async function keysIn(path: string) {
  const keys = readLicenseKeys(await readFile(path, "utf8").catch(explain(path, "read")));
  if (!keys) throw new UsageError(`${path} must be ${licenseKeysRule}.`);
  return keys;
}

const explain =
  (path: string, done: "read" | "created" | "written") =>
  ({ code }: NodeJS.ErrnoException): never => {
    throw new UsageError(`${path} cannot be ${done} (${code}).`);
  };

export const licenseCommands: Record<string, Command> = {
  "license keygen": keygen,
  "license issue": issue,
  "license inspect": inspect,
};
