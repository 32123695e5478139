import { basename, join, resolve } from "node:path";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { CheckFailed, type Command, parsed, UsageError } from "./command.js";
import { DocumentFile, type FaultText } from "./document-file.js";
import { ApiFailure, StewardApi } from "./steward-api.js";

const push: Command = {
  usage: "templates push DIR [--name N] [--organization O]",
  summary:
    "Create a version of a template from DIR/template.json, wait for its import, and make it the one of new workspaces. The template is created if there is none. STEWARD_URL has the URL of the server; STEWARD_TOKEN, or the file STEWARD_TOKEN_FILE, a session or API token with the scopes template:*, organization:read, and provisioner_job:read.",
  options: [
    ["--name N", "Name of the template. Default: that of the directory."],
    ["--organization O", "Organization: name or ID. Default: the default one."],
    ["--version-name V", "Name of the version, unless it is the first. Default: v and its number."],
    ["--no-activate", "Leave the active version as it is."],
  ],
  run: async (words) => {
    const string = { type: "string" } as const;
    const { values, positionals } = parsed({
      args: words,
      options: {
        name: string,
        organization: { ...string, default: "default" },
        "version-name": string,
        "no-activate": { type: "boolean", default: false },
      },
      allowPositionals: true,
    });
    if (positionals.length !== 1) throw new UsageError("Specify one directory.");
    const directory = positionals[0]!;
    const api = StewardApi.configured();
    const files = await readFiles(directory);
    const { organization } = values;
    const name = values.name ?? basename(resolve(directory));
    const options = { versionName: values["version-name"] ?? null, activate: !values["no-activate"] };
    const created = await create(api, files, { organization, name, ...options });
    const { isActive, version } = await imported(api, created);
    return `Version ${version} of the template ${name} is imported${isActive ? ", and new workspaces use it" : ""}.`;
  },
};

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

const templateByName = /* GraphQL */ `
  query TemplateByName($organization: String!, $name: String!) {
    templateByName(organization: $organization, name: $name) {
      id
    }
  }
`;

const createTemplate = /* GraphQL */ `
  mutation CreateTemplate($input: CreateTemplateInput!) {
    created: createTemplate(input: $input) {
      templateVersion {
        id
      }
    }
  }
`;

const createTemplateVersion = /* GraphQL */ `
  mutation CreateTemplateVersion($input: CreateTemplateVersionInput!) {
    created: createTemplateVersion(input: $input) {
      templateVersion {
        id
      }
    }
  }
`;

/** Creates a version, and the template if there is none. Returns the id of the version. */
async function create(api: StewardApi, files: Files, version: NewVersion): Promise<string> {
  const { organization, name, versionName, activate } = version;
  const variables = Object.entries(files.variables?.content ?? {}).map(([variable, value]) => ({
    name: variable,
    value: typeof value === "string" ? value : JSON.stringify(value),
  }));
  const content = { document: files.document.content, variables };
  const id = await idOf(api, organization, name);
  const [mutation, input] =
    id === undefined
      ? [createTemplate, { organization, name, ...content }]
      : [createTemplateVersion, { templateId: id, name: versionName, activate, ...content }];
  try {
    const { created } = await api.run<{ created: { templateVersion: { id: string } } }>(mutation, { input });
    return created.templateVersion.id;
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.faults.length === 0) throw readable(error);
    const nameOption = id === undefined ? "name" : "version-name";
    const faults = error.faults.map(({ field, detail }) => faultText(files, field, detail, nameOption));
    const inOrder = faults.toSorted((a, b) => a.offset - b.offset).map(({ text }) => text);
    throw new CheckFailed([...inOrder, "The template was not changed."].join("\n"));
  }
}

/** The id of a template; `undefined` if there is none of the name, or the caller may not read it. */
async function idOf(api: StewardApi, organization: string, name: string): Promise<string | undefined> {
  try {
    const found = await api.run<{ templateByName: { id: string } }>(templateByName, { organization, name });
    return found.templateByName.id;
  } catch (error) {
    if (error instanceof ApiFailure && error.code === "NOT_FOUND") return undefined;
    throw readable(error);
  }
}

/** A failure as the user reads it. Others are defects. */
const readable = (error: unknown): unknown => (error instanceof ApiFailure ? new CheckFailed(error.message) : error);

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

const templateVersion = /* GraphQL */ `
  query TemplateVersion($id: UUID!, $after: String) {
    templateVersion(id: $id) {
      name
      isImported
      template {
        activeVersion {
          id
        }
      }
      job {
        status
        error
        matchedProvisioners {
          count
        }
        provisioner
        logs(first: 1000, after: $after) {
          nodes {
            stage
            output
          }
          pageInfo {
            endCursor
          }
        }
      }
    }
  }
`;

interface Version {
  name: string;
  isImported: boolean;
  template: { activeVersion: { id: string } | null };
  job: {
    status: "PENDING" | "RUNNING" | "CANCELING" | "SUCCEEDED" | "FAILED" | "CANCELED";
    error: string | null;
    matchedProvisioners: { count: number };
    provisioner: string;
    logs: { nodes: Array<{ stage: string; output: string }>; pageInfo: { endCursor: string | null } };
  } | null;
}

/** Milliseconds from one question for the import to the next. */
const interval = 500;

/** Waits until a version is imported; the server ends imports that last too long. Throws a `CheckFailed` if that fails. */
async function imported(api: StewardApi, id: string): Promise<{ version: string; isActive: boolean }> {
  const log: string[] = [];
  let after: string | null = null;
  for (let isFirst = true; ; isFirst = false) {
    if (!isFirst) await sleep(interval);
    const found: { templateVersion: Version } = await api
      .run<{ templateVersion: Version }>(templateVersion, { id, after })
      .catch((error: unknown) => Promise.reject(readable(error)));
    const { name, isImported, template, job } = found.templateVersion;
    if (isImported) return { version: name, isActive: template.activeVersion?.id === id };
    if (!job) throw new CheckFailed(`Version ${name} was created, but this token may not see its import.`);
    log.push(...job.logs.nodes.map(({ stage, output }) => (stage ? `${stage}: ${output}` : output)));
    after = job.logs.pageInfo.endCursor ?? after;
    if (isFirst && job.status === "PENDING" && job.matchedProvisioners.count === 0)
      process.stderr.write(`Waiting for a provisioner daemon that offers ${job.provisioner}: there is none yet.\n`);
    if (job.status === "FAILED" || job.status === "CANCELED")
      throw new CheckFailed([...log, `The import of version ${name} failed: ${job.error ?? "canceled"}`].join("\n"));
  }
}

export const templateCommands: Record<string, Command> = { "templates push": push };
