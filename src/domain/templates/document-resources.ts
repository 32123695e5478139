// The resources of template documents: what a workspace is made of. Daemons report them in the same form.
import { Cron } from "croner";
import * as z from "zod/mini";
import {
  addFault,
  faultOf,
  list,
  map,
  matching,
  type Payload,
  prose,
  textBy,
  type TextRule,
  httpUrl,
  int,
} from "../kernel/values.js";
import {
  described,
  displayName,
  entriesOf,
  flag,
  icon,
  label,
  means,
  most,
  emptyAtFirst,
  slug,
  unique,
} from "./document-members.js";
import { hasReferences } from "./references.js";
import { longestPath } from "../../entities/lengths.js";

/** Credits per day. */
const mostCost = 2_147_483_647;

/** Seconds. */
const day = 86_400;

const urlOrEmpty = (found: string): string | undefined => (found === "" ? undefined : faultOf(httpUrl, found));

const envName = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
const envNameProblem = (name: string): string | undefined =>
  envName.test(name)
    ? undefined
    : "The name must be 1 to 256 letters, digits and underscores that do not begin with a digit.";

// The five fields of cron, each a list of numbers, names, ranges, and steps.
const cronForm = /^$|^(?=.{9,128}$)[\d*][\d*,/-]*( [\d*][\d*,/-]*){2}( [\dA-Za-z*][\dA-Za-z*,/-]*){2}$/;
const cronRule = "Must be empty, or the five fields minute, hour, day of month, month and weekday.";
const cron = matching(cronForm, cronRule).check((payload) => addFault(payload, cronProblem(payload.value)));

/** Returns the rule that numbers and names of an expression of this form violate; `undefined` for valid ones. */
function cronProblem(found: string): string | undefined {
  if (found === "" || !cronForm.test(found)) return undefined;
  try {
    void new Cron(found, { mode: "5-part", timezone: "UTC", paused: true });
    return undefined;
  } catch {
    return cronRule;
  }
}

const script = z.strictObject({
  display_name: label.check(means("Name that people see, 1 to 64 characters.")),
  script: prose(128 * 1024).check(
    means("The text of the script, which `sh -c` runs. References are not replaced in it."),
  ),
  cron: emptyAtFirst(cron).check(
    means(
      "Schedule by which it also runs, in the five fields of cron and the time zone of the machine. Empty for none.",
    ),
  ),
  log_path: emptyAtFirst(prose(longestPath)).check(
    means("File to which its output is appended as well. Empty for none."),
  ),
  run_on_start: flag.check(means("Whether it runs after each start.")),
  run_on_stop: flag.check(means("Whether it runs before each stop.")),
  start_blocks_login: flag.check(means("Whether clients wait for its end before they let people enter.")),
  timeout: z.prefault(int(0, day), 0).check(means("Seconds after which it is ended; 0 for none.")),
});

export type DocumentScript = z.output<typeof script>;

const anyProblem = (found: string) => faultOf(prose(32 * 1024), found);

const memoryRule = "Must be a whole number with its unit KiB, MiB, GiB, or TiB, such as 2GiB, from 1MiB to 1024TiB.";

function memoryProblem(found: string): string | undefined {
  const [, number, unit = ""] = /^([1-9]\d{0,9})([KMGT])iB$/.exec(found) ?? [];
  const mebibytes = Number(number) * 1024 ** ("KMGT".indexOf(unit) - 1);
  return found === "" || (mebibytes >= 1 && mebibytes <= 1024 ** 3) ? undefined : memoryRule;
}

