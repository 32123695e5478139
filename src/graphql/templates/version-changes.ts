import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { jobsByIds } from "../../domain/provisioners/jobs.js";
import { findTemplate } from "../../domain/templates/templates.js";
import {
  archiveTemplateVersion,
  createTemplateVersion,
  type CreateTemplateVersion,
  dryRunTemplateVersion,
  type DryRunTemplateVersion,
  setActiveTemplateVersion,
} from "../../domain/templates/version-changes.js";
import { findVersion } from "../../domain/templates/versions.js";
import { Access } from "../engine/access.js";
import { JSONObject, UUID } from "../engine/scalars.js";
import { ProvisionerJobObject } from "../provisioners/jobs.js";
import { TemplateType } from "./templates.js";
import { TemplateVersionType } from "./versions.js";

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
  @Field(() => [TemplateVariableInput], { nullable: true, description: variablesDescription })
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

@ObjectType()
abstract class ChangedVersion {
  templateVersionId!: string;

  @Access({ covers: "everything" })
  @Field(() => TemplateVersionType, { description: "The version after the change." })
  templateVersion(@Ctx() ctx: Context) {
    return findVersion(ctx, this.templateVersionId);
  }
}

@ObjectType({ description: "Payload of `createTemplateVersion`." })
class CreateTemplateVersionPayload extends ChangedVersion {
  templateId!: string;

  @Access({ covers: "everything" })
  @Field(() => TemplateType, { description: "The template of the version." })
  template(@Ctx() ctx: Context) {
    return findTemplate(ctx, this.templateId);
  }
}

@ObjectType({ description: "Payload of `setActiveTemplateVersion`." })
class SetActiveTemplateVersionPayload {
  templateId!: string;

  @Access({ covers: "everything" })
  @Field(() => TemplateType, { description: "The template after the change." })
  template(@Ctx() ctx: Context) {
    return findTemplate(ctx, this.templateId);
  }
}

@ObjectType({ description: "Payload of `archiveTemplateVersion`." })
class ArchiveTemplateVersionPayload extends ChangedVersion {}

@ObjectType({ description: "Payload of `dryRunTemplateVersion`." })
class DryRunTemplateVersionPayload {
  jobId!: string;

  @Access({ covers: "everything" })
  @Field(() => ProvisionerJobObject, { description: "The job of the dry run." })
  provisionerJob(@Ctx() ctx: Context) {
    return ctx.load(jobsByIds, this.jobId);
  }
}

@Resolver()
export class TemplateVersionChangesResolver {
  @Access({ needs: ["template:update"] })
  @Mutation(() => CreateTemplateVersionPayload, {
    description: "Creates a version of a template, which is imported in the background.",
  })
  async createTemplateVersion(
    @Arg("input", { description: "The new version." })
    input: CreateTemplateVersionInput,
    @Ctx() ctx: Context,
  ) {
    return { templateId: input.templateId, templateVersionId: await createTemplateVersion(ctx, input) };
  }

  @Access({ needs: ["template:update"] })
  @Mutation(() => SetActiveTemplateVersionPayload, { description: "Makes a version the one of new workspaces." })
  async setActiveTemplateVersion(
    @Arg("input", { description: "The version." })
    { templateVersionId }: SetActiveTemplateVersionInput,
    @Ctx() ctx: Context,
  ) {
    return { templateId: await setActiveTemplateVersion(ctx, templateVersionId) };
  }

  @Access({ needs: ["template:update"] })
  @Mutation(() => ArchiveTemplateVersionPayload, {
    description: "Archives a version: no workspace can be created from it. CONFLICT for the active version.",
  })
  async archiveTemplateVersion(
    @Arg("input", { description: "The version." })
    { templateVersionId }: ArchiveTemplateVersionInput,
    @Ctx() ctx: Context,
  ) {
    return { templateVersionId: await archiveTemplateVersion(ctx, templateVersionId) };
  }

  @Access({ needs: ["template:update"] })
  @Mutation(() => DryRunTemplateVersionPayload, {
    description: "Lets a provisioner daemon plan a start with these parameters, without a workspace.",
  })
  async dryRunTemplateVersion(
    @Arg("input", { description: "The version and the parameters." })
    input: DryRunTemplateVersionInput,
    @Ctx() ctx: Context,
  ) {
    return { jobId: await dryRunTemplateVersion(ctx, input) };
  }
}
