// Finds the tests that concern what has changed since the branch main. The server that tests start imports all sources, so
// a test concerns a source if it imports it past the server, or if its name begins with that of the area or of the file.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";

/** Tests of what many areas share: each is cheap. */
const shared = ["architecture", "contract/contract", "permissions", "scopes", "rest/locks"].map(
  (name) => `test/${name}.test.ts`,
);
/** Files whose change concerns all tests. */
const concernsAll =
  /^(package(-lock)?\.json|\.mocharc\.json|tools\/ts-loader\.mjs|test\/support\/(app|cluster|hooks|world)\.ts|src\/app\.ts)$/;
/** Files without behavior. */
const concernsNone = /\.md$|^(bench|docs|findings|deploy)\/|^LICENSE$|^\.ci\//;
/** Where the graph ends: the whole program. */
const program = "test/support/app.ts";
/** Folders whose name is no area. */
const layers = new Set([
  "src",
  "clients",
  "domain",
  "graphql",
  "rest",
  "entities",
  "infrastructure",
  "pages",
  "migrations",
  "kernel",
]);

/** Returns those of the test files that concern the changed ones. */
export function concernedBy(project, tests) {
  // The modules of operations are not committed: they change with their operations.
  const changed = changedFiles(project)
    .filter((path) => !concernsNone.test(path))
    .flatMap((path) => (/^clients\/.*\.graphql$/.test(path) ? [path, path.replace(/\.graphql$/, ".gql.ts")] : [path]));
  if (changed.some((path) => concernsAll.test(path))) return tests;
  const found = new Set();
  const reach = new Map(tests.map((test) => [test, reachable(test)]));
  for (const path of changed) {
    const own = tests.filter((test) => reach.get(test).has(path) || namesOf(path).some((name) => isOf(test, name)));
    if (own.length === 0 && /^(src|clients)\//.test(path)) {
      console.log(`${path} has no test of its own: all tests run.`);
      return tests;
    }
    for (const test of own) found.add(test);
    if (/^(src|clients|schema\.graphql)/.test(path))
      for (const test of shared) if (tests.includes(test)) found.add(test);
  }
  return [...found];
}

function changedFiles(project) {
  const git = (...words) => execFileSync("git", words, { cwd: project, encoding: "utf8" }).split("\n").filter(Boolean);
  const main = ["origin/main", "main"].find((name) => {
    try {
      return git("rev-parse", "--verify", "--quiet", name).length > 0;
    } catch {
      return false;
    }
  });
  const base = main ? git("merge-base", "HEAD", main)[0] : "HEAD";
  return [...new Set([...git("diff", "--name-only", base), ...git("ls-files", "--others", "--exclude-standard")])];
}

/** The words that a test of a file may begin with: `src/domain/groups/ai-budgets.ts` → `groups`, `budgets`. */
function namesOf(path) {
  if (!/^(src|clients)\//.test(path)) return [];
  const names = path
    .replace(/\.(test\.)?\w+$/, "")
    .replace(/^clients\/(daemon|agent)\//, "provisioner/$1/")
    .split("/");
  return names.filter((name) => !layers.has(name) && name.length > 2 && name !== "index");
}

function isOf(test, name) {
  const own = basename(test, ".test.ts");
  return own === name || own.startsWith(`${name}-`) || (own.endsWith("s") && own.slice(0, -1) === name);
}

/** The files that a test imports, and those that they import, but for those of the server. */
function reachable(test) {
  const found = new Set();
  const visit = (path) => {
    if (found.has(path)) return;
    found.add(path);
    if (path === program) return;
    for (const next of importsOf(path)) visit(next);
  };
  visit(test);
  return found;
}

const imports = new Map();

/** The files of this project that a file imports or names, such as a script that it starts. */
function importsOf(path) {
  if (!/\.(ts|tsx|mjs)$/.test(path)) return [];
  const known = imports.get(path);
  if (known) return known;
  const text = readFileSync(path, "utf8");
  const imported = [...text.matchAll(/(?:from|import|import\()\s*["'](\.{1,2}\/[^"']+)["']/g)]
    .map(([, specifier]) => normalize(join(dirname(path), specifier)))
    .flatMap((each) => [each, each.replace(/\.js$/, ".ts"), each.replace(/\.js$/, ".tsx")]);
  const named = [...text.matchAll(/["'`/](schema\.graphql|(?:src|clients|test|tools|examples)\/[\w./-]+\.\w+)["'`]/g)];
  const found = [...imported, ...named.map(([, name]) => name)].filter((each) => existsSync(each));
  imports.set(path, found);
  return found;
}
