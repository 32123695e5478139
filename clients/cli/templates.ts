import { command, limit, limitOf, text } from "./command.js";
import { Failed } from "./failures.js";
import { findTemplate, type FoundTemplate } from "./find-template.js";
import { push } from "./push.js";
import { words as wordsOf } from "./output.js";
import { init, pull, versions } from "./template-files.js";
import { Templates } from "./templates.gql.js";

/** The ID of a preset of the active version. */
export function presetOf({ name, activeVersion }: FoundTemplate, preset: string): string {
  const presets = activeVersion?.presets ?? [];
  const found = presets.find((each) => each.id === preset || each.name.toLowerCase() === preset.toLowerCase());
  if (found) return found.id;
  const known = presets.map((each) => each.name).join(", ") || "none";
  throw new Failed(`The template ${name} has no preset "${preset}". Its presets: ${known}.`);
}

const list = command({
  usage: "templates list",
  summary: "List the templates that you may use.",
  options: {
    organization: text("O", "Only those of an organization: name or ID."),
    search: text("TEXT", "Part of the name."),
    limit,
  },
  run: async ({ api: open, options, output }) => {
    const filter = { organization: options.organization ?? null, search: options.search ?? null };
    const first = limitOf(options.limit);
    const { templates } = await (await open()).run(Templates, { filter, first });
    output.page(templates, {
      NAME: ({ name }) => name,
      ORGANIZATION: ({ organization }) => organization.name,
      VERSION: ({ activeVersion }) => activeVersion?.name ?? "",
      TASKS: ({ activeVersion }) => (activeVersion?.hasAiTask ? "tasks" : ""),
      DESCRIPTION: ({ description, deprecationMessage }) =>
        deprecationMessage ? `Deprecated: ${deprecationMessage}` : description,
    });
  },
});

const show = command({
  usage: "templates show NAME",
  summary: "Show a template with its parameters and presets.",
  takes: [1, 1],
  options: { organization: text("O", "Its organization: name or ID. Default: the default one.") },
  run: async ({ api: open, words: [reference = ""], options, output }) => {
    const template = await findTemplate(await open(), reference, options.organization);
    const { activeVersion } = template;
    output.object(template, [
      ["Name", template.name],
      ["Display name", template.displayName],
      ["ID", template.id],
      ["Organization", template.organization.name],
      ["Description", template.description],
      ["Deprecated", template.deprecationMessage],
      ["Version", activeVersion?.name ?? "none is active"],
      ["Tasks", activeVersion?.hasAiTask ? "yes" : "no"],
      ...(activeVersion?.parameters ?? []).map((each) => [`Parameter ${each.name}`, parameterText(each)] as const),
      ...(activeVersion?.presets ?? []).map((each) => [`Preset ${each.name}`, presetText(each)] as const),
    ]);
  },
});

type Version = NonNullable<FoundTemplate["activeVersion"]>;

function parameterText({ type, defaultValue, options, isMutable, description }: Version["parameters"][number]): string {
  const parts = [
    wordsOf(type),
    defaultValue === null ? "required" : `default ${JSON.stringify(defaultValue)}`,
    ...(options.length > 0 ? [`one of ${options.map(({ value }) => value).join(", ")}`] : []),
    ...(isMutable ? [] : ["fixed after the first start"]),
    ...(description ? [description] : []),
  ];
  return parts.join("; ");
}

function presetText({ parameters, isDefault, description }: Version["presets"][number]): string {
  const values = parameters.map(({ name, value }) => `${name}=${value}`).join(", ");
  return [...(isDefault ? ["default"] : []), values, description].filter(Boolean).join("; ") || "no values";
}

export const templateCommands = {
  "templates list": list,
  "templates show": show,
  "templates versions": versions,
  "templates init": init,
  "templates pull": pull,
  "templates push": push,
};
