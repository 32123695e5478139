import { Arg, Ctx, Field, InputType, Int, Mutation, ObjectType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  createTemplate,
  type CreateTemplate,
  deleteTemplate,
  durationRule,
  updateTemplate,
  type UpdateTemplate,
  Weekday,
} from "../../domain/templates/changes.js";
import { findTemplate, type TemplateRow } from "../../domain/templates/templates.js";
import { findVersion } from "../../domain/templates/versions.js";
import { Access } from "../engine/access.js";
import { JSONObject, Url, UUID } from "../engine/scalars.js";
import { TemplateType } from "./templates.js";
import { documentDescription, TemplateVariableInput, variablesDescription } from "./version-changes.js";
import { TemplateVersionType } from "./versions.js";

@InputType()
abstract class TemplateFieldsInput {
  @Field(() => String, { nullable: true, description: "Display name, at most 64 characters. Default: empty." })
  displayName?: string | null;
  @Field(() => String, { nullable: true, description: "Description, at most 1000 characters. Default: empty." })
  description?: string | null;
  @Field(() => Url, { nullable: true, description: "URL or path of an icon, or empty. Default: empty." })
  icon?: string | null;
  @Access({ rule: durationRule })
  @Field(() => Int, {
    nullable: true,
    description: "Seconds that workspaces run after a start; 0 sets no limit. Default: 0.",
  })
  defaultTtlSeconds?: number | null;
  @Access({ rule: durationRule })
  @Field(() => Int, {
    nullable: true,
    description: "Seconds that activity adds to the deadline of a workspace. Default: 3600.",
  })
  activityBumpSeconds?: number | null;
  @Field(() => [Weekday], {
    nullable: true,
    description: "Days on which workspaces stop when the quiet hours of their owner start. Default: none.",
  })
  autostopDays?: Weekday[] | null;
  @Access({ rule: durationRule })
  @Field(() => Int, {
    nullable: true,
    description: "Seconds without use after which workspaces become dormant; 0 for never. Default: 0.",
  })
  dormantAfterSeconds?: number | null;
  @Access({ rule: durationRule })
  @Field(() => Int, {
    nullable: true,
    description: "Seconds of dormancy after which workspaces are deleted; 0 for never. Default: 0.",
  })
  deleteAfterSeconds?: number | null;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether users may cancel the builds that they started. Default: true.",
  })
  allowUserCancel?: boolean | null;
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether users without permission to update the template start the active version only. Default: false.",
  })
  requireActiveVersion?: boolean | null;
  @Field(() => String, {
    nullable: true,
    description:
      "Deprecates the template: no workspaces can be created from it any more, and the owners of existing ones get this message, at most 1000 characters. Empty ends the deprecation. Default: empty.",
  })
  deprecationMessage?: string | null;
}

@InputType({ description: "Input of `createTemplate`." })
class CreateTemplateInput extends TemplateFieldsInput implements CreateTemplate {
  @Field({ description: "Organization of the new template: ID, name, or `default`." })
  organization!: string;
  @Field({
    description: "Unique in the organization: at most 32 letters, digits, and single hyphens between them.",
  })
  name!: string;
  @Field(() => JSONObject, { description: documentDescription }) document!: Record<string, unknown>;
  @Field(() => [TemplateVariableInput], { nullable: true, description: variablesDescription })
  variables?: TemplateVariableInput[] | null;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether all members of the organization may use the template. Default: true.",
  })
  everyoneCanUse?: boolean | null;
}

@InputType({ description: "Input of `updateTemplate`. Fields that are omitted or null keep their value." })
class UpdateTemplateInput extends TemplateFieldsInput implements UpdateTemplate {
  @Field(() => UUID, { description: "ID of the template." }) templateId!: string;
  @Field(() => String, { nullable: true, description: "New name, unique in the organization." }) name?: string | null;
}

@InputType({ description: "Input of `deleteTemplate`." })
class DeleteTemplateInput {
  @Field(() => UUID, { description: "ID of the template." }) templateId!: string;
}

/** Payload of mutations of a template, which is read in the transaction of the mutation. */
@ObjectType()
abstract class ChangedTemplate {
  templateId!: string;

  @Access({ covers: "everything" })
  @Field(() => TemplateType, { description: "The template after the change." })
  template(@Ctx() ctx: Context): Promise<TemplateRow> {
    return findTemplate(ctx, this.templateId);
  }
}

@ObjectType({ description: "Payload of `createTemplate`." })
class CreateTemplatePayload extends ChangedTemplate {
  templateVersionId!: string;

  @Access({ covers: "everything" })
  @Field(() => TemplateVersionType, { description: "The first version, whose import is pending." })
  templateVersion(@Ctx() ctx: Context) {
    return findVersion(ctx, this.templateVersionId);
  }
}

@ObjectType({ description: "Payload of `updateTemplate`." })
class UpdateTemplatePayload extends ChangedTemplate {}

@ObjectType({ simpleResolvers: true, description: "Payload of `deleteTemplate`." })
class DeleteTemplatePayload {
  @Access({ covers: "everything" })
  @Field(() => TemplateType, { description: "The deleted template." })
  template!: TemplateRow;
}

@Resolver()
export class TemplateChangesResolver {
  @Access({ needs: ["template:create"] })
  @Mutation(() => CreateTemplatePayload, {
    description: "Creates a template with its first version, which is imported in the background.",
  })
  createTemplate(@Arg("input", { description: "The new template." }) input: CreateTemplateInput, @Ctx() ctx: Context) {
    return createTemplate(ctx, input);
  }

  @Access({ needs: ["template:update"] })
  @Mutation(() => UpdateTemplatePayload, { description: "Changes the names and settings of a template." })
  async updateTemplate(@Arg("input", { description: "The changes." }) input: UpdateTemplateInput, @Ctx() ctx: Context) {
    return { templateId: await updateTemplate(ctx, input) };
  }

  @Access({ needs: ["template:delete"] })
  @Mutation(() => DeleteTemplatePayload, {
    description: "Deletes a template. Its name becomes available again. CONFLICT while it has workspaces.",
  })
  async deleteTemplate(
    @Arg("input", { description: "The template to delete." })
    { templateId }: DeleteTemplateInput,
    @Ctx() ctx: Context,
  ) {
    return { template: await deleteTemplate(ctx, templateId) };
  }
}
