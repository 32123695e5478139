import { Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  mostTemplates,
  readMostUsedTemplates,
  type TemplateUse,
  UsingOrganization,
} from "../../domain/templates/most-used.js";
import { type TemplateRow, templatesById } from "../../domain/templates/templates.js";
import { Access } from "../engine/access.js";
import { argumentsOf } from "../engine/inputs.js";
import { TemplateType } from "./templates.js";

@Access({ readWith: "template:view_insights" })
@ObjectType("TemplateUse", { simpleResolvers: true, description: "How many workspaces are made from a template." })
class TemplateUseType implements Omit<TemplateUse, "templateId"> {
  templateId!: string;
  @Field(() => Int, { description: "Workspaces of the template, prebuilt ones without an owner not included." })
  workspaceCount!: number;
  @Field(() => Int, { description: "Those that are running." }) runningCount!: number;
}

const MostUsedTemplatesArgs = argumentsOf(UsingOrganization);

@Resolver(() => TemplateUseType)
export class TemplateUseResolver {
  @Access({ needs: ["template:view_insights"], countsAs: mostTemplates })
  @Query(() => [TemplateUseType], {
    description:
      "Returns the templates of an organization with the most workspaces, at most 5. Requires permission to see how its templates are used.",
  })
  mostUsedTemplates(
    @Args(() => MostUsedTemplatesArgs) args: UsingOrganization,
    @Ctx() ctx: Context,
  ): Promise<TemplateUse[]> {
    return readMostUsedTemplates(ctx, args);
  }

  @Access({ covers: ["id", "name", "displayName", "icon"] })
  @FieldResolver(() => TemplateType, { description: "The template." })
  template(@Root() { templateId }: TemplateUse, @Ctx() ctx: Context): Promise<TemplateRow | undefined> {
    return ctx.load(templatesById, templateId);
  }
}
