import { isObject } from "../../runtime/json.js";
import { cleanLabel, isObeyed } from "../../runtime/text.js";
import type { TemplateDocument } from "./template-documents.js";
import { longestLabel } from "../../entities/lengths.js";

/** Maximum length of a label that gets a number. */
const longestNumbered = 60;

/** The labels of a kind of objects in documents: by member, whether the label must not be empty, or be unique in its list. */
interface Labels {
  members: Readonly<Record<string, "optional" | "required" | "unique">>;
  /** The lists of further objects. */
  lists?: Readonly<Record<string, Labels>>;
}

const script: Labels = { members: { display_name: "required" } };
const app: Labels = { members: { display_name: "optional", group: "optional" } };
const agent: Labels = { members: {}, lists: { apps: app, scripts: script } };
const metadata: Labels = { members: { key: "required" } };
const resource: Labels = {
  members: { name: "unique", type: "optional", display_name: "optional" },
  lists: { metadata, agents: agent },
};
const option: Labels = { members: { name: "unique", display_name: "optional" } };
const parameter: Labels = { members: { display_name: "optional" }, lists: { options: option } };
const preset: Labels = { members: { name: "unique", display_name: "optional" } };

/**
 * Cleans the labels of documents of earlier releases, which may have characters that terminals and pages obey. Documents are
 * stored by their hash and never change: they are cleaned whenever they are read. Returns the value itself if it is clean.
 */
export const withCleanLabels = (document: TemplateDocument): TemplateDocument =>
  inObject(document, { members: {}, lists: { resources: resource, parameters: parameter, presets: preset } });

/** The same for resources, as a daemon reports those of a document that it got from an earlier release. */
export const withCleanResources = <Entry>(resources: readonly Entry[]): readonly Entry[] => inList(resources, resource);

/** The same for parameters. */
export const withCleanParameters = <Entry>(parameters: readonly Entry[]): readonly Entry[] =>
  inList(parameters, parameter);

function inObject<Value>(value: Value, { members, lists = {} }: Labels): Value {
  if (!isObject(value)) return value;
  const changes: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(members)) {
    const found = value[name];
    // Those that must be unique are cleaned with their neighbors.
    if (kind !== "unique" && isUnclean(found)) changes[name] = clean(found, kind);
  }
  for (const [name, labels] of Object.entries(lists)) {
    const found = value[name];
    const made = Array.isArray(found) ? inList(found, labels) : found;
    if (made !== found) changes[name] = made;
  }
  return Object.keys(changes).length > 0 ? { ...value, ...changes } : value;
}

function inList<Entry>(entries: readonly Entry[], labels: Labels): readonly Entry[] {
  let made = entries.map((each) => inObject(each, labels));
  for (const [name, kind] of Object.entries(labels.members)) if (kind === "unique") made = withUnique(made, name);
  return made.some((each, index) => each !== entries[index]) ? made : entries;
}

/** Cleans a label that is unique in a list. Where two become equal, the later one gets a number, as in `name-2`. */
function withUnique<Entry>(entries: Entry[], name: string): Entry[] {
  const labelOf = (entry: Entry): unknown => (isObject(entry) ? entry[name] : undefined);
  if (!entries.some((each) => isUnclean(labelOf(each)))) return entries;
  const taken = new Set(entries.map(labelOf));
  return entries.map((each) => {
    const label = labelOf(each);
    if (!isUnclean(label)) return each;
    const base = clean(label, "unique");
    let free = base;
    for (let n = 2; taken.has(free); n++) free = `${cleanLabel(base, longestNumbered)}-${n}`;
    taken.add(free);
    return { ...each, [name]: free };
  });
}

const isUnclean = (label: unknown): label is string => typeof label === "string" && isObeyed(label);

const clean = (label: string, kind: Labels["members"][string]): string =>
  cleanLabel(label, longestLabel) || (kind === "optional" ? "" : "unnamed");
