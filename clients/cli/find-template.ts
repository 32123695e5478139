import type { Api } from "./api.js";
import { isId } from "./command.js";
import { existing } from "./failures.js";
import { Template, TemplateByName, type TemplateByNameQuery } from "./templates.gql.js";

export type FoundTemplate = NonNullable<TemplateByNameQuery["template"]>;

/** Finds a template by its name in an organization, or its ID. */
export async function findTemplate(api: Api, reference: string, organization = "default"): Promise<FoundTemplate> {
  const read = isId(reference)
    ? api.run(Template, { id: reference })
    : api.run(TemplateByName, { organization, name: reference });
  return existing(
    `template "${reference}"`,
    read.then(({ template }) => template),
  );
}
