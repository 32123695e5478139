// Runs the steps of deploy/Dockerfile in a temporary directory, without a container runtime, and starts the result as an
// unprivileged user with the built-in Postgres. Fails if a step fails, or if the server does not become healthy or does
// not stop. Run as root: node tools/try-image.mjs
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("..", import.meta.url));
const temporary = mkdtempSync(join(tmpdir(), "steward-image-"));
chmodSync(temporary, 0o755);
/** Stands for the user "node" of the image. */
const user = { uid: 65534, gid: 65534 };
/** Seconds that the server has to become healthy. */
const timeout = 60;

/** The directory that stands for the root of each stage. */
const roots = new Map();
const image = { root: "", directory: "/", env: {}, command: [], healthcheck: "" };

const actions = {
  FROM(words) {
    const [, name = "final"] = / AS (\w+)$/.exec(words) ?? [];
    Object.assign(image, { root: join(temporary, name), directory: "/", env: {} });
    roots.set(name, image.root);
    mkdirSync(image.root);
  },
  WORKDIR(path) {
    image.directory = path;
    mkdirSync(inImage(path), { recursive: true });
  },
  ENV(words) {
    for (const [, name, value] of words.matchAll(/(\w+)=(\S+)/g)) image.env[name] = value;
  },
  COPY(words) {
    const [, stage, paths] = /^(?:--from=(\w+) )?(.*)$/.exec(words);
    const target = paths.split(" ").at(-1);
    for (const source of paths.split(" ").slice(0, -1)) {
      const from = stage ? join(roots.get(stage), source) : join(project, source);
      const to = target.endsWith("/") ? join(target, basename(source)) : target;
      cpSync(from, inImage(join(image.directory, to)), { recursive: true });
    }
  },
  RUN(command) {
    const mapped = command
      .replaceAll(/ \/(?=\w)/g, ` ${image.root}/`)
      .replaceAll("node:node", `${user.uid}:${user.gid}`);
    // The settings of npm here, such as its registry and cache, apply.
    const env = { ...process.env, ...image.env, PATH: searchPath };
    execFileSync("/bin/sh", ["-ec", mapped], { cwd: inImage(image.directory), env, stdio: "inherit" });
  },
  HEALTHCHECK(words) {
    image.healthcheck = words.slice(words.indexOf("CMD ") + 4);
  },
  CMD(words) {
    image.command = JSON.parse(words);
  },
  ARG() {},
  USER() {},
  VOLUME() {},
  EXPOSE() {},
  STOPSIGNAL() {},
};

const inImage = (path) => join(image.root, path);

/** The image's Node.js is the one that npm has installed here. */
const searchPath = `${join(project, "node_modules/.bin")}:${process.env.PATH}`;

const size = (path) => execFileSync("du", ["-sh", path], { encoding: "utf8" }).split("\t")[0];

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

async function start() {
  const settings = { STEWARD_PORT: String(await freePort()), STEWARD_DATA_DIR: inImage(image.env.STEWARD_DATA_DIR) };
  const options = { cwd: inImage(image.directory), env: { ...image.env, ...settings, PATH: searchPath }, ...user };
  const [program, ...words] = image.command;
  const server = spawn(program, words, { ...options, stdio: "inherit" });
  const ended = once(server, "exit");
  try {
    for (const deadline = Date.now() + timeout * 1000; !(await isHealthy(options)); await delay(500)) {
      if (server.exitCode !== null || Date.now() > deadline) throw new Error("The server did not become healthy.");
    }
    console.log(
      `Healthy as user ${user.uid}. Packages: ${size(inImage("/steward/node_modules"))}, dist: ${size(inImage("/steward/dist"))}`,
    );
  } finally {
    server.kill("SIGTERM");
  }
  const [status] = await ended;
  if (status !== 0) throw new Error(`The server ended with status ${status}.`);
}

async function isHealthy(options) {
  const probe = spawn("/bin/sh", ["-c", image.healthcheck], { ...options, stdio: "ignore" });
  const [status] = await once(probe, "exit");
  return status === 0;
}

try {
  for (const line of readFileSync(join(project, "deploy/Dockerfile"), "utf8").split("\n")) {
    const [, instruction, words] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (!instruction) continue;
    console.log(line.slice(0, 120));
    const began = performance.now();
    actions[instruction](words);
    const seconds = (performance.now() - began) / 1000;
    if (seconds > 0.1) console.log(`  ${seconds.toFixed(1)} s`);
  }
  await start();
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
