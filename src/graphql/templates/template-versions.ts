import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import type { PrebuildSchedule } from "../../domain/templates/prebuild-schedules.js";
import { PrebuildStatus, presetsByVersion, type PresetRow } from "../../domain/templates/presets.js";
import { type TemplateRow, templatesById } from "../../domain/templates/templates.js";
import {
  documentOf,
  findVersion,
  importOf,
  type VersionRow,
  versionsById,
  versionsOf,
} from "../../domain/templates/template-versions.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf, PageArgs } from "../engine/lists.js";
import { DateTime, JSONObject, Url, UUID } from "../engine/scalars.js";
import { ProvisionerJobObject } from "../provisioners/provisioner-jobs.js";
import { PublicUserType } from "../users/users.js";
import { TemplateType } from "./templates.js";

enumType({ PrebuildStatus }, "The state of the prebuilt workspaces of a preset.", {
  HEALTHY: "They are made as needed.",
  HARD_LIMITED: "Three in a row failed. None are made until the template has a new version.",
});

@Access({ entryKey: "name" })
@ObjectType("TemplateParameterValue", { simpleResolvers: true, description: "The value of a parameter." })
class TemplateParameterValueType {
  @Field({ description: "Name of the parameter." }) name!: string;
  @Field({ description: "Its value: numbers, booleans, and lists in JSON." }) value!: string;
}

@ObjectType("PrebuildSchedule", {
  simpleResolvers: true,
  description: "A number of prebuilt workspaces that holds at some hours and days.",
})
class PrebuildScheduleType implements PrebuildSchedule {
  @Field({ description: "Hours and days as a cron expression, such as `* 8-17 * * 1-5`." }) cron!: string;
  @Field({ description: "IANA name of its time zone." }) timezone!: string;
  @Field(() => Int, { description: "Number of prebuilt workspaces that are kept ready then." }) instances!: number;
}

@Access({ readWith: "template:read", references: ["id", "name", "displayName", "icon"] })
@ObjectType("TemplatePreset", {
  simpleResolvers: true,
  description: "Named parameter values of a template version, for which workspaces can be prebuilt.",
})
export class TemplatePresetType implements Omit<
  PresetRow,
  "versionId" | "parameters" | "instances" | "scheduledInstances" | "prebuildTtl"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name, unique within the version." }) name!: string;
  @Field({ description: "Display name; may be empty." }) displayName!: string;
  @Field({ description: "Description; may be empty." }) description!: string;
  @Field(() => Url, { description: "URL of an icon; may be empty." }) icon!: string;
  @Field({ description: "Whether it is the preset that clients offer first." }) isDefault!: boolean;
  @Field(() => PrebuildStatus, { description: "The state of its prebuilt workspaces." })
  prebuildStatus!: PrebuildStatus;
  @Access({ countsAs: 5 })
  @Field(() => [PrebuildScheduleType], {
    description: "Other numbers of prebuilt workspaces by the time. The first that holds counts.",
  })
  prebuildSchedules!: PrebuildSchedule[];
  @Field(() => DateTime, {
    nullable: true,
    description: "When its prebuilt workspaces were last invalidated; null if never. Older ones are replaced.",
  })
  lastInvalidatedAt!: string | null;
  @Field(() => DateTime, { description: "When the preset was created." }) createdAt!: string;
}

@Resolver(() => TemplatePresetType)
export class TemplatePresetsResolver {
  @Access({ countsAs: 10 })
  @FieldResolver(() => [TemplateParameterValueType], { description: "The values." })
  parameters(@Root() { parameters }: PresetRow): TemplateParameterValueType[] {
    return Object.entries(parameters).map(([name, value]) => ({ name, value }));
  }

  @FieldResolver(() => Int, {
    description: "Number of prebuilt workspaces that are kept ready while no schedule says another one.",
  })
  prebuildInstances(@Root() { instances }: PresetRow): number {
    return instances;
  }

