import type { DocumentResource } from "./document-parts.js";
import { most } from "./document-parts.js";
import type { DocumentParameter, DocumentPreset, DocumentVariable } from "./document-inputs.js";
import { checkUnique, type Place } from "./members.js";
import { largestTogether, sizeOf } from "./patterns.js";

/** The members of a document that depend on each other. */
interface Parts {
  variables: readonly DocumentVariable[];
  parameters: readonly DocumentParameter[];
  presets: readonly DocumentPreset[];
  resources: readonly DocumentResource[];
  ai_task?: { agent: string; app: string } | undefined;
}

const mostCost = 2_147_483_647;

/** Checks the rules of parameters among each other. */
export function checkParameters(parameters: readonly DocumentParameter[], place: Place): void {
  checkUnique(parameters, "name", place);
  const size = parameters.reduce((sum, { validation }) => sum + sizeOf(validation?.regex ?? ""), 0);
  if (size > largestTogether) place.fault("Must have smaller regular expressions: they are too large together.");
}

/** Checks the rules of resources among each other: names of agents are unique in the document. */
export function checkResources(resources: readonly DocumentResource[], place: Place): void {
  checkUnique(resources, "name", place);
  const taken = new Set<string>();
  for (const [index, { agents }] of resources.entries()) {
    const here = place.item(index).member("agents");
    for (const [n, { name, apps }] of agents.entries()) {
      if (name !== "" && taken.has(name)) here.item(n).member("name").fault("Is the name of another agent.");
      taken.add(name);
      checkUnique(apps, "slug", here.item(n).member("apps"));
    }
  }
  const agents = resources.reduce((sum, each) => sum + each.agents.length, 0);
  if (agents > most.agents) place.fault(`Must have at most ${most.agents} agents together.`);
  if (dailyCostOf(resources) > mostCost) place.fault(`Must cost at most ${mostCost} per day together.`);
}

/** The cost of resources, in credits per day. */
export const dailyCostOf = (resources: ReadonlyArray<Pick<DocumentResource, "daily_cost">>): number =>
  resources.reduce((sum, { daily_cost: cost }) => sum + cost, 0);

/** Checks members against each other that conform to the rules of their own. */
export function checkTogether({ variables, presets, resources, ai_task: task }: Parts, place: Place): void {
  checkUnique(variables, "name", place.member("variables"));
  checkUnique(presets, "name", place.member("presets"));
  const agents = resources.flatMap((resource) => resource.agents);
  const isExternal = agents.some(({ external }) => external);
  for (const [index, preset] of presets.entries()) {
    const here = place.member("presets").item(index);
    if (preset.default && presets.findIndex((each) => each.default) < index)
      here.member("default").fault("Is set on another preset.");
    if (isExternal && (preset.prebuilds?.instances ?? 0) > 0)
      here.member("prebuilds").fault("Must not be used with external agents.");
  }
  if (task) checkTask(task, agents, place.member("ai_task"));
}

function checkTask(task: { agent: string; app: string }, agents: DocumentResource["agents"], place: Place): void {
  const agent = agents.find(({ name }) => name === task.agent);
  const app = agent?.apps.find(({ slug }) => slug === task.app);
  if (!agent) place.member("agent").fault("Must be the name of an agent.");
  else if (!app) place.member("app").fault("Must be the slug of an app of the agent.");
  else if (app.url === "") place.member("app").fault("Must be an app with a URL.");
}
