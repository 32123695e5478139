import { basename, join, resolve } from "node:path";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { CheckFailed } from "../../src/runtime/command-line.js";
import type { Api } from "./api.js";
import { waitReporter } from "./builds.js";
import { command, flag, text } from "./command.js";
import { DocumentFile, type FaultText } from "./document-file.js";
import { ApiFailure, Failed } from "./failures.js";
import type { Output } from "./output.js";
import {
  CreateTemplate,
  CreateTemplateVersion,
  ImportedVersion,
  type ImportedVersionQuery,
  TemplateId,
} from "./push.gql.js";

export const push = command({
  usage: "templates push DIR",
  summary:
    "Create a version of a template from DIR/template.json, with values of its variables from DIR/variables.json if there is one, wait for its import, and make it the one of new workspaces. The template is created if there is none. An API token needs the scopes template:*, organization:read, and provisioner_job:read.",
  takes: [1, 1],
  options: {
    name: text("N", "Name of the template. Default: that of the directory."),
    organization: text("O", "Organization: name or ID. Default: the default one."),
    "version-name": text("V", "Name of the version, unless it is the first. Default: v and its number."),
    "no-activate": flag("Leave the active version as it is."),
  },
  run: async ({ words: [directory = ""], options, api: open, output, signal }) => {
    const api = await open();
    const files = await readFiles(directory);
    const { organization = "default", name = basename(resolve(directory)) } = options;
    const version = { versionName: options["version-name"] ?? null, activate: !options["no-activate"] };
    const created = await create(api, files, { organization, name, ...version });
    const done = await importVersion(api, created, output, signal);
    const isUsed = done.isActive ? ", and new workspaces use it" : "";
    output.done(done, `Version ${done.version} of the template ${name} is imported${isUsed}.`);
  },
});

interface Files {
  document: DocumentFile;
  /** The values of variables by name. */
  variables: DocumentFile | undefined;
}

async function readFiles(directory: string): Promise<Files> {
  const path = join(directory, "variables.json");
  const document = await DocumentFile.read(join(directory, "template.json"));
  return { document, variables: existsSync(path) ? await DocumentFile.read(path) : undefined };
}

interface NewVersion {
  organization: string;
  name: string;
  versionName: string | null;
  activate: boolean;
}

/** Creates a version, and the template if there is none. Returns the id of the version. */
async function create(api: Api, files: Files, version: NewVersion): Promise<string> {
  const { organization, name, versionName, activate } = version;
  const variables = Object.entries(files.variables?.content ?? {}).map(([variable, value]) => ({
    name: variable,
    value: typeof value === "string" ? value : JSON.stringify(value),
  }));
  const content = { document: files.document.content, variables };
  const id = await idOf(api, organization, name);
  try {
    const { created } =
      id === undefined
        ? await api.run(CreateTemplate, { input: { organization, name, ...content } })
        : await api.run(CreateTemplateVersion, {
            input: { templateId: id, name: versionName, activate, ...content },
          });
    return created.templateVersion.id;
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.faults.length === 0) throw error;
    const nameOption = id === undefined ? "name" : "version-name";
    const faults = error.faults.map(({ field, detail }) => faultText(files, field, detail, nameOption));
    const inOrder = faults.toSorted((a, b) => a.offset - b.offset).map((fault) => fault.text);
    throw new CheckFailed([...inOrder, "The template was not changed."].join("\n"));
  }
}

/** The id of a template; `undefined` if there is none of the name, or the caller may not read it. */
async function idOf(api: Api, organization: string, name: string): Promise<string | undefined> {
  try {
    return (await api.run(TemplateId, { organization, name })).templateByName?.id;
  } catch (error) {
    if (error instanceof ApiFailure && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}

/** Formats a fault that the server found, with the file, line, and column of its cause. */
function faultText({ document, variables }: Files, field: string, detail: string, nameOption: string): FaultText {
  const path = field.replace(/^input\./, "");
  const [, member] = /^document\.?(.*)$/s.exec(path) ?? [];
  if (member !== undefined) return document.fault(member, detail);
  const [, index] = /^variables\[(\d+)\]/.exec(path) ?? [];
  const variable = index === undefined ? undefined : Object.keys(variables?.content ?? {})[Number(index)];
  if (variables && variable !== undefined) return variables.fault(variable, detail);
  return { offset: -1, text: `--${path === "name" ? nameOption : path}: ${detail}` };
}

/** Milliseconds from one question for the import to the next. */
const interval = 500;

/** Waits until a version is imported; the server ends imports that last too long. Throws a `CheckFailed` if that fails. */
async function importVersion(api: Api, id: string, output: Output, signal: AbortSignal) {
  const log: string[] = [];
  const reportWait = waitReporter(output);
  let after: string | null = null;
  for (let isFirst = true; ; isFirst = false) {
    if (!isFirst) await sleep(interval, undefined, { signal }).catch(() => {});
    const found: ImportedVersionQuery = await api.run(ImportedVersion, { id, after });
    const { name, isImported, template, job } = found.templateVersion!;
    if (isImported) return { id, version: name, isActive: template.activeVersion?.id === id };
    if (!job) throw new Failed(`Version ${name} was created, but this token may not see its import.`);
    log.push(...job.logs.nodes.map((line) => (line.stage ? `${line.stage}: ${line.output}` : line.output)));
    after = job.logs.pageInfo.endCursor ?? after;
    reportWait(job);
    if (job.status === "FAILED" || job.status === "CANCELED")
      throw new CheckFailed([...log, `The import of version ${name} failed: ${job.error ?? "canceled"}`].join("\n"));
  }
}
