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
