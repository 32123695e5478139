// Work of a daemon that drives Terraform: the `source` of a document is its configuration, the state of a build its state.
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { PlainWork } from "./plain-daemon.js";

const run = promisify(execFile);

/** Whether the program is on the PATH. */
export const hasTerraform = spawnSync("terraform", ["version"], { stdio: "ignore" }).status === 0;

/** Applies the configuration, or destroys what it made. Returns the state for the next build. */
export const driveTerraform: PlainWork = async ({ type, assignment: { document, state, transition } }, log) => {
  const cwd = await mkdtemp(join(tmpdir(), "terraform-"));
  const terraform = async (...args: string[]) => {
    const { stdout } = await run("terraform", args, { cwd, env: { ...process.env, CHECKPOINT_DISABLE: "1" } });
    await log(stdout.split("\n").filter(Boolean));
  };
  try {
    await writeFile(join(cwd, "main.tf.json"), JSON.stringify(document.source ?? {}));
    if (state) await writeFile(join(cwd, "terraform.tfstate"), JSON.stringify(state));
    await terraform("init", "-input=false", "-no-color");
    const isBuild = type === "WORKSPACE_BUILD";
    const verb = transition === "DELETE" ? "destroy" : "apply";
    await (isBuild ? terraform(verb, "-auto-approve", "-input=false", "-json") : terraform("validate", "-no-color"));
    if (!isBuild) return undefined;
    return JSON.parse(await readFile(join(cwd, "terraform.tfstate"), "utf8")) as unknown;
  } finally {
    await rm(cwd, { recursive: true });
  }
};
