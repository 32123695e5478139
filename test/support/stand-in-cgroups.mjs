// Makes the directory in STAND_IN_CGROUPS behave like one of cgroups v2, for the process that imports this first: new
// directories have their files, processes in cgroup.procs are ended by cgroup.kill, and directories go with their files, but
// not while a process is in them. As many processes as STAND_IN_OOM_KILLS says have been ended for memory. What happens is
// written, in order, to a file beside the directory.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join } from "node:path";

const { STAND_IN_CGROUPS: root, STAND_IN_OOM_KILLS: oomKills = "0" } = process.env;
const { mkdirSync, writeFileSync, rmdirSync } = fs;
const isInside = (path) => String(path).startsWith(`${root}/`);
const record = (...words) => writeFileSync(`${root}.log`, `${JSON.stringify(words)}\n`, { flag: "a" });

function isAlive(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    return !"ZX".includes(stat[stat.lastIndexOf(")") + 2]);
  } catch {
    return false;
  }
}

const membersOf = (path) => fs.readFileSync(join(path, "cgroup.procs"), "utf8").match(/\d+/g)?.filter(isAlive) ?? [];

fs.mkdirSync = (path, options) => {
  const made = mkdirSync(path, options);
  if (!isInside(path)) return made;
  record("mkdir", basename(path));
  const files = { "cgroup.procs": "", "cgroup.kill": "", "memory.max": "max\n", "memory.swap.max": "max\n" };
  const others = { "memory.events": `oom 0\noom_kill ${oomKills}\n`, "cpu.max": "max 100000\n", "pids.max": "max\n" };
  const usage = {
    "memory.current": `${300 * 1024 ** 2}\n`,
    "memory.stat": `anon 1\ninactive_file ${100 * 1024 ** 2}\n`,
    "cpu.stat": "usage_usec 5000000\n",
  };
  for (const [name, text] of Object.entries({ ...files, ...others, ...usage })) writeFileSync(join(path, name), text);
  return made;
};
fs.writeFileSync = (path, text, options) => (isInside(path) ? write(path, text) : writeFileSync(path, text, options));

function write(path, text) {
  if (!fs.existsSync(path)) throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
  const directory = dirname(path);
  const name = basename(path);
  // Takes a moment, so that it shows if a program does not wait for it.
  if (name === "cgroup.procs") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  if (name === "cgroup.procs") writeFileSync(path, `${text}\n`, { flag: "a" });
  else if (name === "cgroup.kill") for (const pid of membersOf(directory)) process.kill(Number(pid), "SIGKILL");
  else writeFileSync(path, text);
  record("write", name, text);
}

fs.rmdirSync = (path, options) => {
  if (!isInside(path)) return rmdirSync(path, options);
  if (membersOf(path).length > 0) throw Object.assign(new Error("EBUSY: resource busy"), { code: "EBUSY" });
  fs.rmSync(path, { recursive: true });
  record("rmdir", basename(path));
};
syncBuiltinESMExports();
