import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  archiveTemplateVersion,
  createTemplateVersion,
  dryRunTemplateVersion,
  setActiveTemplateVersion,
  NamedVersion,
  CreateTemplateVersion,
  DryRunTemplateVersion,
  SetActiveTemplateVersion,
  TemplateParameter,
  TemplateVariable,
} from "../../domain/templates/version-changes.js";
import { findVersion } from "../../domain/templates/template-versions.js";
import { findTemplate } from "../../domain/templates/templates.js";
import { jobsByIds } from "../../domain/provisioners/provisioner-jobs.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { ProvisionerJobObject } from "../provisioners/provisioner-jobs.js";
import { TemplateType } from "./templates.js";
import { TemplateVersionType } from "./template-versions.js";
import { inputType } from "../engine/inputs.js";

export const TemplateVariableInput = inputType("TemplateVariableInput", TemplateVariable, {
  description: "The value of a variable of a template document.",
});

inputType("ParameterInput", TemplateParameter, { description: "The value of a parameter of a template document." });

const CreateTemplateVersionInput = inputType("CreateTemplateVersionInput", CreateTemplateVersion);

const SetActiveTemplateVersionInput = inputType("SetActiveTemplateVersionInput", SetActiveTemplateVersion);

const ArchiveTemplateVersionInput = inputType("ArchiveTemplateVersionInput", NamedVersion);

const DryRunTemplateVersionInput = inputType("DryRunTemplateVersionInput", DryRunTemplateVersion);

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
    @Arg("input", () => CreateTemplateVersionInput, { description: "The new version." })
    input: CreateTemplateVersion,
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
    @Arg("input", () => SetActiveTemplateVersionInput, { description: "The version." })
    { templateVersionId }: SetActiveTemplateVersion,
    @Ctx() ctx: Context,
  ) {
    const id = await setActiveTemplateVersion(ctx, templateVersionId);
    return { template: () => findTemplate(ctx, id) };
  }

  @Access({ needs: ["template:update"] })
  @Mutates("Archives a version: no workspace can be created from it. CONFLICT for the active version.", changedVersion)
  async archiveTemplateVersion(
    @Arg("input", () => ArchiveTemplateVersionInput, { description: "The version." })
    { templateVersionId }: NamedVersion,
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
    @Arg("input", () => DryRunTemplateVersionInput, { description: "The version and the parameters." })
    input: DryRunTemplateVersion,
    @Ctx() ctx: Context,
  ) {
    const id = await dryRunTemplateVersion(ctx, input);
    return { provisionerJob: () => ctx.load(jobsByIds, id) };
  }
}