  @FieldResolver(() => Int, {
    nullable: true,
    description: "Seconds after which a prebuilt workspace is replaced; null for never.",
  })
  prebuildTtlSeconds(@Root() { prebuildTtl }: PresetRow): number | null {
    return prebuildTtl;
  }
}

@Access({ readWith: "template:read", references: ["id", "name"] })
@ObjectType("TemplateVersion", {
  simpleResolvers: true,
  description: "A version of a template. Workspaces can use it once it is imported, until it is archived.",
})
export class TemplateVersionType implements Pick<VersionRow, "id" | "name" | "isImported" | "archivedAt"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name, unique within the template." }) name!: string;
  @Field({ description: "Whether the import succeeded." }) isImported!: boolean;
  @Field(() => DateTime, { nullable: true, description: "When the version was archived; null if it is not." })
  archivedAt!: string | null;
  @Field({ description: "Whether an agent of the version runs outside of provisioner daemons." })
  hasExternalAgent!: boolean;
  @Field(() => DateTime, { description: "When the version was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the version was last updated." }) updatedAt!: string;
}

const TemplateVersionConnection = connectionOf("TemplateVersion", () => TemplateVersionType, {
  description: "A page of template versions.",
});

@Resolver(() => TemplateVersionType)
export class TemplateVersionsResolver {
  @Access({ needs: ["template:read"] })
  @Query(() => TemplateVersionType, { nullable: true, description: "Returns a version of a template." })
  templateVersion(@Arg("id", () => UUID, { description: "ID of the version." }) id: string, @Ctx() ctx: Context) {
    return findVersion(ctx, id);
  }

  @Access({ covers: ["id", "name", "displayName", "icon"] })
  @FieldResolver(() => TemplateType, { description: "Template that the version belongs to." })
  template(@Root() { templateId }: VersionRow, @Ctx() ctx: Context) {
    return ctx.load(templatesById, templateId);
  }

  @FieldResolver(() => PublicUserType, { description: "Who created the version." })
  creator(@Root() { creatorId }: VersionRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, creatorId);
  }

  @Access({ covers: "everything" })
  @FieldResolver(() => ProvisionerJobObject, {
    nullable: true,
    description:
      "The job that imports the version; null unless the caller and the scopes of its credential may read it.",
  })
  job(@Root() version: VersionRow, @Ctx() ctx: Context) {
    return importOf(ctx, version);
  }

  @Access({ needs: ["file:read"] })
  @FieldResolver(() => JSONObject, {
    nullable: true,
    description:
      "The document, with all defaults filled in. Null and FORBIDDEN for callers without permission to read files.",
  })
  document(@Root() version: VersionRow, @Ctx() ctx: Context) {
    return documentOf(ctx, version);
  }

  @FieldResolver(() => Boolean, { description: "Whether the version has an AI task." })
  hasAiTask(@Root() { taskApp }: VersionRow): boolean {
    return taskApp !== null;
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [TemplatePresetType], { description: "The presets, by name. At most 50." })
  presets(@Root() { id }: VersionRow, @Ctx() ctx: Context): Promise<PresetRow[]> {
    return ctx.load(presetsByVersion, id);
  }
}

@Resolver(() => TemplateType)
export class VersionsOfTemplatesResolver {
  @FieldResolver(() => TemplateVersionConnection, {
    description: "The versions of the template, newest first, archived ones included.",
  })
  versions(
    @Root() template: TemplateRow,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<VersionRow>> {
    return versionsOf(ctx, template, page);
  }

  @FieldResolver(() => TemplateVersionType, {
    nullable: true,
    description: "The version of new workspaces; null until an import succeeded.",
  })
  activeVersion(@Root() { activeVersionId }: TemplateRow, @Ctx() ctx: Context) {
    return activeVersionId && ctx.load(versionsById, activeVersionId);
  }
}
