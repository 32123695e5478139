import { Arg, Ctx, Field, InputType, Int, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  AutomaticUpdates,
  createTemplate,
  type CreateTemplate,
  deleteTemplate,
  templateDuration,
  updateTemplate,
  type UpdateTemplate,
  Weekday,
} from "../../domain/templates/template-changes.js";
import { findTemplate } from "../../domain/templates/templates.js";
import { findVersion } from "../../domain/templates/template-versions.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { JSONObject, Url, UUID } from "../engine/scalars.js";
import { TemplateType } from "./templates.js";
import { documentDescription, TemplateVariableInput, variablesDescription } from "./version-changes.js";
import { TemplateVersionType } from "./template-versions.js";

@InputType()
abstract class TemplateFieldsInput {
  @Field(() => String, { nullable: true, description: "Display name, at most 64 characters. Default: empty." })
  displayName?: string | null;
  @Field(() => String, { nullable: true, description: "Description, at most 1000 characters. Default: empty." })
  description?: string | null;
  @Field(() => Url, { nullable: true, description: "URL or path of an icon, or empty. Default: empty." })
  icon?: string | null;
  @Access({ value: templateDuration })
  @Field(() => Int, {
    nullable: true,
    description: "Seconds that workspaces run after a start; 0 sets no limit. Default: 0.",
  })
  defaultTtlSeconds?: number | null;
  @Access({ value: templateDuration })
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
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether owners may have their workspaces started by a schedule. If not, schedules that exist have no effect. Default: true.",
  })
  allowUserAutostart?: boolean | null;
  @Field(() => [Weekday], {
    nullable: true,
    description: "Days on which schedules start workspaces, in the time zone of each schedule. Default: all.",
  })
  autostartDays?: Weekday[] | null;
  @Field(() => AutomaticUpdates, {
    nullable: true,
    description: "When starts of workspaces take the active version by themselves. Default: `OWNERS_CHOICE`.",
  })
  automaticUpdates?: AutomaticUpdates | null;
  @Access({ value: templateDuration })
  @Field(() => Int, {
    nullable: true,
    description: "Seconds without use after which workspaces become dormant; 0 for never. Default: 0.",
  })
  dormantAfterSeconds?: number | null;
  @Access({ value: templateDuration })
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

const changedTemplate = {
  template: { type: () => TemplateType, description: "The template after the change.", covers: "everything" },
} as const;

@Resolver()
export class TemplateChangesResolver {
  @Access({ needs: ["template:create"] })
  @Mutates("Creates a template with its first version, which is imported in the background.", {
    ...changedTemplate,
    templateVersion: {
      type: () => TemplateVersionType,
      description: "The first version, whose import is pending.",
      covers: "everything",
    },
  })
  async createTemplate(
    @Arg("input", { description: "The new template." }) input: CreateTemplateInput,
    @Ctx() ctx: Context,
  ) {
    const { templateId, templateVersionId } = await createTemplate(ctx, input);
    return {
      template: () => findTemplate(ctx, templateId),
      templateVersion: () => findVersion(ctx, templateVersionId),
    };
  }

  @Access({ needs: ["template:update"] })
  @Mutates("Changes the names and settings of a template.", changedTemplate)
  async updateTemplate(@Arg("input", { description: "The changes." }) input: UpdateTemplateInput, @Ctx() ctx: Context) {
    const id = await updateTemplate(ctx, input);
    return { template: () => findTemplate(ctx, id) };
  }

  @Access({ needs: ["template:delete"] })
  @Mutates("Deletes a template. Its name becomes available again. CONFLICT while it has workspaces.", {
    template: { type: () => TemplateType, description: "The deleted template.", covers: "everything" },
  })
  async deleteTemplate(
    @Arg("input", { description: "The template to delete." })
    { templateId }: DeleteTemplateInput,
    @Ctx() ctx: Context,
  ) {
    return { template: await deleteTemplate(ctx, templateId) };
  }
}
