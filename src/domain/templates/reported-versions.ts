import { isDeepStrictEqual } from "node:util";
import type { Problems } from "../kernel/errors.js";
import { isObject } from "../../runtime/json.js";
import type { DocumentResource } from "./document-resources.js";
import { parseReportedResources, type TemplateDocument } from "./template-documents.js";
import { isRenderingOf, isTemplate } from "./references.js";

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
  const reported = parseReportedResources(resources, problems, path);
  if (!reported) return [];
  const expected = resourcesFor(document, transition);
  const byName = new Map(reported.map((each) => [each.name, each]));
  for (const [index, each] of reported.entries()) {
    const declared = expected.find(({ name }) => name === each.name);
    const here = `${path}[${index}]`;
    if (!declared) problems.add(`${here}.name`, "Is not a resource of the document for this transition.");
    else if (byName.get(each.name) !== each) problems.add(`${here}.name`, "Is reported twice.");
    else compare(declared, each, problems, here);
  }
  for (const { name } of expected)
    if (!byName.has(name)) problems.add(path, `The resource ${JSON.stringify(name)} is missing.`);
  return expected.flatMap(({ name }) => byName.get(name) ?? []);
}

/** Adds a fault for each value that is not as the document declares it. */
function compare(declared: unknown, reported: unknown, problems: Problems, path: string): void {
  if (isDeepStrictEqual(declared, reported)) return;
  if (typeof declared === "string" && typeof reported === "string") {
    const isSame = isTemplate(path) && isRenderingOf(declared, reported);
    if (!isSame) problems.add(path, "Must be as in the document.");
  } else if (Array.isArray(declared) && Array.isArray(reported)) {
    if (declared.length !== reported.length) problems.add(path, "Must have the entries of the document.");
    else for (const [index, each] of declared.entries()) compare(each, reported[index], problems, `${path}[${index}]`);
  } else if (isObject(declared) && isObject(reported)) {
    for (const name of new Set([...Object.keys(declared), ...Object.keys(reported)]))
      compare(own(declared, name), own(reported, name), problems, `${path}.${name}`);
  } else {
    problems.add(path, "Must be as in the document.");
  }
}

const own = (of: Record<string, unknown>, name: string): unknown => (Object.hasOwn(of, name) ? of[name] : undefined);