/** Resources of documents, or of reports of daemons, which have replaced the references. */
export function resourceOf(areRendered: boolean) {
  /** Text in which a daemon replaces references. Only the result has to conform to further rules. */
  const template = (problemOf: TextRule) =>
    textBy((found) => (!areRendered && hasReferences(found) ? anyProblem(found) : problemOf(found)));
  const anyText = template(anyProblem);
  /** A number, or a text that is one once its references are replaced. */
  const amount = (rule: string, least: number, largest: number, pattern: RegExp) => {
    const isValid = (found: number) => found >= least && found <= largest && pattern.test(String(found));
    const number = z.number().check((payload) => addFault(payload, isValid(payload.value) ? undefined : rule));
    const inText = template((found) =>
      found === "" || (pattern.test(found) && isValid(Number(found))) ? undefined : rule,
    );
    return z.union([number, inText], { error: rule });
  };

  const limits = z.strictObject({
    memory: z
      .optional(template(memoryProblem))
      .check(means("Memory of all its processes together, such as `2GiB`. May have references. Empty for none.")),
    cpus: z
      .optional(amount("Must be a number from 0.01 to 1024 with at most 2 decimals.", 0.01, 1024, /^\d+(\.\d{1,2})?$/))
      .check(
        means(
          "Processors that all its processes together use, such as `1.5`. A text may have references. Empty for none.",
        ),
      ),
    processes: z
      .optional(amount("Must be a whole number from 1 to 4194304.", 1, 4_194_304, /^\d+$/))
      .check(means("Number of its processes and threads. A text may have references. Empty for none.")),
    required: flag.check(
      means("Whether builds fail where a limit cannot be enforced, rather than saying so in their logs."),
    ),
  });

  const healthcheck = z.strictObject({
    url: template((found) => faultOf(httpUrl, found)).check(
      means("URL that responds with a status below 400 while it is healthy. May have references."),
    ),
    interval: z.prefault(int(1, 3600), 5).check(means("Seconds from one check to the next.")),
    threshold: z.prefault(int(1, 100), 3).check(means("Number of failures in a row after which it is unhealthy.")),
  });
  const app = z.strictObject({
    slug: slug.check(means("Name in URLs, unique in the agent.")),
    display_name: displayName.check(means("Name that people see, at most 64 characters.")),
    icon,
    url: emptyAtFirst(template(urlOrEmpty)).check(means("URL at which the app is reached. May have references.")),
    command: emptyAtFirst(prose(longestPath)).check(
      means("Command that clients run in a terminal, for apps without a URL."),
    ),
    external: flag.check(means("Whether clients open the URL as it is, rather than through the workspace.")),
    group: displayName.check(means("Heading under which clients list it.")),
    hidden: flag.check(means("Whether clients leave it out.")),
    open_in: z.prefault(z.enum(["slim-window", "tab"]), "slim-window").check(means("Where clients open it.")),
    sharing_level: z
      .prefault(z.enum(["owner", "authenticated", "organization", "public"]), "owner")
      .check(means("Who may open it.")),
    subdomain: flag.check(means("Whether it is reached at a host name of its own.")),
    tooltip: emptyAtFirst(prose(1024)).check(means("Text that clients show beside it.")),
    healthcheck: z
      .optional(healthcheck)
      .check(means("How the agent finds out whether the app is healthy. Without it, the health is not known.")),
  });
  const agent = z.strictObject({
    name: slug.check(means("Name, unique in the document.")),
    os: z.enum(["linux", "darwin", "windows"]).check(means("Operating system of its machine.")),
    arch: z.enum(["amd64", "arm64", "armv7"]).check(means("Architecture of its machine.")),
    directory: emptyAtFirst(template((found) => faultOf(prose(longestPath), found))).check(
      means("Directory in which the command and the scripts run; empty for the home. May have references."),
    ),
    env: z
      .prefault(map(most.others, anyText, envNameProblem), {})
      .check(means("Environment variables by name. At most 100. Values may have references.")),
    command: entriesOf(list(most.others, anyText)).check(
      means(
        "Program that runs while the workspace does, with its arguments. No shell reads them. May have references.",
      ),
    ),
    restart: z
      .prefault(z.enum(["never", "on_failure"]), "never")
      .check(means("Whether the command is started again after it failed.")),
    external: flag.check(
      means("Whether the agent runs on a machine that the owner of the workspace sets up, rather than by the daemon."),
    ),
    connection_timeout_seconds: z
      .prefault(int(0, day), 120)
      .check(means("Seconds after which an agent that has not connected is reported; 0 for never.")),
    startup_script_behavior: z
      .prefault(z.enum(["non-blocking", "blocking"]), "non-blocking")
      .check(means("Whether clients wait for the start scripts before they let people enter.")),
    troubleshooting_url: emptyAtFirst(textBy(urlOrEmpty)).check(
      means("URL of a page for people whose agent has faults."),
    ),
    display_apps: entriesOf(
      list(5, z.enum(["vscode", "vscode_insiders", "web_terminal", "port_forwarding_helper", "ssh_helper"])),
    ).check(means("Features of clients that they offer for the agent.")),
    apps: entriesOf(list(most.apps, app).check(unique("slug"))).check(
      means("The apps that people open in the workspace."),
    ),
    scripts: entriesOf(list(most.scripts, script)).check(
      means("The scripts that the agent runs at its start, at its stop, or by schedule."),
    ),
  });
  const metadata = z.strictObject({
    key: label.check(means("Name that people see, 1 to 64 characters.")),
    value: emptyAtFirst(anyText).check(means("Text that people see. May have references.")),
    sensitive: flag.check(means("Whether only the owner of the workspace sees the value.")),
  });
  return z.strictObject({
    name: label.check(means("Name, unique in the document, 1 to 64 characters.")),
    type: displayName.check(means("Kind, for people.")),
    ...described,
    hide: flag.check(means("Whether clients leave it out.")),
    daily_cost: z
      .prefault(int(0, mostCost), 0)
      .check(means("Credits a day that it takes from the quota of the owner of the workspace.")),
    transitions: z
      .prefault(list(2, z.enum(["start", "stop"])), ["start"])
      .check(means("Builds that have the resource. Those with `stop` exist while the workspace is stopped.")),
    metadata: entriesOf(list(most.others, metadata)).check(means("Details of the resource for people.")),
    limits: z
      .optional(limits)
      .check(means("Limits of the processes of its agents. Daemons of the type `process` enforce them with cgroups.")),
    agents: entriesOf(list(most.agents, agent)).check(means("The agents of the resource. At most 20 in a document.")),
  });
}

export type DocumentResource = z.output<ReturnType<typeof resourceOf>>;
export type DocumentAgent = DocumentResource["agents"][number];
export type DocumentApp = DocumentAgent["apps"][number];

/** The cost of resources, in credits per day. */
export const dailyCostOf = (resources: ReadonlyArray<Pick<DocumentResource, "daily_cost">>): number =>
  resources.reduce((sum, { daily_cost: cost }) => sum + cost, 0);

/** Checks the rules of resources among each other: names of agents are unique in the document. */
export function checkResources(payload: Payload<DocumentResource[]>): void {
  const taken = new Set<string>();
  for (const [index, { agents }] of payload.value.entries())
    for (const [n, { name }] of agents.entries()) {
      if (taken.has(name)) addFault(payload, "Is the name of another agent.", index, "agents", n, "name");
      taken.add(name);
    }
  const agents = payload.value.reduce((sum, each) => sum + each.agents.length, 0);
  if (agents > most.agents) addFault(payload, `Must have at most ${most.agents} agents together.`);
  if (dailyCostOf(payload.value) > mostCost) addFault(payload, `Must cost at most ${mostCost} per day together.`);
}
