// Fills in the references of a template document: `${param.N}`, `${var.N}`, `${workspace.id}`, and others.
import type { Assignment, DocumentAgent, DocumentResource, Limits } from "./protocol.js";

/** The values of references, by prefix; undefined if there is no such value. */
export type Values = Readonly<Record<string, (name: string) => string | undefined>>;

/** A document refers to something that this provisioner does not have. */
export class UnknownReference extends Error {}

/** Stands for the IDs of an import, which has no workspace. */
const noId = "00000000-0000-0000-0000-000000000000";

const lookup =
  (entries: ReadonlyArray<{ name: string; value: string }>) =>
  (name: string): string | undefined =>
    entries.find((entry) => entry.name === name)?.value;

/** The text of a default; lists are JSON. Without one, an import uses `0`, with which URLs stay URLs. */
const textOf = (value: unknown = "0"): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Returns the values that every job has. Imports use defaults and placeholders. */
export function valuesOf({ document, parameters, variables, workspace, task }: Assignment): Values {
  const ofWorkspace: Record<string, string> = {
    id: workspace?.id ?? noId,
    name: workspace?.name ?? "workspace",
    owner: workspace?.owner.username ?? "owner",
    owner_id: workspace?.owner.id ?? noId,
  };
  const ofTask: Record<string, string> = { id: task?.id ?? "", prompt: task?.prompt ?? "" };
  const given = lookup(parameters);
  return {
    param: (name) => {
      const declared = document.parameters?.find((parameter) => parameter.name === name);
      return given(name) ?? (declared && textOf(declared.default));
    },
    var: lookup(variables),
    workspace: (name) => ofWorkspace[name],
    task: (name) => ofTask[name],
  };
}

/** Replaces the references in a text. `$${` yields `${`. Throws `UnknownReference`. */
function renderText(text: string, values: Values): string {
  return text.replace(/\$\$\{|\$\{([^}]*)\}/g, (match, reference?: string) => {
    if (reference === undefined) return "${";
    const dot = reference.indexOf(".");
    const value = dot > 0 ? values[reference.slice(0, dot)]?.(reference.slice(dot + 1)) : undefined;
    if (value === undefined) throw new UnknownReference(`This provisioner has no value for ${match}.`);
    return value;
  });
}

/** Returns the resources that a transition leaves, rendered. Imports and dry runs have those of a start. */
export function renderResources({ document, transition }: Assignment, values: Values): DocumentResource[] {
  const wanted = (transition ?? "START").toLowerCase();
  return (document.resources ?? [])
    .filter(({ transitions = ["start"] }) => transitions.includes(wanted))
    .map((resource) => ({
      ...resource,
      ...(resource.metadata && {
        metadata: resource.metadata.map((entry) => ({
          ...entry,
          ...(entry.value !== undefined && { value: renderText(entry.value, values) }),
        })),
      }),
      ...(resource.limits && { limits: renderLimits(resource.limits, values) }),
      ...(resource.agents && { agents: resource.agents.map((agent) => renderAgent(agent, values)) }),
    }));
}

function renderLimits(limits: Limits, values: Values): Limits {
  const render = (value: unknown) => (typeof value === "string" ? renderText(value, values) : value);
  return Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, render(value)]));
}

function renderAgent(agent: DocumentAgent, values: Values): DocumentAgent {
  const { directory, env, command, apps } = agent;
  const render = (text: string) => renderText(text, values);
  const renderUrl = (text: string) => renderText(text, forUrls(values));
  return {
    ...agent,
    ...(directory !== undefined && { directory: render(directory) }),
    ...(env && { env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, render(value)])) }),
    ...(command && { command: command.map(render) }),
    ...(apps && {
      apps: apps.map((app) => ({
        ...app,
        ...(app.url !== undefined && { url: renderUrl(app.url) }),
        ...(app.healthcheck && { healthcheck: { ...app.healthcheck, url: renderUrl(app.healthcheck.url) } }),
      })),
    }),
  };
}

/** An IPv6 address in a URL stands in brackets (RFC 3986, section 3.2.2). */
function forUrls(values: Values): Values {
  const host = (name: string) => {
    const address = values.host?.(name);
    return address?.includes(":") ? `[${address}]` : address;
  };
  return { ...values, host };
}
