// What the parts of template documents have in common. Their members are spelled as in the format `steward.template/1`.
import * as z from "zod/mini";
import { quote } from "../kernel/errors.js";
import { textProblem } from "../../runtime/text.js";
import {
  addFault,
  further,
  icon as iconValue,
  isValid,
  label as labelOf,
  matching,
  type Payload,
  prose,
  textBy,
} from "../kernel/values.js";
import { longestDescription, longestLabel, longestName } from "../../entities/lengths.js";

/** Maximum number of entries. */
export const most = {
  resources: 100,
  agents: 20,
  parameters: 100,
  presets: 50,
  apps: 50,
  scripts: 50,
  tags: 20,
  schedules: 20,
  others: 100,
} as const;

/** Describes a member in the JSON Schema and the reference of the format. */
export const means = z.describe;

const labelRule = `Must be 1 to ${longestLabel} characters, one line without control characters and white space at the edges.`;

/** Names of presets, resources, and options. */
export const label = textBy(
  (found) => (found === "" || !isValid(labelOf(longestLabel), found) ? labelRule : undefined),
  {
    minLength: 1,
    maxLength: longestLabel,
  },
);

/** Names of agents and slugs of apps. */
export const slug = matching(
  new RegExp(`^(?=.{1,${longestName}}$)[a-z0-9]+(-[a-z0-9]+)*$`),
  `Must be 1 to ${longestName} lower-case letters, digits and single hyphens between them.`,
);

export const flag = z.prefault(z.boolean(), false);
export const emptyAtFirst = (schema: z.ZodMiniString<string>) => z.prefault(schema, "");
export const entriesOf = <Entry extends z.ZodMiniType>(schema: z.ZodMiniArray<Entry>) => z.prefault(schema, []);

export const displayName = emptyAtFirst(labelOf(longestLabel));
export const icon = emptyAtFirst(further(iconValue, textProblem)).check(
  means("URL of an icon, or its path on the server."),
);
export const description = emptyAtFirst(prose(longestDescription));

/** Members of everything that people choose from. */
export const described = {
  description: description.check(means("Description for people.")),
  icon,
  display_name: displayName.check(means(`Name that people see, at most ${longestLabel} characters.`)),
};

/** Adds a fault for each entry of a list whose name another one has. */
export const unique =
  <Name extends string>(name: Name) =>
  (payload: Payload<Array<Record<Name, string>>>): void =>
    addRepeated(payload, payload.value, name);

export function addRepeated<Name extends string>(
  payload: Payload<unknown>,
  entries: ReadonlyArray<Record<Name, string>>,
  name: Name,
  ...path: PropertyKey[]
): void {
  const taken = new Set<string>();
  for (const [index, { [name]: value }] of entries.entries()) {
    if (value !== "" && taken.has(value))
      addFault(payload, `Is the ${name} of another entry: ${quote(value)}.`, ...path, index, name);
    taken.add(value);
  }
}
