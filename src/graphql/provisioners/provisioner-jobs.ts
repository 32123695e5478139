import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/paging.js";
import { cancelProvisionerJob, CancelProvisionerJob } from "../../domain/provisioners/ended-jobs.js";
import {
  findProvisionerJob,
  JobErrorCode,
  JobFilter,
  type JobMetadata,
  jobMetadataOf,
  type JobRow,
  jobsByIds,
  JobsQuery,
  listProvisionerJobs,
  ProvisionerJobStatus,
  ProvisionerJobType,
} from "../../domain/provisioners/provisioner-jobs.js";
import { type MatchedProvisioners, matchedProvisionersOf, queuePlacesOf } from "../../domain/provisioners/matching.js";
import { type UserRow, usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { connectionOf } from "../engine/lists.js";
import { DateTime, JSONObject, UUID } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";
import { WorkspaceTransition } from "../workspaces/transitions.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

enumType({ ProvisionerJobType }, "The kind of a provisioner job.", {
  TEMPLATE_VERSION_IMPORT: "Checks a new template version.",
  WORKSPACE_BUILD: "Starts, stops, or deletes a workspace.",
  TEMPLATE_VERSION_DRY_RUN: "Shows what a template version would create.",
});

enumType({ ProvisionerJobErrorCode: JobErrorCode }, "Machine-readable reason of a failed provisioner job.", {
  REQUIRED_TEMPLATE_VARIABLES: "A variable of the template has no value.",
  INSUFFICIENT_QUOTA: "The owner of the workspace has no credits left.",
});

enumType({ ProvisionerJobStatus }, "State of a provisioner job.", {
  PENDING: "It waits for a daemon.",
  RUNNING: "A daemon works on it.",
  CANCELING: "Its daemon was told to stop it.",
  SUCCEEDED: "It is done.",
  FAILED: "It ended with an error.",
  CANCELED: "It was canceled.",
});

@ObjectType("ProvisionerJobMetadata", {
  simpleResolvers: true,
  description: "The names of the objects that a provisioner job is about.",
})
class ProvisionerJobMetadataType implements JobMetadata {
  @Field(() => UUID, { nullable: true, description: "ID of the template." }) templateId!: string | null;
  @Field({ description: "Name of the template." }) templateName!: string;
  @Field({ description: "Display name of the template." }) templateDisplayName!: string;
  @Field({ description: "Icon of the template." }) templateIcon!: string;
  @Field({ description: "Name of the template version." }) templateVersionName!: string;
  @Field(() => UUID, { nullable: true, description: "ID of the workspace; null unless the job is a build." })
  workspaceId!: string | null;
  @Field(() => String, { nullable: true, description: "Name of the workspace; null unless the job is a build." })
  workspaceName!: string | null;
  @Field(() => WorkspaceTransition, {
    nullable: true,
    description: "The transition of the build; null for other jobs.",
  })
  workspaceBuildTransition!: WorkspaceTransition | null;
}

@ObjectType("MatchedProvisioners", {
  simpleResolvers: true,
  description: "The provisioner daemons that could take a job.",
})
export class MatchedProvisionersType implements Omit<MatchedProvisioners, "workers"> {
  @Field(() => Int, { description: "Number of daemons, offline ones included." }) count!: number;
  @Field(() => Int, { description: "Number of those that were seen in the last 90 seconds." }) available!: number;
  @Field(() => DateTime, { nullable: true, description: "When one of them was last seen; null if there is none." })
  mostRecentlySeen!: string | null;
}

@ObjectType("ProvisionerJobInput", {
  simpleResolvers: true,
  description: "The objects that a provisioner job works on.",
})
class ProvisionerJobInputType {
  @Field(() => UUID, { nullable: true, description: "ID of the template version, for imports and dry runs." })
  templateVersionId!: string | null;
  @Field(() => UUID, { nullable: true, description: "ID of the build of a workspace, for builds." })
  workspaceBuildId!: string | null;
}

@Access({ readWith: "provisioner_job:read", references: ["id"] })
@ObjectType("ProvisionerJob", {
  simpleResolvers: true,
  description: "A piece of work for a provisioner daemon: an import, a build, or a dry run.",
})
export class ProvisionerJobObject implements Pick<
  JobRow,
  "id" | "createdAt" | "organizationId" | "type" | "status" | "tags" | "workerId" | "workerName" | "logsOverflowed"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => UUID, { description: "ID of the organization whose daemons may take it." }) organizationId!: string;
  @Field(() => ProvisionerJobType, { description: "The kind of the job." }) type!: ProvisionerJobType;
  @Field(() => ProvisionerJobStatus, { description: "Its state." }) status!: ProvisionerJobStatus;
  @Field({ description: "The provisioner that daemons must offer, such as `echo`." })
  provisioner!: string;
  @Field(() => JSONObject, { description: "Tags that daemons must have, values by key." }) tags!: Record<
    string,
    string
  >;
  @Field(() => UUID, { description: "ID of the user who started it." }) initiatorId!: string;
  @Field(() => UUID, { nullable: true, description: "ID of the daemon that works on it or ended it." })
  workerId!: string | null;
  @Field({ description: "Name of that daemon; empty without one. Remains when the daemon is deleted." })
  workerName!: string;
  @Field(() => DateTime, { nullable: true, description: "When a daemon accepted it; null if none has." })
  startedAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When its cancellation was requested; null if it was not." })
  canceledAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When it ended; null if it has not." })
  completedAt!: string | null;
  @Field({ description: "Whether its log exceeded 1 MiB, after which lines were dropped." })
  logsOverflowed!: boolean;
}

