// Looks inside: commands run in this process, since each process takes a second.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { CheckFailed, UsageError } from "../../../src/runtime/command-line.js";
import { licenseCommands } from "../../../src/cli/licenses.js";
import { claimFaults } from "../../../src/domain/licenses/claims.js";
import { readToken } from "../../../src/domain/licenses/token.js";
import { madeUp, now, Vendor } from "../../support/licensing.js";
import { command } from "../../support/process.js";
import { startWorld } from "../../support/world.js";

const day = 86_400;

describe("the license commands", function () {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "steward-vendor-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  // The database does not exist, since these commands need none.
  const asProcess = (...words: string[]) =>
    command({ STEWARD_DATABASE_URL: "postgres://nobody@localhost:1/none" }, "license", ...words);

  /** Runs a command in this process. */
  const done = (verb: string, ...words: string[]) => licenseCommands[`license ${verb}`]!.run(words);

  const failure = (verb: string, ...words: string[]): Promise<Error> =>
    done(verb, ...words).then(
      (output) => Promise.reject(new Error(`It succeeded: ${output}`)),
      (error: Error) => error,
    );

  const at = (name: string) => join(folder, name);
  const keygen = (kid: string) => done("keygen", "--kid", kid, "--out", folder);
  const noKeygen = (kid: string) => failure("keygen", "--kid", kid, "--out", folder);
  const signed = (...words: string[]) => ["--key", at("license-k1.pem"), "--kid", "k1", ...words];
  const issue = (...words: string[]) => done("issue", ...signed("--account-id", "acme", ...words));
  const keys = () => JSON.parse(readFileSync(at("license-keys.json"), "utf8")).keys as Array<Record<string, unknown>>;

  before(async () => {
    await keygen("k1");
  });

  it("generate keys, each in its own file that is never overwritten, and collect their public keys", async () => {
    const pem = await readFile(at("license-k1.pem"), "utf8");
    expect(pem).to.match(/^-----BEGIN PRIVATE KEY-----\n/);
    expect(statSync(at("license-k1.pem")).mode & 0o777).to.equal(0o600);

    expect((await noKeygen("k1")).message).to.match(/already has a key "k1"/);
    await writeFile(at("license-k3.pem"), "precious");
    expect((await noKeygen("k3")).message).to.match(/license-k3\.pem cannot be written \(EEXIST\)/);
    expect(await readFile(at("license-k3.pem"), "utf8")).to.equal("precious");
    expect(await readFile(at("license-k1.pem"), "utf8")).to.equal(pem);

    await keygen("k2");
    expect(keys().map(({ kid }) => kid)).to.deep.equal(["k1", "k2"]);
    for (const key of keys()) expect(Object.keys(key)).to.have.members(["kty", "crv", "x", "kid"]);
    for (const kid of ["../k", ".", "k 4", "x".repeat(65)])
      expect(await noKeygen(kid), kid).to.be.instanceOf(UsageError);
  });

  it("issue a license with the claims given by the options", async () => {
    const token = readToken(await issue("--days", "10"))!;
    expect(token.header).to.deep.equal({ alg: "EdDSA", typ: "steward-license+jwt", kid: "k1" });
    expect(claimFaults(token.claims)).to.deep.equal([]);
    const { jti, iat, ...usual } = token.claims as { jti: string; iat: number };
    expect(jti).to.match(/^[0-9a-f-]{36}$/);
    expect(iat).to.be.within(now() - 60, now());
    expect(usual).to.deep.equal({
      iss: "steward",
      version: 1,
      nbf: iat,
      license_expires: iat + 10 * day,
      exp: iat + 40 * day,
      account_type: "direct",
      account_id: "acme",
      feature_set: "premium",
      features: {},
    });

    const start = new Date((now() + day) * 1000).toISOString();
    const end = new Date((now() + 9 * day) * 1000).toISOString();
    const said =
      "--account-type reseller --grace-days 0 --feature-set enterprise --feature user_limit=25 --feature scim=0 --deployment-id d1 --deployment-id d2 --email ada@example.com --trial --require-telemetry";
    const full = readToken(await issue("--expires", end, "--not-before", start, ...said.split(" ")))!.claims;
    expect(full).to.deep.include({
      nbf: Math.floor(Date.parse(start) / 1000),
      license_expires: Math.floor(Date.parse(end) / 1000),
      exp: Math.floor(Date.parse(end) / 1000),
      account_type: "reseller",
      feature_set: "enterprise",
      features: { user_limit: 25, scim: 0 },
      deployment_ids: ["d1", "d2"],
      sub: "ada@example.com",
      trial: true,
      require_telemetry: true,
    });
    const later = readToken(await issue("--days", "5", "--not-before", start))!.claims;
    expect(later.license_expires, "days count from the beginning of the term").to.equal(Number(later.nbf) + 5 * day);
  });

  it("reject options that would result in an invalid license", async () => {
    const mistakes: Array<[words: string, says: RegExp]> = [
      ["--account-id a", /Specify either --days or --expires/],
      ["--account-id a --days 1 --expires 2030-01-01T00:00:00Z", /Specify either --days or --expires/],
      ["--days 1", /Missing required options: --account-id/],
      ["--account-id a --days 0", /license_expires must be after nbf/],
      [
        "--account-id a --days 1900 --email none --feature-set gold",
        /sub must be.*\nfeature_set must be.*\nlicense_expires must be at most 5 years/,
      ],
      ["--account-id a --days -1", /--days/],
      ["--account-id a --days x", /--days must be a whole number/],
      ["--account-id a --expires tomorrow", /--expires must be a time/],
      ["--account-id a --days 1 --feature teleportation=1", /--feature must be NAME=N/],
      ["--account-id a --days 1 --feature scim", /--feature must be NAME=N/],
      ["--account-id a --days 1 --color red", /Unknown option "--color"/],
    ];
    for (const [words, says] of mistakes)
      expect((await failure("issue", ...signed(...words.split(" ")))).message, words).to.match(says);
    const byKey = (name: string) => ["--key", at(name), "--kid", "k1", "--account-id", "a", "--days", "1"];
    expect((await failure("issue", ...byKey("license-keys.json"))).message).to.match(/must be an Ed25519 private key/);
    expect((await failure("issue", ...byKey("nowhere"))).message).to.match(/nowhere cannot be read \(ENOENT\)/);
  });

  it("print the claims of a license and whether it is valid", async () => {
    const token = await issue("--days", "10");
    const [header, claims] = token.split(".");
    const expired = await new Vendor().license({ exp: now() - 1 });
    const byKeys = ["--keys", at("license-keys.json")];
    const good = await done("inspect", token, ...byKeys);
    expect(good)
      .to.include('"account_id": "acme"')
      .and.match(/\nValid\. The license is valid from \S+Z to \S+Z, with a grace period until \S+Z\.$/);
    expect(await done("inspect", token)).to.match(
      /\nValid, but the signature was not verified: specify --keys\. The license is valid/,
    );

    const forged = `${header}.${claims}.${Buffer.alloc(64, 1).toString("base64url")}`;
    const bad: Array<[says: RegExp, ...words: string[]]> = [
      [/\nInvalid\.\nThe signature does not fit\.$/, forged, ...byKeys],
      [/\nInvalid\.\nThe algorithm must be/, madeUp({ iss: "steward" })],
      [/\nInvalid\.\nThe license has expired\.$/, expired],
      [/^Not a license\.\nMust be a license as a JWT/, "a.b"],
    ];
    for (const [says, ...words] of bad) {
      const error = await failure("inspect", ...words);
      expect(error).to.be.instanceOf(CheckFailed);
      expect(error.message).to.match(says);
    }
    expect((await failure("inspect")).message).to.match(/Specify one license/);
    expect((await failure("inspect", token, "--keys", at("license-k1.pem"))).message).to.match(/must be a JWKS/);
  });

  it("print to standard output, need no database, and report an invalid license by the exit status", async () => {
    const good = await issue("--days", "10");
    const [kept, refused, misused] = await Promise.all([
      asProcess("inspect", good),
      asProcess("inspect", "a.b"),
      asProcess("issue", "--days", "1"),
    ]);
    expect(kept).to.deep.include({ status: 0, stderr: "" });
    expect(kept.stdout).to.match(/^\{[^]*\}\nValid/);
    expect(refused).to.deep.include({ status: 1, stderr: "" });
    expect(refused.stdout).to.match(/^Not a license\./);
    expect(misused).to.deep.include({ status: 2, stdout: "" });
    expect(misused.stderr).to.match(/^Missing required options: --key, --kid, --account-id\.\n.*--help\n$/);
  });

  it("read a license from standard input", async () => {
    const token = await issue("--days", "10");
    const words = ["--import", "./tools/ts-loader.mjs", "src/cli/main.ts", "license", "inspect", "-"];
    const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    child.stdin.end(`${token}\n`);
    expect((await once(child, "close"))[0]).to.equal(0);
    expect(printed).to.include('"account_id": "acme"');
  });

  it("issue licenses that a server with their keys accepts", async () => {
    const w = await startWorld({ STEWARD_LICENSE_KEYS_FILE: at("license-keys.json") });
    try {
      const create = (name: string) => w.as(w.owner).post("/api/v2/organizations/default/groups", { name });
      const add = (license: string) => w.as(w.owner).post("/api/v2/licenses", { license });
      expect(await add(await issue("--days", "10", "--feature", "template_rbac=0"))).to.include({ status: 201 });
      expect((await create("crew")).body.message).to.equal("template_rbac is not licensed on this deployment.");
      expect(await add(await issue("--days", "10"))).to.include({ status: 201 });
      expect(await create("crew")).to.include({ status: 201 });
    } finally {
      await w.close();
    }
  });
});
