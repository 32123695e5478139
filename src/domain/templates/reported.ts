import { isDeepStrictEqual } from "node:util";
import type { Problems } from "../kernel/errors.js";
import { type DocumentResource, most, resource } from "./document-parts.js";
import type { TemplateDocument } from "./documents.js";
import { list, newReading, Place } from "./document-reader.js";
import { isRenderingOf } from "./references.js";

/** The resources of a document that builds of a transition have. Deletions have none. */
const resourcesFor = ({ resources }: TemplateDocument, transition: string): DocumentResource[] =>
  resources.filter(({ transitions }) => transitions.some((each) => each === transition));

/**
 * Checks the resources that a daemon reports for a build: those of the document for this transition, in any order, with
 * the same members. Only texts with references may differ, as far as the references were replaced. Adds every fault to
 * `problems`, with its path from `path`. Returns the resources in the order of the document.
 */
export function parseReported(
  document: TemplateDocument,
  transition: "start" | "stop" | "delete",
  resources: readonly unknown[],
  problems: Problems,
  path = "resources",
): DocumentResource[] {
  const place = new Place(path, newReading(problems, true));
  const reported = list(most.resources, resource)(resources, place);
  if (place.faults > 0) return [];
  const rendered = new Set(place.reading.templates.map(({ place: { path: each } }) => each));
  const expected = resourcesFor(document, transition);
  const byName = new Map(reported.map((each) => [each.name, each]));
  for (const [index, each] of reported.entries()) {
    const declared = expected.find(({ name }) => name === each.name);
    const here = place.item(index);
    if (!declared) here.member("name").fault("Is not a resource of the document for this transition.");
    else if (byName.get(each.name) !== each) here.member("name").fault("Is reported twice.");
    else compare(declared, each, here, rendered);
  }
  for (const { name } of expected)
    if (!byName.has(name)) place.fault(`The resource ${JSON.stringify(name)} is missing.`);
  return expected.flatMap(({ name }) => byName.get(name) ?? []);
}

/** Adds a fault for each value that is not as the document declares it. `rendered` are the paths of rendered texts. */
function compare(declared: unknown, reported: unknown, place: Place, rendered: ReadonlySet<string>): void {
  if (isDeepStrictEqual(declared, reported)) return;
  if (typeof declared === "string" && typeof reported === "string") {
    const isSame = rendered.has(place.path) && isRenderingOf(declared, reported);
    if (!isSame) place.fault("Must be as in the document.");
  } else if (Array.isArray(declared) && Array.isArray(reported)) {
    if (declared.length !== reported.length) place.fault("Must have the entries of the document.");
    else for (const [index, each] of declared.entries()) compare(each, reported[index], place.item(index), rendered);
  } else if (isObject(declared) && isObject(reported)) {
    for (const name of new Set([...Object.keys(declared), ...Object.keys(reported)]))
      compare(own(declared, name), own(reported, name), place.member(name), rendered);
  } else {
    place.fault("Must be as in the document.");
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const own = (of: Record<string, unknown>, name: string): unknown => (Object.hasOwn(of, name) ? of[name] : undefined);
