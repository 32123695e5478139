import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Page } from "../../domain/kernel/paging.js";
import type { JobRow } from "../../domain/provisioners/provisioner-jobs.js";
import {
  JobLogArguments,
  type JobLogRow,
  logsOfJob,
  ProvisionerLogLevel,
  ProvisionerLogSource,
  watchJobLogs,
} from "../../domain/provisioners/job-logs.js";
import { Access, watchedBy } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { ProvisionerJobObject } from "./provisioner-jobs.js";
import { argumentsOf } from "../engine/inputs.js";
import type { LogArguments } from "../../domain/log-lines.js";

enumType({ ProvisionerLogLevel }, "Severity of a log line, in ascending order.", {
  TRACE: "Details for the developers of a provisioner.",
  DEBUG: "Details for the authors of templates.",
  INFO: "Progress.",
  WARN: "A problem that the job survives.",
  ERROR: "A problem because of which the job fails.",
});

enumType({ ProvisionerLogSource }, "The source of a line of the log of a job.", {
  PROVISIONER_DAEMON: "The daemon, or the server about it.",
  PROVISIONER: "The program that the daemon runs.",
});

@Access({ readWith: "provisioner_job:read", references: ["id"] })
@ObjectType("ProvisionerJobLog", { simpleResolvers: true, description: "A line of the log of a provisioner job." })
export class ProvisionerJobLogType implements JobLogRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => UUID, { description: "ID of the job." }) jobId!: string;
  @Field(() => Int, { description: "Place of the line in the log: greater than those of all lines before." })
  sequence!: number;
  @Field(() => DateTime, { description: "When it was written, by the clock of the daemon." }) createdAt!: string;
  @Field(() => ProvisionerLogLevel, { description: "Severity of the line." }) level!: ProvisionerLogLevel;
  @Field(() => ProvisionerLogSource, { description: "The source of the line." }) source!: ProvisionerLogSource;
  @Field({ description: "The step of the job, named by the daemon; empty if it names none." })
  stage!: string;
  @Field({ description: "The text, at most 4096 bytes." }) output!: string;
}

const ProvisionerJobLogConnection = connectionOf("ProvisionerJobLog", () => ProvisionerJobLogType);

const ProvisionerJobLogsArgs = argumentsOf(JobLogArguments);

@Resolver(() => ProvisionerJobObject)
export class ProvisionerJobLogsResolver {
  @FieldResolver(() => ProvisionerJobLogConnection, {
    description: "The log of the job, in its order. Lines beyond 1 MiB are dropped: see `logsOverflowed`.",
  })
  logs(
    @Root() { id }: JobRow,
    @Args(() => ProvisionerJobLogsArgs) page: LogArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<JobLogRow>> {
    return logsOfJob(ctx, id, page);
  }

  @Access({ needs: ["provisioner_job:read"] })
  @Subscription(() => ProvisionerJobLogType, {
    description: "Streams the log of a job: the lines that there are, then new ones, until the job has ended.",
    subscribe: watchedBy(watchJobLogs),
  })
  provisionerJobLogAppended(
    @Root() line: JobLogRow,
    @Arg("jobId", () => UUID, { description: "ID of the job." }) _jobId: string,
    @Arg("after", () => UUID, {
      nullable: true,
      description: "ID of the last line that the caller has: only later lines are sent.",
    })
    _after?: string | null,
  ): JobLogRow {
    return line;
  }
}