const ProvisionerJobConnection = connectionOf("ProvisionerJob", () => ProvisionerJobObject, { most: mostCounted });

inputType("ProvisionerJobFilter", JobFilter, {
  description: "Selects provisioner jobs. Absent fields match all.",
});

const ProvisionerJobsArgs = argumentsOf(JobsQuery);

const CancelProvisionerJobInput = inputType("CancelProvisionerJobInput", CancelProvisionerJob);

@Resolver(() => ProvisionerJobObject)
export class ProvisionerJobsResolver {
  @Access({ needs: ["provisioner_job:read"] })
  @Query(() => ProvisionerJobObject, { nullable: true, description: "Returns a provisioner job." })
  provisionerJob(
    @Arg("id", () => UUID, { description: "ID of the job." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<JobRow> {
    return findProvisionerJob(ctx, id);
  }

  @Access({ needs: ["provisioner_job:read"] })
  @Query(() => ProvisionerJobConnection, {
    description: "Lists the provisioner jobs of an organization that the caller may read, newest first.",
  })
  provisionerJobs(@Args(() => ProvisionerJobsArgs) args: JobsQuery, @Ctx() ctx: Context): Promise<Page<JobRow>> {
    return listProvisionerJobs(ctx, args);
  }

  @Access({ needs: ["provisioner_job:update"] })
  @Mutates(
    "Cancels a provisioner job. The user who started it may do so if the template allows it. Fails with CONFLICT if the job has ended or is being canceled.",
    {
      provisionerJob: {
        type: () => ProvisionerJobObject,
        description: "The job: canceled if it waited, else being canceled.",
        covers: "everything",
      },
    },
  )
  async cancelProvisionerJob(
    @Arg("input", () => CancelProvisionerJobInput, { description: "The job to cancel." })
    { job }: CancelProvisionerJob,
    @Ctx() ctx: Context,
  ) {
    const id = await cancelProvisionerJob(ctx, job);
    return { provisionerJob: () => ctx.load(jobsByIds, id) };
  }

  @FieldResolver(() => UUID, { description: "ID of the template document." })
  fileId(@Root() { documentId }: JobRow): string {
    return documentId;
  }

  @FieldResolver(() => ProvisionerJobInputType, { description: "The objects that it works on." })
  input(@Root() { versionId, workspaceBuildId }: JobRow): ProvisionerJobInputType {
    return { templateVersionId: versionId, workspaceBuildId };
  }

  @FieldResolver(() => String, { nullable: true, description: "Why it failed; null if it did not." })
  error(@Root() { error }: JobRow): string | null {
    return error || null;
  }

  @FieldResolver(() => JobErrorCode, {
    nullable: true,
    description: "Machine-readable reason of its failure; null if there is none.",
  })
  errorCode(@Root() { errorCode }: JobRow): JobErrorCode | null {
    return errorCode || null;
  }

  @FieldResolver(() => PublicUserType, { description: "User who started it." })
  initiator(@Root() { initiatorId }: JobRow, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, initiatorId);
  }

  @FieldResolver(() => ProvisionerJobMetadataType, { description: "The names of the objects that it is about." })
  metadata(@Root() { id }: JobRow, @Ctx() ctx: Context): Promise<JobMetadata> {
    return ctx.load(jobMetadataOf, id);
  }

  @FieldResolver(() => Int, {
    description:
      "Place in the queue, from 1: the lowest among those of all online daemons that could take it. 0 if there is none, or the job does not wait.",
  })
  async queuePosition(@Root() { id, status }: JobRow, @Ctx() ctx: Context): Promise<number> {
    return status === "pending" ? (await ctx.load(queuePlacesOf, id)).position : 0;
  }

  @FieldResolver(() => Int, {
    description: "Number of jobs in the longest of these queues. 0 if there is none, or the job does not wait.",
  })
  async queueSize(@Root() { id, status }: JobRow, @Ctx() ctx: Context): Promise<number> {
    return status === "pending" ? (await ctx.load(queuePlacesOf, id)).size : 0;
  }

  @Access({ countsAs: 20 })
  @FieldResolver(() => [UUID], {
    description: "IDs of the daemons that could take it, online or not. Empty if the job does not wait.",
  })
  async availableWorkers(@Root() { id, status }: JobRow, @Ctx() ctx: Context): Promise<string[]> {
    return status === "pending" ? (await ctx.load(matchedProvisionersOf, id)).workers : [];
  }

  @FieldResolver(() => MatchedProvisionersType, { description: "The daemons that could take it." })
  matchedProvisioners(@Root() { id }: JobRow, @Ctx() ctx: Context): Promise<MatchedProvisioners> {
    return ctx.load(matchedProvisionersOf, id);
  }
}
