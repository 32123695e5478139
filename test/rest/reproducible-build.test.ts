// The compiled program depends on the sources and the lock file alone, not on what else is installed.
// Looks inside: the build runs in a copy of the project, and its files are compared.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { closure, rootsForBuild } from "../../tools/packages.mjs";
import { spawnProgram } from "../support/process.js";

/** The fingerprint of each file of a build, by its path. The note of the commit, and what servers keep there, are none. */
function filesOf(folder: string): Record<string, string> {
  const paths = (readdirSync(folder, { recursive: true }) as string[])
    .filter((path) => !/^(commit|compile-cache)/.test(path) && statSync(join(folder, path)).isFile())
    .toSorted();
  const hash = (path: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, path)))
      .digest("hex");
  return Object.fromEntries(paths.map((path) => [path, hash(path)]));
}

describe("the build", () => {
  it("is the same with all packages and with the few that it needs, wherever it runs", async () => {
    const copy = await mkdtemp(join(tmpdir(), "steward-build-"));
    try {
      const manifests = ["package.json", "package-lock.json", "tsconfig.json", "schema.graphql", "input-values.json"];
      const inputs = [...manifests, "tools", "src", "clients", "examples"];
      // As in a fresh clone, without the modules of operations.
      const filter = (path: string) => !path.endsWith(".gql.ts");
      await Promise.all(inputs.map((path) => cp(path, join(copy, path), { recursive: true, filter })));
      // Packages in packages are listed themselves, and those of other platforms are not installed.
      for (const path of closure(rootsForBuild()).filter((each) => existsSync(each)))
        await cp(path, join(copy, path), {
          recursive: true,
          filter: (source) => !source.slice(path.length).includes("/node_modules"),
        });
      const { ended, output } = spawnProgram(join(copy, "tools/build.mjs"), [], {});
      expect(await ended, output()).to.equal(0);
      const here = filesOf("dist");
      const there = filesOf(join(copy, "dist"));
      expect(Object.keys(there)).to.deep.equal(Object.keys(here));
      expect(Object.keys(here).length).to.be.above(50);
      expect(Object.keys(here).filter((path) => here[path] !== there[path])).to.deep.equal([]);
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  });
});
