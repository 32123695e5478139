// What a production installation needs: a compiled server, and only the packages that are not bundled into it.
// Looks inside: package.json and the lock file say which packages those are.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, cp, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { ownerPassword } from "../support/app.js";
import { freePort } from "../support/ports.js";
import { type Program, spawnProgram } from "../support/process.js";

interface Locked {
  dev?: boolean;
  link?: boolean;
  os?: string | string[];
  cpu?: string | string[];
}

const parsed = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Record<string, Record<string, never>>;

/** The paths of the packages that `npm ci --omit=dev` installs on this machine. */
function productionPackages(): string[] {
  const { packages } = parsed("package-lock.json") as unknown as { packages: Record<string, Locked> };
  const fits = (wanted: string | string[] | undefined, own: string) =>
    wanted === undefined || [wanted].flat().includes(own);
  return Object.entries(packages)
    .filter(
      ([path, { dev, link, os, cpu }]) =>
        path.startsWith("node_modules/") && !dev && !link && fits(os, process.platform) && fits(cpu, process.arch),
    )
    .map(([path]) => path);
}

const megabytes = (path: string) => Number(execFileSync("du", ["-sm", path], { encoding: "utf8" }).split("\t")[0]);

describe("a production installation", () => {
  let directory: string;
  let server: Program | undefined;
  let url: string;
  const packages = productionPackages();

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "steward-production-")));
    await chmod(directory, 0o755);
    for (const path of ["package.json", "dist", ...packages])
      await cp(path, join(directory, path), {
        recursive: true,
        // Packages in packages are listed themselves; the compile cache is that of another place.
        filter: (source) => !source.slice(path.length).includes("/node_modules") && !source.endsWith("compile-cache"),
      });
    const port = String(await freePort("127.0.0.1"));
    url = `http://localhost:${port}`;
    server = spawnProgram(join(directory, "dist/main.js"), [], {
      STEWARD_PORT: port,
      STEWARD_DATA_DIR: join(directory, "data"),
      STEWARD_ADMIN_EMAIL: "owner@example.com",
      STEWARD_ADMIN_PASSWORD: ownerPassword,
      STEWARD_LOG_LEVEL: "info",
      STEWARD_LOG_FORMAT: "text",
      OTEL_TRACES_EXPORTER: "none",
    });
    await new Promise<void>((resolve, reject) => {
      server!.child.stdout!.on("data", () => server!.output().includes("is running at") && resolve());
      void server!.ended.then(() => reject(new Error(server!.output())));
    });
  });
  after(async () => {
    server?.child.kill("SIGTERM");
    await server?.ended;
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  });

  it("holds fewer than 50 packages and 100 MB, and neither Node.js nor build tools", () => {
    expect(packages.length).to.be.within(5, 50);
    const named = readdirSync(join(directory, "node_modules"));
    expect(named).to.include.members(["argon2", "pino"]);
    expect(named.filter((name) => /^(node-linux|typescript|rolldown|koa|graphql)/.test(name))).to.deep.equal([]);
    expect(existsSync(join(directory, "node_modules/.bin/node"))).to.equal(false);
    expect(megabytes(join(directory, "node_modules"))).to.be.below(100);
  });

  it("keeps all libraries of the project in package.json", () => {
    const manifest = parsed("package.json");
    const libraries = [
      ..."@apollo/server graphql type-graphql reflect-metadata koa @koa/router mikro-orm @mikro-orm/postgresql".split(
        " ",
      ),
      ..."graphql-ws ws argon2 mocha chai".split(" "),
    ];
    expect({ ...manifest.dependencies, ...manifest.devDependencies }).to.include.all.keys(libraries);
  });

  it("serves sign-in, GraphQL, REST, the console, and both explorers", async () => {
    const json = { "Content-Type": "application/json" };
    const signedIn = await fetch(`${url}/api/v2/users/login`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({ email: "owner@example.com", password: ownerPassword }),
    });
    expect(signedIn.status).to.equal(201);
    const { session_token: token } = (await signedIn.json()) as { session_token: string };
    const headers = { ...json, "Service-Session-Token": token };
    const answer = await fetch(`${url}/graphql`, { method: "POST", headers, body: `{"query":"{ me { username } }"}` });
    expect(await answer.json()).to.deep.equal({ data: { me: { username: "admin" } } });
    const groups = await fetch(`${url}/api/v2/groups`, { headers });
    expect([groups.status, ((await groups.json()) as unknown[]).length]).to.deep.equal([200, 1]);

    const cookie = `service_session_token=${token}`;
    const home = await fetch(url, { headers: { cookie, Accept: "text/html" } });
    const [, script] = /<script[^>]* src="([^"]+)"/.exec(await home.text())!;
    const loaded = await fetch(new URL(script!, url));
    expect([home.status, loaded.status, loaded.headers.get("content-type")]).to.satisfy(
      ([page, code, type]: [number, number, string]) => page === 200 && code === 200 && type.includes("javascript"),
    );
    for (const path of ["/docs", "/graphql"]) {
      const page = await (await fetch(url + path, { headers: { Accept: "text/html" } })).text();
      const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, asset]) => asset!);
      expect(assets.length, path).to.be.greaterThan(2);
      for (const asset of assets) expect((await fetch(url + asset)).status, asset).to.equal(200);
    }
    expect((await fetch(`${url}/login`)).status).to.equal(200);
  });
});
