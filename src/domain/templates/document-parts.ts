import { displayNameProblem, iconProblem, proseProblem, urlProblem } from "../kernel/text.js";
import {
  list,
  map,
  matching,
  object,
  oneOf,
  otherwise,
  optional,
  type Read,
  type ReadBy,
  required,
  text,
  truth,
  whole,
} from "./document-reader.js";
import { hasReferences } from "./references.js";

// Documents and the members of their objects are spelled as in the format `steward.template/1`.

/** Maximum number of entries. */
export const most = {
  resources: 100,
  agents: 20,
  parameters: 100,
  presets: 50,
  apps: 50,
  scripts: 50,
  others: 100,
} as const;

/** Seconds. */
const day = 86_400;

const prose = (longest: number): Read<string> => text((found) => proseProblem(found, longest));

const labelRule = "Must be 1 to 64 characters without white space at the edges.";

/** Names of presets, resources, and options. */
export const label: Read<string> = text((found) =>
  found === "" || displayNameProblem(found) !== undefined ? labelRule : undefined,
);

/** Names of agents and slugs of apps. */
const slug = matching(
  /^(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*$/,
  "Must be 1 to 32 lower-case letters, digits and single hyphens between them.",
);

const icon: Read<string> = text(iconProblem);
const url: Read<string> = text((found) => (found === "" ? undefined : urlProblem(found)));

/** Members of everything that people choose from. */
export const description = { description: otherwise("", prose(1000)) };
export const described = {
  ...description,
  icon: otherwise("", icon),
  display_name: otherwise("", text(displayNameProblem)),
};

/** Reads text in which a daemon replaces references. Only the result has to conform to further rules. */
const template =
  (read: Read<string>): Read<string> =>
  (value, place) => {
    const { isRendered, templates } = place.reading;
    const hasThem = !isRendered && typeof value === "string" && hasReferences(value);
    const found = (hasThem ? anyText : read)(value, place);
    templates.push({ text: found, place });
    return found;
  };

const anyText = prose(32 * 1024);
const envName = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
const envNameProblem = (name: string): string | undefined =>
  envName.test(name)
    ? undefined
    : "The name must be 1 to 256 letters, digits and underscores that do not begin with a digit.";

const healthcheck = object({
  url: required(template(text(urlProblem))),
  /** Seconds. */
  interval: otherwise(5, whole(1, 3600)),
  threshold: otherwise(3, whole(1, 100)),
});

const app = object({
  slug: required(slug),
  display_name: described.display_name,
  icon: described.icon,
  url: otherwise("", template(url)),
  command: otherwise("", prose(4096)),
  external: otherwise(false, truth),
  group: otherwise("", text(displayNameProblem)),
  hidden: otherwise(false, truth),
  open_in: otherwise("slim-window", oneOf("slim-window", "tab")),
  sharing_level: otherwise("owner", oneOf("owner", "authenticated", "organization", "public")),
  subdomain: otherwise(false, truth),
  tooltip: otherwise("", prose(1024)),
  healthcheck: optional(healthcheck),
});

// The five fields of cron, each a list of numbers, names, ranges, and steps.
const cron = matching(
  /^$|^(?=.{9,128}$)[\d*][\d*,/-]*( [\d*][\d*,/-]*){2}( [\dA-Z*][\dA-Z*,/-]*){2}$/i,
  "Must be empty, or the five fields minute, hour, day of month, month and weekday.",
);

const script = object({
  display_name: required(label),
  script: required(prose(128 * 1024)),
  cron: otherwise("", cron),
  log_path: otherwise("", prose(4096)),
  run_on_start: otherwise(false, truth),
  run_on_stop: otherwise(false, truth),
  start_blocks_login: otherwise(false, truth),
  /** Seconds; 0 for none. */
  timeout: otherwise(0, whole(0, day)),
});

const agent = object({
  name: required(slug),
  os: required(oneOf("linux", "darwin", "windows")),
  arch: required(oneOf("amd64", "arm64", "armv7")),
  directory: otherwise("", template(prose(4096))),
  env: otherwise({}, map(most.others, envNameProblem, template(anyText))),
  command: otherwise([], list(most.others, template(anyText))),
  restart: otherwise("never", oneOf("never", "on_failure")),
  /** Whether the agent runs outside of the daemon, with a token that its owner reads. */
  external: otherwise(false, truth),
  /** 0 for none. */
  connection_timeout_seconds: otherwise(120, whole(0, day)),
  startup_script_behavior: otherwise("non-blocking", oneOf("non-blocking", "blocking")),
  troubleshooting_url: otherwise("", url),
  display_apps: otherwise(
    [],
    list(5, oneOf("vscode", "vscode_insiders", "web_terminal", "port_forwarding_helper", "ssh_helper")),
  ),
  apps: otherwise([], list(most.apps, app)),
  scripts: otherwise([], list(most.scripts, script)),
});

const metadatum = object({
  key: required(label),
  value: otherwise("", template(anyText)),
  sensitive: otherwise(false, truth),
});

export const resource = object({
  name: required(label),
  type: otherwise("", text(displayNameProblem)),
  ...described,
  hide: otherwise(false, truth),
  daily_cost: otherwise(0, whole(0, 2_147_483_647)),
  /** The transitions whose builds have the resource. */
  transitions: otherwise(["start"], list(2, oneOf("start", "stop"))),
  metadata: otherwise([], list(most.others, metadatum)),
  agents: otherwise([], list(most.agents, agent)),
});

export type DocumentResource = ReadBy<typeof resource>;
export type DocumentAgent = ReadBy<typeof agent>;
export type DocumentApp = ReadBy<typeof app>;
export type DocumentScript = ReadBy<typeof script>;
