import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  createTemplate,
  deleteTemplate,
  updateTemplate,
  CreateTemplate,
  UpdateTemplate,
} from "../../domain/templates/template-changes.js";
import { NamedTemplate, findTemplate } from "../../domain/templates/templates.js";
import { findVersion } from "../../domain/templates/template-versions.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { TemplateType } from "./templates.js";
import { TemplateVersionType } from "./template-versions.js";
import { inputType } from "../engine/inputs.js";

const CreateTemplateInput = inputType("CreateTemplateInput", CreateTemplate);

const UpdateTemplateInput = inputType("UpdateTemplateInput", UpdateTemplate, {
  description: "Input of `updateTemplate`. Fields that are omitted or null keep their value.",
});

const DeleteTemplateInput = inputType("DeleteTemplateInput", NamedTemplate);

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
    @Arg("input", () => CreateTemplateInput, { description: "The new template." }) input: CreateTemplate,
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
  async updateTemplate(
    @Arg("input", () => UpdateTemplateInput, { description: "The changes." }) input: UpdateTemplate,
    @Ctx() ctx: Context,
  ) {
    const id = await updateTemplate(ctx, input);
    return { template: () => findTemplate(ctx, id) };
  }

  @Access({ needs: ["template:delete"] })
  @Mutates("Deletes a template. Its name becomes available again. CONFLICT while it has workspaces.", {
    template: { type: () => TemplateType, description: "The deleted template.", covers: "everything" },
  })
  async deleteTemplate(
    @Arg("input", () => DeleteTemplateInput, { description: "The template to delete." })
    { templateId }: NamedTemplate,
    @Ctx() ctx: Context,
  ) {
    return { template: await deleteTemplate(ctx, templateId) };
  }
}
