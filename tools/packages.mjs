// Which packages of package-lock.json an installation needs. Runs on Node 20 and newer, without any package installed.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("..", import.meta.url));

/** The development packages that compiling needs not: they check and test. So do all types. */
const forChecks = new Set([
  "@swc/core",
  "ajv",
  "ajv-formats",
  "chai",
  "graphql-http",
  "mocha",
  "oidc-provider",
  "oxfmt",
  "oxlint",
  "oxlint-tsgolint",
  "scimmy",
  "smtp-server",
  "standardwebhooks",
  "typescript",
]);

/** The names of the packages that compiling and running need. */
export const rootsForBuild = () =>
  rootsOf(["dependencies", "optionalDependencies", "devDependencies"]).filter(
    (name) => !forChecks.has(name) && !name.startsWith("@types/"),
  );

/** The names of the packages that package.json names in some of its lists. Node.js is needed only by an older one. */
export function rootsOf(lists) {
  const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
  const named = lists.flatMap((list) => Object.keys(manifest[list] ?? {}));
  const { optionalDependencies } = lists.includes("devDependencies") && isOldNode() ? nodePackages() : {};
  return [...named.filter((name) => name !== "steward-node"), ...Object.keys(optionalDependencies ?? {})];
}

function nodePackages() {
  return JSON.parse(readFileSync(join(project, "tools/node/package.json"), "utf8"));
}

/** Whether the server does not run on this Node.js: see src/runtime/node-version.ts. */
function isOldNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major < 22 || (major === 22 && minor < 17);
}

/** The paths in the lock file of some packages and of all that they need, as far as npm installs them here. */
export function closure(roots) {
  const { packages } = lockOf(project);
  const found = new Set();
  const add = (name, from) => {
    // Node.js looks beside the package that needs it, and then further up.
    for (let at = from; ; at = at.includes("/node_modules/") ? at.slice(0, at.lastIndexOf("/node_modules/")) : "") {
      const path = at ? `${at}/node_modules/${name}` : `node_modules/${name}`;
      if (packages[path]) return visit(path);
      if (at === "") return undefined;
    }
  };
  const visit = (path) => {
    const entry = packages[path];
    if (found.has(path)) return;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} } = entry;
    const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta[name]?.optional);
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) add(name, path);
  };
  for (const name of roots) add(name, "");
  return [...found];
}

/** The lock file of a directory. Throws if there is none. */
export function lockOf(folder) {
  const path = join(folder, "package-lock.json");
  if (!existsSync(path)) throw new Error(`${folder} has no package-lock.json.`);
  return JSON.parse(readFileSync(path, "utf8"));
}
