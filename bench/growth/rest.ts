import { get } from "../requests.js";
import { type Case, missing, type Read } from "./case.js";
import { tokenOf } from "./known.js";
import { exempt, valuesOf } from "./values.js";

/** The part of `/openapi.json` that names what can be read. */
export interface Description {
  paths: Record<string, { get?: { parameters?: Array<{ name: string; in: string }> } }>;
}

/**
 * Every GET of a description: with the objects of its path that there are, and with each value of each query parameter beside a
 * limit. Those of SCIM are cases of GraphQL.
 */
export async function restCases({ paths }: Description, read: Read): Promise<Case[]> {
  const cases: Case[] = [];
  for (const [template, { get: operation }] of Object.entries(paths)) {
    const name = `GET ${template}`;
    if (!operation || exempt[name] || template.startsWith("/scim/")) continue;
    const role = /\{user\}|\/inbox$/.test(template) ? "member" : "owner";
    const parameters = (operation.parameters ?? []).filter((each) => each.in === "query").map((each) => each.name);
    const queriesOf = (parameter: string) =>
      valuesOf(`${template}.${parameter}`, parameter)?.map(
        (value) => `${parameter}=${encodeURIComponent(String(value))}`,
      );
    const limit = parameters.includes("limit") ? queriesOf("limit")! : [];
    const others = parameters.filter((each) => each !== "limit");
    const narrowed = others.flatMap((each) => (queriesOf(each) ?? []).map((query) => [...limit, query]));
    const before = cases.length;
    for (const path of pathsOf(template))
      for (const query of [limit, ...narrowed]) {
        const what = [path, query.join("&")].filter(Boolean).join("?");
        const bytes = get(what, tokenOf(role));
        if (await read(bytes))
          cases.push({ operation: name, role, what, isDeep: what.includes("offset="), request: async () => bytes });
      }
    if (cases.length === before) cases.push(missing(name, "the object"));
    for (const each of others) if (!queriesOf(each)) cases.push(missing(name, each));
  }
  return cases;
}

/** The paths of a template with all objects; none if one is not known. */
function pathsOf(template: string): string[] {
  const [parameter, name] = /\{(\w+)\}/.exec(template) ?? [];
  if (parameter === undefined || name === undefined) return [template];
  return (valuesOf(name) ?? []).flatMap((value) => pathsOf(template.replace(parameter, String(value))));
}
