// The values that a version of a template takes over from the version before.
import { isDeepStrictEqual } from "node:util";
import type { Context } from "../kernel/context.js";
import { templatesIn, variablesIn } from "./references.js";
import type { DocumentVariable, TemplateDocument } from "./template-documents.js";
import { documentsById } from "./template-versions.js";
import { type KeptVariables, openVariables, type VariableValue } from "./variables.js";

const nothingKept: KeptVariables = { values: new Map(), withheld: new Set() };

/** Reads what a version with a document has of the latest version of a locked template. */
export async function keptFromLatest(ctx: Context, templateId: string, next: TemplateDocument): Promise<KeptVariables> {
  if (next.variables.length === 0) return nothingKept;
  const before = await ctx.db
    .selectFrom("templateVersions")
    .select(["id", "templateId", "documentId", "variablesKeyId", "variablesNonce", "variablesCiphertext"])
    .where("templateId", "=", templateId)
    .orderBy("createdAt", "desc")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  if (!before) return nothingKept;
  const document = await ctx.load(documentsById, before.documentId);
  return keptVariables(document, openVariables(ctx.services, before), next);
}

/**
 * Chooses which values of a version the next one keeps. A value that was the default of the former document is not one that
 * a user gave: the next document's default takes its place.
 */
function keptVariables(
  before: TemplateDocument,
  stored: readonly VariableValue[],
  next: TemplateDocument,
): KeptVariables {
  const former = new Map(before.variables.map((variable) => [variable.name, variable]));
  const declared = new Map(next.variables.map((variable) => [variable.name, variable]));
  const values = new Map<string, string>();
  const withheld = new Set<string>();
  for (const { name, value } of stored) {
    const was = former.get(name);
    const is = declared.get(name);
    if (!was || !is || isDefault(was, value, is)) continue;
    if (was.sensitive && (!is.sensitive || isElsewhere(before, next) || isShown(next, name))) withheld.add(name);
    else values.set(name, value);
  }
  return { values, withheld };
}

const isDefault = (was: DocumentVariable, value: string, is: DocumentVariable): boolean =>
  was.default === value && is.default !== undefined;

/** Whether other daemons than before may get the values. */
const isElsewhere = (before: TemplateDocument, next: TemplateDocument): boolean =>
  before.provisioner !== next.provisioner || !isDeepStrictEqual(before.tags, next.tags);

/** The paths of texts that no user is shown: they go to the programs of a workspace alone. */
const unshownPath = /\.(env\.[^]*|command\[\d+\])$/;

/**
 * Whether a document shows the value of a variable to people: in resources, apart from the environments and commands of
 * agents, in parameters and presets, or by the source of another provisioner, whose language is not known.
 */
function isShown({ resources, parameters, presets, source }: TemplateDocument, name: string): boolean {
  for (const { text, path } of templatesIn(resources, "resources"))
    if (!unshownPath.test(path) && variablesIn(text).includes(name)) return true;
  if (variablesIn(JSON.stringify([parameters, presets])).includes(name)) return true;
  return (
    source !== undefined &&
    JSON.stringify(source)
      .split(/[^\w-]+/)
      .includes(name)
  );
}
