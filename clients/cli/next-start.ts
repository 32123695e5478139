// The check of a start before the stop that precedes it: a workspace that could not be started again must not be stopped.
import type { Api } from "./api.js";
import { ApiFailure, Failed } from "./failures.js";
import { NextStart, type NextStartQuery, VersionParameters, type VersionParametersQuery } from "./workspaces.gql.js";

type Values = ReadonlyArray<{ name: string; value: string }>;
type Next = NonNullable<NextStartQuery["workspace"]>;
type Version = NonNullable<VersionParametersQuery["templateVersion"]>;

/**
 * Throws `Failed` if the version of the next start, the given one or the one that the server will choose, does not take the
 * given and the previous values. The server checks more, such as regular expressions.
 */
export async function checkNextStart(
  api: Api,
  workspace: { id: string; template: { id: string } },
  { versionId, parameters }: { versionId?: string; parameters: Values },
): Promise<void> {
  const { workspace: found, authCheck } = await api.run(NextStart, {
    id: workspace.id,
    template: workspace.template.id,
  });
  const { latestBuild } = found!;
  if (!latestBuild) return;
  const mayUpdate = authCheck.some(({ allowed }) => allowed);
  const version = await readVersion(
    api,
    versionId ?? activeIfMoved(found!, mayUpdate) ?? latestBuild.templateVersionId,
  );
  const faults = version ? faultsOf(version, parameters, latestBuild.parameters) : [];
  if (faults.length === 0) return;
  const reason = `The workspace was not stopped, since version ${version!.name} could not be started:`;
  throw new Failed([reason, ...faults, "See --parameter."].join("\n"));
}

/** The active version, if a start moves to it by itself. */
function activeIfMoved({ isOutdated, automaticUpdates, template }: Next, mayUpdate: boolean): string | undefined {
  const isChosen = template.automaticUpdates === "OWNERS_CHOICE" && automaticUpdates;
  const isMoved = template.automaticUpdates === "ALWAYS" || isChosen || (template.requireActiveVersion && !mayUpdate);
  return isOutdated && isMoved ? template.activeVersion?.id : undefined;
}

/** Reads a version; `undefined` if the user may not, who may use the workspace nevertheless. */
async function readVersion(api: Api, id: string): Promise<Version | undefined> {
  try {
    return (await api.run(VersionParameters, { id })).templateVersion ?? undefined;
  } catch (error) {
    if (error instanceof ApiFailure && (error.code === "NOT_FOUND" || error.code === "FORBIDDEN")) return undefined;
    throw error;
  }
}

function faultsOf({ parameters }: Version, given: Values, previous: Values): string[] {
  const valueIn = (values: Values, wanted: string) => values.findLast(({ name }) => name === wanted)?.value;
  const known = new Set(parameters.map(({ name }) => name));
  const unknown = given.filter(({ name }) => !known.has(name));
  const faults = parameters.map(({ name, type, options, defaultValue, isEphemeral, isMutable }) => {
    const before = isEphemeral ? undefined : valueIn(previous, name);
    const value = valueIn(given, name) ?? before ?? defaultValue;
    if (value === null) return [name, "Is required."];
    // What the workspace was created with stays good.
    if (!isMutable && before !== undefined)
      return value === before ? [] : [name, "Cannot be changed after the workspace was created."];
    const isOption = options.length === 0 || type === "LIST" || options.some((option) => option.value === value);
    return isOption ? [] : [name, `${JSON.stringify(value)} is not one of the options.`];
  });
  return [...unknown.map(({ name }) => [name, `There is no parameter ${JSON.stringify(name)}.`]), ...faults]
    .filter((fault) => fault.length > 0)
    .map(([name, rule]) => `  parameters.${name}: ${rule}`);
}
