import type { Values } from "./evaluate.js";
import { extensionNamed, type Place, placeNamed } from "./paths.js";
import type { ResourceType } from "./schema.js";
import { type Input, inputOf, listOf, optional, string } from "../kernel/values.js";

/** Which attributes a response has (RFC 7644 §3.9): names, names of sub-attributes, and either after a URN. */
export const Projection = inputOf({
  attributes: optional(listOf(string), "Names of the only attributes to return, besides `id` and `schemas`."),
  excludedAttributes: optional(listOf(string), "Names of attributes to leave out."),
});
export type Projection = Input<typeof Projection>;

const always = new Set(["id", "schemas"]);

/** Whether a projection names attributes to return. */
export const isSelective = ({ attributes }: Projection): boolean => (attributes?.length ?? 0) > 0;

/** Whether a projection returns an attribute that is left out unless it is named. */
export const names = (type: ResourceType, { attributes }: Projection, attribute: string): boolean =>
  placesOf(type, attributes).some((place) => place.attribute.name === attribute);

/** Returns the part of a resource that a projection selects. Ignores unknown names. */
export function project(type: ResourceType, resource: Values, projection: Projection): Values {
  if (isSelective(projection)) return only(resource, placesOf(type, projection.attributes));
  const excluded = placesOf(type, projection.excludedAttributes);
  return excluded.length > 0 ? without(resource, excluded) : resource;
}

/** The URN of an extension names all of its attributes. */
function placesOf(type: ResourceType, given: readonly string[] | null | undefined): Place[] {
  return (given ?? []).flatMap((name): Place[] => {
    const extension = extensionNamed(type, name.trim());
    if (extension) return extension.attributes.map((attribute) => ({ extension: extension.id, attribute }));
    const place = placeNamed(type, name.trim());
    return place ? [place] : [];
  });
}

function only(resource: Values, places: readonly Place[]): Values {
  const part: Values = {};
  for (const name of Object.keys(resource)) if (always.has(name)) part[name] = resource[name];
  for (const { extension, attribute, sub } of places) {
    const from = containerIn(resource, extension);
    const value = from?.[attribute.name];
    if (value === undefined) continue;
    const into = extension ? ((part[extension] ??= {}) as Values) : part;
    into[attribute.name] = sub ? mergeValue(into[attribute.name], value, sub.name) : value;
  }
  return part;
}

const containerIn = (resource: Values, extension: string | undefined) =>
  extension ? (resource[extension] as Values | undefined) : resource;

/** Adds a sub-attribute to the part of an attribute that was selected before. */
function mergeValue(part: unknown, value: unknown, sub: string): unknown {
  const add = (into: unknown, each: Values) =>
    each[sub] === undefined ? { ...(into as Values) } : { ...(into as Values), [sub]: each[sub] };
  if (!Array.isArray(value)) return part === value ? part : add(part, value as Values);
  return value.map((each, index) => add((part as unknown[] | undefined)?.[index], each as Values));
}

function without(resource: Values, places: readonly Place[]): Values {
  const rest: Values = { ...resource };
  for (const { extension, attribute, sub } of places) {
    if (!extension && always.has(attribute.name)) continue;
    const from = containerIn(rest, extension);
    const value = from?.[attribute.name];
    if (value === undefined) continue;
    const into: Values = extension ? { ...from } : rest;
    if (extension) rest[extension] = into;
    if (sub) into[attribute.name] = omitSub(value, sub.name);
    else delete into[attribute.name];
  }
  return rest;
}

function omitSub(value: unknown, sub: string): unknown {
  const drop = (each: Values) => Object.fromEntries(Object.entries(each).filter(([name]) => name !== sub));
  return Array.isArray(value) ? (value as Values[]).map(drop) : drop(value as Values);
}
