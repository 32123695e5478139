import { randomUUID } from "node:crypto";
import { type Client, Failure } from "./client.js";
import * as company from "./company.js";
import { type Company, together } from "./fill.js";
import type { LivedDay } from "./past.js";

const day = 86_400_000;

/** Whether a day is on a weekend. */
const isFree = (date: number) => [0, 6].includes(new Date(date).getUTCDay());

/** Numbers from 0 to 1 that are the same for each demonstration. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

/**
 * Lives the days before today, each within a moment: people join and sign in, start and stop their workspaces, and give
 * tasks to the assistant. Returns when each day began and ended.
 */
export async function liveMonth(made: Company, count: number): Promise<LivedDay[]> {
  const random = sequence(7);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const today = Math.floor(Date.now() / day) * day;
  const dates = Array.from({ length: count }, (_, at) => today - (count - at) * day);
  const pool = [...company.workspaces, ...company.boardWorkspaces];
  const running = new Set<string>();
  const lived: LivedDay[] = [];
  const newcomers = [...company.newcomers];
  const tasks = [...company.pastTasks];
  const everybody = [...company.people];

  /** One person of the company gets in, perhaps only at the second attempt. */
  async function signIn(username: string, isWrongFirst: boolean): Promise<void> {
    const login = (password: string) => made.owner.mutate("login", { email: company.emailOf({ username }), password });
    if (isWrongFirst) await login("not-the-password").catch(expectFailure);
    await login(made.password);
  }

  async function turn(workspace: company.DemoWorkspace): Promise<void> {
    const { owner, name } = workspace;
    const key = `${owner}/${name}`;
    const id = made.workspaces.get(key);
    if (!id) return void (await made.addWorkspace(workspace), running.add(key));
    const isStart = !running.has(key);
    const status = await made.turn(owner, id, isStart ? "startWorkspace" : "stopWorkspace");
    if (status === "RUNNING") running.add(key);
    else running.delete(key);
  }

  for (const [at, date] of dates.entries()) {
    made.report("Days", at, count);
    const from = Date.now();
    const isLast = at === count - 1;
    const people = isFree(date) ? [pick(everybody)] : everybody.filter(() => random() < 0.4);
    const acts: Array<() => Promise<unknown>> = people.map(({ username }) => {
      const isWrongFirst = random() < 0.15;
      return () => signIn(username, isWrongFirst);
    });
    const joining = isFree(date) || isLast ? undefined : newcomers.shift();
    if (joining && at % 2 === 0) {
      acts.push(() => made.addPerson(joining));
      everybody.push(joining);
    } else if (joining) newcomers.unshift(joining);
    // All are there from the second day on, and as they should be after the last one.
    const turned = pool.filter(({ owner, name, isStopped }) =>
      isLast
        ? running.has(`${owner}/${name}`) === (isStopped ?? false) || !made.workspaces.has(`${owner}/${name}`)
        : random() < (isFree(date) ? 0.1 : at === 0 ? 0.6 : 0.75),
    );
    acts.push(...turned.map((workspace) => () => turn(workspace)));
    const task = isFree(date) || at % 3 !== 1 ? undefined : tasks.shift();
    if (task) {
      const [name, displayName, input] = task;
      const report = { state: "COMPLETE" as const, message: "Opened a pull request" };
      const owner = pick(["liam", "ines", "keiko", "dmitri"]);
      acts.push(() => made.addTask({ owner, name, displayName, input, report, isPaused: true }));
    }
    if (!isFree(date) && at % 4 === 2) acts.push(() => release(made, at));
    await together(acts, (act) => act());
    lived.push({ from, to: Date.now(), day: date });
  }
  made.report("Days", count, count);
  return contiguous(lived);
}

/** Days that follow each other without a gap. */
const contiguous = (days: LivedDay[]): LivedDay[] =>
  days.map((each, at) => ({ ...each, to: days[at + 1]?.from ?? Date.now() + 1 }));

/** Another version of the firmware template. */
async function release({ owner, templates, inputs }: Company, at: number): Promise<void> {
  const { document, variables } = inputs.firmware;
  const input = { templateId: templates.get("firmware")!.template, name: `4.${at}.0`, document, variables };
  await owner.mutate("createTemplateVersion", { ...input, activate: true });
}

function expectFailure(error: unknown): void {
  if (!(error instanceof Failure)) throw error;
}

/** Reports the connections to a workspace within the days before now, as its agent would have done. */
export async function reportVisits(agent: Client, count: number, seed: number): Promise<void> {
  const random = sequence(seed);
  const events: object[] = [];
  const types = ["SSH", "VSCODE", "JETBRAINS"];
  for (let ago = Math.min(count, 29); ago > 0; ago--) {
    const date = Math.floor(Date.now() / day) * day - ago * day;
    if (isFree(date)) continue;
    const connectionId = randomUUID();
    const begin = date + (7.5 + random() * 4) * 3_600_000;
    const shared = { type: types[Math.floor(random() * 3)], connectionId, ip: `203.0.113.${20 + seed}` };
    const at = (time: number) => ({ id: randomUUID(), time: new Date(time).toISOString(), ...shared });
    events.push({ ...at(begin), kind: "CONNECT" });
    const end = begin + (0.3 + random() * 5) * 3_600_000;
    events.push({ ...at(end), kind: "DISCONNECT", disconnectReason: "logout", exitCode: 0 });
  }
  if (events.length > 0) await agent.mutate("recordConnections", { events });
}
