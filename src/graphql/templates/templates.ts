import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/paging.js";
import { organizationsById } from "../../domain/organizations/organizations.js";
import { AutomaticUpdates, Weekday } from "../../domain/templates/template-changes.js";
import {
  findTemplate,
  findTemplateByName,
  listTemplates,
  TemplateFilter,
  TemplateOrder,
  type TemplateRow,
  TemplatesQuery,
} from "../../domain/templates/templates.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf, orderType } from "../engine/lists.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";
import { OrganizationType } from "../organizations/organizations.js";
import { PublicUserType } from "../users/users.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

enumType({ Weekday }, "A day of the week.", {
  SUNDAY: "Sunday.",
  MONDAY: "Monday.",
  TUESDAY: "Tuesday.",
  WEDNESDAY: "Wednesday.",
  THURSDAY: "Thursday.",
  FRIDAY: "Friday.",
  SATURDAY: "Saturday.",
});

enumType({ AutomaticUpdates }, "When starts of workspaces take the active version of their template by themselves.", {
  NEVER: "A start takes the version of the previous build.",
  OWNERS_CHOICE: "The owner of each workspace chooses.",
  ALWAYS: "Every start takes the active version, unless the caller names another one.",
});

@Access({ readWith: "template:read", references: ["id", "name", "displayName", "icon"] })
@ObjectType("Template", { simpleResolvers: true, description: "A template, from which workspaces are created." })
export class TemplateType implements Omit<TemplateRow, "organizationId" | "creatorId" | "activeVersionId"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name, unique within the organization, case-insensitive." }) name!: string;
  @Field({ description: "Display name; may be empty." }) displayName!: string;
  @Field({ description: "Description; may be empty." }) description!: string;
  @Field(() => Url, { description: "URL of an icon; may be empty." }) icon!: string;
  @Field(() => Int, { description: "Seconds that workspaces run after a start; 0 sets no limit." })
  defaultTtlSeconds!: number;
  @Field(() => Int, { description: "Seconds that activity adds to the deadline of a workspace." })
  activityBumpSeconds!: number;
  @Access({ countsAs: 7 })
  @Field(() => [Weekday], {
    description: "Days on which workspaces stop when the quiet hours of their owner start.",
  })
  autostopDays!: number[];
  @Field({ description: "Whether owners may have their workspaces started by a schedule." })
  allowUserAutostart!: boolean;
  @Access({ countsAs: 7 })
  @Field(() => [Weekday], {
    description: "Days on which schedules start workspaces, in the time zone of each schedule.",
  })
  autostartDays!: number[];
  @Field(() => AutomaticUpdates, { description: "When starts take the active version by themselves." })
  automaticUpdates!: AutomaticUpdates;
  @Field(() => Int, { description: "Seconds without use after which workspaces become dormant; 0 for never." })
  dormantAfterSeconds!: number;
  @Field(() => Int, { description: "Seconds of dormancy after which workspaces are deleted; 0 for never." })
  deleteAfterSeconds!: number;
  @Field({ description: "Whether users may cancel the builds that they started." })
  allowUserCancel!: boolean;
  @Field({
    description: "Whether users without permission to update the template start the active version only.",
  })
  requireActiveVersion!: boolean;
  @Field({
    description:
      "Why no workspaces can be created from the template any more; empty unless it is deprecated. Existing ones keep working.",
  })
  deprecationMessage!: string;
  @Field(() => DateTime, { description: "When the template was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the template was last updated." }) updatedAt!: string;
}

const TemplateConnection = connectionOf("Template", () => TemplateType, {
  most: mostCounted,
  description: "A page of templates.",
});

inputType("TemplateFilter", TemplateFilter, {
  description: "Criteria for filtering templates. A template must match all given fields.",
});

orderType("Template", TemplateOrder, {
  NAME: "By name, case-insensitive.",
  CREATED_AT: "By the time of creation.",
});

const TemplatesArgs = argumentsOf(TemplatesQuery);

@Resolver(() => TemplateType)
export class TemplatesResolver {
  @Access({ needs: ["template:read"] })
  @Query(() => TemplateType, { nullable: true, description: "Returns a template." })
  template(@Arg("id", () => UUID, { description: "ID of the template." }) id: string, @Ctx() ctx: Context) {
    return findTemplate(ctx, id);
  }

  @Access({ needs: ["template:read"] })
  @Query(() => TemplateType, { nullable: true, description: "Returns a template of an organization by name." })
  templateByName(
    @Arg("organization", { description: "The organization: ID, name, or `default`." })
    organization: string,
    @Arg("name", { description: "Name of the template, case-insensitive; never interpreted as an ID." })
    name: string,
    @Ctx() ctx: Context,
  ) {
    return findTemplateByName(ctx, organization, name);
  }

  @Access({ needs: ["template:read"] })
  @Query(() => TemplateConnection, {
    description: "Lists the templates that the caller may read, by default by name.",
  })
  templates(@Args(() => TemplatesArgs) args: TemplatesQuery, @Ctx() ctx: Context): Promise<Page<TemplateRow>> {
    return listTemplates(ctx, args);
  }

  @Access({ covers: ["id", "name", "displayName", "icon"] })
  @FieldResolver(() => OrganizationType, { description: "Organization that the template belongs to." })
  organization(@Root() { organizationId }: TemplateRow, @Ctx() ctx: Context) {
    return ctx.load(organizationsById, organizationId);
  }

  @FieldResolver(() => PublicUserType, { description: "Who created the template." })
  creator(@Root() { creatorId }: TemplateRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, creatorId);
  }
}
