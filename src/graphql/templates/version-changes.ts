import { Arg, Ctx, Field, InputType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  archiveTemplateVersion,
  createTemplateVersion,
  type CreateTemplateVersion,
  dryRunTemplateVersion,
  type DryRunTemplateVersion,
  setActiveTemplateVersion,
} from "../../domain/templates/version-changes.js";
import { findVersion } from "../../domain/templates/template-versions.js";
import { findTemplate } from "../../domain/templates/templates.js";
import { jobsByIds } from "../../domain/provisioners/provisioner-jobs.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { JSONObject, UUID } from "../engine/scalars.js";
import { ProvisionerJobObject } from "../provisioners/provisioner-jobs.js";
import { TemplateType } from "./templates.js";
import { TemplateVersionType } from "./template-versions.js";

@InputType({ description: "The value of a variable of a template document." })
export class TemplateVariableInput {
  @Field({ description: "Name of the variable." }) name!: string;
  @Field({
    description: "Its value, at most 8192 bytes: numbers and booleans in JSON. Stored encrypted.",
  })
  value!: string;
}

@InputType({ description: "The value of a parameter of a template document." })
export class ParameterInput {
  @Field({ description: "Name of the parameter." }) name!: string;
  @Field({ description: "Its value, at most 8192 bytes: numbers, booleans, and lists in JSON." })
  value!: string;
}

export const documentDescription =
  "The document, at most 256 KiB of JSON: schema `steward.template/1`. All faults are reported together, by their paths in the document.";
export const variablesDescription =
  "Values of the variables of the document. Without a value that is required, the import fails with REQUIRED_TEMPLATE_VARIABLES.";

@InputType({ description: "Input of `createTemplateVersion`." })
class CreateTemplateVersionInput implements CreateTemplateVersion {
  @Field(() => UUID, { description: "ID of the template." }) templateId!: string;
  @Field(() => String, {
    nullable: true,
    description:
      "Name, unique in the template: 1 to 64 letters, digits, dots, hyphens and underscores. Default: `v` and the number of the version.",
  })
  name?: string | null;
  @Field(() => JSONObject, { description: documentDescription }) document!: Record<string, unknown>;
  @Field(() => [TemplateVariableInput], {
    nullable: true,
    description: `${variablesDescription} Those that are not given have the values of the version before. The value of a sensitive one must be given again for a version that makes it plain, could show it (in metadata and other texts of resources, parameters, or the source), or goes to other daemons (by its provisioner or tags).`,
  })
  variables?: TemplateVariableInput[] | null;
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether it becomes the active version when it is imported. The first version always does. Default: false.",
  })
  activate?: boolean | null;
}

@InputType({ description: "Input of `setActiveTemplateVersion`." })
class SetActiveTemplateVersionInput {
  @Field(() => UUID, { description: "ID of the version: imported, and not archived." }) templateVersionId!: string;
}

@InputType({ description: "Input of `archiveTemplateVersion`." })
class ArchiveTemplateVersionInput {
  @Field(() => UUID, { description: "ID of the version." }) templateVersionId!: string;
}

@InputType({ description: "Input of `dryRunTemplateVersion`." })
class DryRunTemplateVersionInput implements DryRunTemplateVersion {
  @Field(() => UUID, { description: "ID of the version." }) templateVersionId!: string;
  @Field(() => UUID, { nullable: true, description: "ID of a preset of the version. Default: none." })
  presetId?: string | null;
  @Field(() => [ParameterInput], { nullable: true, description: "Parameter values. Default: those of the preset." })
  parameters?: ParameterInput[] | null;
}

const changedVersion = {
  templateVersion: {
    type: () => TemplateVersionType,
    description: "The version after the change.",
    covers: "everything",
  },
} as const;

@Resolver()
export class TemplateVersionChangesResolver {
  @Access({ needs: ["template:update"] })
  @Mutates("Creates a version of a template, which is imported in the background.", {
    ...changedVersion,
    template: { type: () => TemplateType, description: "The template of the version.", covers: "everything" },
  })
  async createTemplateVersion(
    @Arg("input", { description: "The new version." })
    input: CreateTemplateVersionInput,
    @Ctx() ctx: Context,
  ) {
    const id = await createTemplateVersion(ctx, input);
    return { templateVersion: () => findVersion(ctx, id), template: () => findTemplate(ctx, input.templateId) };
  }

  @Access({ needs: ["template:update"] })
  @Mutates("Makes a version the one of new workspaces.", {
    template: { type: () => TemplateType, description: "The template after the change.", covers: "everything" },
  })
  async setActiveTemplateVersion(
    @Arg("input", { description: "The version." })
    { templateVersionId }: SetActiveTemplateVersionInput,
    @Ctx() ctx: Context,
  ) {
    const id = await setActiveTemplateVersion(ctx, templateVersionId);
    return { template: () => findTemplate(ctx, id) };
  }

  @Access({ needs: ["template:update"] })
  @Mutates("Archives a version: no workspace can be created from it. CONFLICT for the active version.", changedVersion)
  async archiveTemplateVersion(
    @Arg("input", { description: "The version." })
    { templateVersionId }: ArchiveTemplateVersionInput,
    @Ctx() ctx: Context,
  ) {
    const id = await archiveTemplateVersion(ctx, templateVersionId);
    return { templateVersion: () => findVersion(ctx, id) };
  }

  @Access({ needs: ["template:update"] })
  @Mutates("Lets a provisioner daemon plan a start with these parameters, without a workspace.", {
    provisionerJob: { type: () => ProvisionerJobObject, description: "The job of the dry run.", covers: "everything" },
  })
  async dryRunTemplateVersion(
    @Arg("input", { description: "The version and the parameters." })
    input: DryRunTemplateVersionInput,
    @Ctx() ctx: Context,
  ) {
    const id = await dryRunTemplateVersion(ctx, input);
    return { provisionerJob: () => ctx.load(jobsByIds, id) };
  }
}
