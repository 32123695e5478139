// Templates as files: those that a template begins with, and those of a version that the server has.
import { constants } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { starters } from "../api/template-starters.js";
import type { Api } from "./api.js";
import { command, flag, isId, limit, limitOf, text, UsageError } from "./command.js";
import { existing, Failed } from "./failures.js";
import { moment } from "./output.js";
import { findTemplate } from "./find-template.js";
import { TemplateVersions, type TemplateVersionsQuery, VersionDocument } from "./templates.gql.js";

const organization = text("O", "Its organization: name or ID. Default: the default one.");
const force = flag("Replace the file if there is one.");

/** Writes the document of a template to its directory, which is created. Returns the path. */
async function writeDocument(directory: string, document: object, isForced: boolean): Promise<string> {
  const path = join(directory, "template.json");
  const { O_WRONLY, O_CREAT, O_TRUNC, O_EXCL } = constants;
  try {
    await mkdir(directory, { recursive: true });
    await writeFile(path, `${JSON.stringify(document, null, 2)}\n`, {
      flag: O_WRONLY | O_CREAT | (isForced ? O_TRUNC : O_EXCL),
    });
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failed(
      code === "EEXIST"
        ? `There is a ${path} already. To replace it, use --force.`
        : `${path} cannot be written (${code}).`,
      { cause: error },
    );
  }
}

const names = starters.map(({ name }) => name).join(", ");

export const init = command({
  usage: "templates init DIR",
  summary: `Write DIR/template.json for a new template, as one of these: ${starters
    .map(({ name, title }) => `${name} (${title.charAt(0).toLowerCase()}${title.slice(1)})`)
    .join(", ")}.`,
  takes: [1, 1],
  options: { starter: text("S", `One of ${names}. Default: ${starters[0]!.name}.`), force },
  run: async ({ words: [directory = ""], options, output }) => {
    const wanted = options.starter ?? starters[0]!.name;
    const starter = starters.find(({ name }) => name === wanted);
    if (!starter) throw new UsageError(`--starter must be one of ${names}.`);
    const path = await writeDocument(directory, starter.document, options.force);
    const variables = starter.document.variables ?? [];
    for (const { name, description } of variables)
      output.note(`Set ${name} in ${join(directory, "variables.json")}: ${description}`);
    output.done(
      { path, starter: starter.name },
      `${path} is written. To create the template: templates push ${directory}`,
    );
  },
});

type Versions = NonNullable<TemplateVersionsQuery["template"]>["versions"];

/** The versions of a template, the newest first, and the active one. */
async function versionsOf(api: Api, reference: string, of: string | undefined, first: number) {
  const { id, name } = await findTemplate(api, reference, of);
  const { template } = await api.run(TemplateVersions, { id, first });
  const { activeVersion, versions } = await existing(`template "${reference}"`, Promise.resolve(template));
  return { name, activeId: activeVersion?.id, versions };
}

const stateOf = (version: Versions["nodes"][number], activeId: string | undefined): string =>
  version.archivedAt ? "archived" : version.id === activeId ? "active" : version.isImported ? "" : "not imported";

export const versions = command({
  usage: "templates versions NAME",
  summary: "List the versions of a template, the newest first.",
  takes: [1, 1],
  options: { organization, limit },
  run: async ({ api: open, words: [reference = ""], options, output }) => {
    const first = limitOf(options.limit);
    const found = await versionsOf(await open(), reference, options.organization, first);
    const nodes = found.versions.nodes.map((version) => ({ ...version, isActive: version.id === found.activeId }));
    output.page(
      { ...found.versions, nodes },
      {
        VERSION: ({ name }) => name,
        STATE: (version) => stateOf(version, found.activeId),
        CREATED: ({ createdAt }) => moment(createdAt),
        BY: ({ creator }) => creator.username,
        ID: ({ id }) => id,
      },
    );
  },
});

/** The largest number of versions among which one is found by its name. */
const mostSearched = 1000;

export const pull = command({
  usage: "templates pull NAME [DIR]",
  summary:
    "Write the document of a template to DIR/template.json; the default of DIR is NAME. Values of variables stay at the server. A login or an API token needs the scope file:read in addition.",
  takes: [1, 2],
  options: { organization, version: text("V", "Name of the version. Default: the active one."), force },
  run: async ({ api: open, words: [reference = "", directory], options, output }) => {
    // Never a name that the server chose.
    const place = directory ?? reference;
    if (place === reference && isId(reference)) throw new UsageError("With an ID, specify DIR as well.");
    const api = await open();
    const { name, activeId, versions: all } = await versionsOf(api, reference, options.organization, mostSearched);
    const wanted = options.version;
    const id = wanted === undefined ? activeId : all.nodes.find((version) => version.name === wanted)?.id;
    if (id === undefined)
      throw new Failed(
        wanted === undefined
          ? `The template ${name} has no active version.`
          : `The template ${name} has no version "${wanted}".`,
      );
    const { templateVersion } = await api.run(VersionDocument, { id });
    if (!templateVersion?.document) throw new Failed(`You may not read the document of the template ${name}.`);
    const path = await writeDocument(place, templateVersion.document, options.force);
    output.done(
      { path, name, version: templateVersion.name },
      `${path} has version ${templateVersion.name} of the template ${name}.`,
    );
  },
});
