// Programs of Debian, unpacked from their packages without being installed.
import { execFile } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** Rejects with the reason if the packages cannot be had, as on machines whose packages come from elsewhere. */
export async function unpack(release, names, directory) {
  await download(release, names, directory);
  for (const file of readdirSync(directory).filter((name) => name.endsWith(".deb")))
    await run("dpkg", ["-x", join(directory, file), directory]);
}

/** Downloads packages from the mirror of Debian that this machine uses, with lists of packages apart from its own. */
async function download(release, names, directory) {
  const targets = ["Created-By: Packages", "Origin: Debian", "Component: main"];
  const { stdout } = await run("apt-get", ["indextargets", "--format", "$(REPO_URI)", ...targets]);
  const [mirror] = stdout.split("\n");
  if (!mirror) throw new Error("This machine has no mirror of Debian.");
  const sources = join(directory, "sources.list");
  writeFileSync(sources, `deb ${existsSync(keyring) ? `[signed-by=${keyring}] ` : ""}${mirror} ${release} main\n`);
  const folders = { "Dir::State::lists": join(directory, "lists"), "Dir::Cache": join(directory, "cache") };
  for (const folder of Object.values(folders)) await mkdir(folder);
  const options = Object.entries({ ...folders, "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "/dev/null" });
  const apart = options.flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  // An unreachable mirror is a warning otherwise.
  await run("apt-get", [...apart, "-o", "APT::Update::Error-Mode=any", "update"], { cwd: directory });
  await run("apt-get", [...apart, "download", ...names], { cwd: directory });
}
