// The package that `npm pack` makes, unpacked outside of the clone.
// Looks inside: package.json and the lock file say which packages npm would install with it.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type Ended } from "../support/cli.js";
import { spawnProgram } from "../support/process.js";
import { type Person, startWorld, type World } from "../support/world.js";

interface Manifest {
  version: string;
  bin: { steward: string };
  dependencies: Record<string, string>;
}
type Lock = Record<string, { dependencies?: Record<string, string> }>;

const manifestIn = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** The packages that the dependencies of the package need. */
function dependencies(): string[] {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Lock };
  const found = new Set<string>();
  const add = (names: string[]) => {
    for (const name of names)
      if (!found.has(name) && packages[`node_modules/${name}`]) {
        found.add(name);
        add(Object.keys(packages[`node_modules/${name}`]!.dependencies ?? {}));
      }
  };
  add(Object.keys(manifestIn(".").dependencies));
  return [...found];
}

describe("the package of npm pack", () => {
  let directory: string;
  let installed: string;
  let manifest: Manifest;

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "steward-packed-")));
    // Compiled before: the script that compiles it would replace the program under test.
    execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", directory], { stdio: "ignore" });
    const [archive] = readdirSync(directory);
    execFileSync("tar", ["-xzf", join(directory, archive!), "-C", directory]);
    // As `npm install --global` places it and its dependencies.
    installed = join(directory, "lib/node_modules/steward");
    await mkdir(join(directory, "bin"));
    await cp(join(directory, "package"), installed, { recursive: true });
    for (const name of dependencies())
      await cp(join("node_modules", name), join(installed, "node_modules", name), { recursive: true });
    manifest = manifestIn(installed);
    await symlink(join(installed, manifest.bin.steward), join(directory, "bin/steward"));
  });
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));

  /** Runs the program as installed, elsewhere. */
  async function steward(words: string[], settings: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const program = spawnProgram(join(directory, "bin/steward"), words, { HOME: directory, ...settings });
    return { status: await program.ended, stdout: program.stdout(), stderr: program.stderr() };
  }

  it("has no sources, and needs the packages that are not bundled alone", () => {
    expect(existsSync(join(installed, "src"))).to.equal(false);
    expect(existsSync(join(installed, "dist/cli/main.js"))).to.equal(true);
    expect(Object.keys(manifest.dependencies)).to.have.members(["argon2", "pino", "pino-pretty"]);
  });

  it("has a program that works outside of a clone", async () => {
    const { status, stdout } = await steward(["--help"]);
    expect([status, stdout]).to.satisfy(
      ([code, text]: [number, string]) => code === 0 && text.includes("workspaces list"),
    );
    const w: World = await startWorld();
    try {
      const ada: Person = await w.user("ada");
      const seen = await steward(["whoami", "--json"], { STEWARD_URL: w.url, STEWARD_TOKEN: ada.token });
      expect([seen.status, seen.stderr]).to.deep.equal([0, ""]);
      expect(seen.stdout).to.contain(ada.username);
    } finally {
      await w.close();
    }
  });
});
