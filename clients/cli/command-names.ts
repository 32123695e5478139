// The names of commands: what else people call them, and which one was probably meant.
import type { UserCommand } from "./command.js";

export type Commands = Readonly<Record<string, UserCommand>>;

/** Other names of groups of commands. */
const otherGroups: Readonly<Record<string, string>> = {
  ws: "workspaces",
  workspace: "workspaces",
  task: "tasks",
  template: "templates",
  profiles: "profile",
  secret: "secrets",
  user: "users",
  group: "groups",
  org: "organizations",
  orgs: "organizations",
  organization: "organizations",
  token: "tokens",
  app: "applications",
  apps: "applications",
  application: "applications",
};

/** Other names of commands in a group that has them. */
const otherVerbs: Readonly<Record<string, readonly string[]>> = {
  ls: ["list"],
  get: ["show"],
  rm: ["delete", "revoke", "remove"],
  new: ["create"],
  add: ["create"],
};

/** Replaces other names of groups and commands by their own. What follows the name of a command stays. */
export function withOwnNames(commands: Commands, words: readonly string[]): string[] {
  const [first = "", second, ...rest] = words;
  const group = Object.keys(commands).some((name) => groupOf(name) === first) ? first : (otherGroups[first] ?? first);
  if (second === undefined) return words.length === 0 ? [] : [group];
  const verbs = [second, ...(otherVerbs[second] ?? [])];
  const verb = verbs.find((each) => `${group} ${each}` in commands) ?? second;
  return [group, verb, ...rest];
}

/** All that people may type for the name of a group or a command, itself first. */
export function spellingsOf(commands: Commands, name: string): string[] {
  const [group = "", verb] = name.split(" ");
  const others = Object.keys(otherGroups).filter((each) => otherGroups[each] === group && isFree(commands, each));
  const groups = [group, ...others];
  if (verb === undefined) return groups;
  const verbs = Object.keys(otherVerbs).filter((each) => withOwnNames(commands, [group, each])[1] === verb);
  return groups.flatMap((each) => [verb, ...verbs].map((other) => `${each} ${other}`));
}

const isFree = (commands: Commands, group: string) => !Object.keys(commands).some((name) => groupOf(name) === group);

/** The first word of a command's name. */
export const groupOf = (name: string): string => name.split(" ", 1)[0]!;

/** Returns the name that was probably meant, if there is one that is close. */
export function closest(typed: string, names: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(typed.length / 3));
  const near = names
    .map((name) => ({ name, distance: name.startsWith(typed) && typed.length > 1 ? 0 : distanceOf(typed, name) }))
    .filter(({ distance }) => distance <= most);
  return near.toSorted((one, other) => one.distance - other.distance)[0]?.name;
}

/** How many letters have to be changed, added, left out, or swapped with the next one, to make one text the other. */
function distanceOf(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, nr) => nr);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        last[j]! + 1,
        row[j - 1]! + 1,
        last[j - 1]! + (isSame ? 0 : 1),
        isSwapped ? before[j - 2]! + 1 : Infinity,
      );
    }
    before = last;
    last = row;
  }
  return last[other.length]!;
}
