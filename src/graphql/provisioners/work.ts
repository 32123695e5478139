import { Arg, Ctx, Field, InputType, Int, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { JobErrorCode, ProvisionerJobStatus } from "../../domain/provisioners/provisioner-jobs.js";
import {
  acceptProvisionerJob,
  type CompleteProvisionerJob,
  completeProvisionerJob,
  type FailProvisionerJob,
  failProvisionerJob,
  type Leased,
} from "../../domain/provisioners/leases.js";
import {
  type LogEntry,
  ProvisionerLogLevel,
  ProvisionerLogSource,
  type UpdateProvisionerJob,
  updateProvisionerJob,
} from "../../domain/provisioners/job-logs.js";
import {
  type ReportProvisionerResources,
  reportProvisionerResources,
} from "../../domain/provisioners/resource-reports.js";
import { receiveWork, type WorkEvent } from "../../domain/provisioners/work.js";
import { Access, watchedBy } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime, JSONObject, UUID } from "../engine/scalars.js";
import { ProvisionerWorkEvent } from "./assignments.js";
import "./job-logs.js";

@InputType()
abstract class LeasedInput implements Leased {
  @Field(() => UUID, { description: "ID of the job." }) jobId!: string;
  @Field({ description: "Lease of the job, from its assignment." }) lease!: string;
}

@InputType({ description: "Input of `acceptProvisionerJob`." })
class AcceptProvisionerJobInput extends LeasedInput {}

@InputType("LogEntryInput", { description: "A line for the log of a provisioner job." })
class LogEntryInput implements LogEntry {
  @Field(() => Int, {
    description: "Number of the line, from 1, in ascending order. Lines up to the last known number are skipped.",
  })
  sequence!: number;
  @Field(() => DateTime, { description: "When it was written." }) createdAt!: string;
  @Field(() => ProvisionerLogLevel, { description: "Severity of the line." }) level!: ProvisionerLogLevel;
  @Field(() => ProvisionerLogSource, { description: "The source of the line." }) source!: ProvisionerLogSource;
  @Field({ description: "The step of the job, at most 128 characters." }) stage!: string;
  @Field({ description: "The text, at most 4096 bytes." }) output!: string;
}

@InputType({ description: "Input of `updateProvisionerJob`." })
class UpdateProvisionerJobInput extends LeasedInput implements UpdateProvisionerJob {
  @Field(() => [LogEntryInput], { nullable: true, description: "Lines for the log, at most 100." })
  logs?: LogEntryInput[] | null;
}

@InputType({ description: "Input of `reportProvisionerResources`." })
class ReportProvisionerResourcesInput extends LeasedInput implements ReportProvisionerResources {
  @Field(() => [JSONObject], {
    description: "The resources of the document for the transition, with all references replaced.",
  })
  resources!: Array<Record<string, unknown>>;
}

@InputType({ description: "Input of `completeProvisionerJob`." })
class CompleteProvisionerJobInput extends LeasedInput implements CompleteProvisionerJob {
  @Field(() => JSONObject, {
    nullable: true,
    description: "The state for the next build of the workspace, at most 256 KiB of JSON. Builds only.",
  })
  state?: unknown;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether all builds of the workspace go to this daemon until a stop or a deletion succeeds.",
  })
  pin?: boolean | null;
}

@InputType({ description: "Input of `failProvisionerJob`." })
class FailProvisionerJobInput extends LeasedInput implements FailProvisionerJob {
  @Field({ description: "The reason of the failure, at most 4096 bytes. Shown to users." }) error!: string;
  @Field(() => JobErrorCode, { nullable: true, description: "Machine-readable reason." })
  errorCode?: JobErrorCode | null;
  @Field(() => JSONObject, { nullable: true, description: "As for `completeProvisionerJob`." }) state?: unknown;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether the job was stopped because its cancellation was requested.",
  })
  canceled?: boolean | null;
}

@ObjectType("ReportedAgent", { simpleResolvers: true, description: "An agent among reported resources." })
class ReportedAgentType {
  @Field({ description: "Name of the agent." }) name!: string;
  @Field(() => UUID, { description: "ID of the agent." }) agentId!: string;
  @Field({ description: "Whether it runs outside of the daemon's reach, which then does not start it." })
  external!: boolean;
  @Field(() => String, { nullable: true, description: "Token of the agent; null unless the workspace starts." })
  token!: string | null;
}

const endedJob = { status: { type: () => ProvisionerJobStatus, description: "State of the job." } };

@Resolver()
export class ProvisionerWorkResolver {
  @Access({ openTo: ["provisioner"] })
  @Subscription(() => ProvisionerWorkEvent, {
    description:
      "Streams work to the calling provisioner daemon. A job must be accepted within 15 seconds. One such subscription per socket.",
    subscribe: watchedBy(receiveWork),
  })
  provisionerWorkReceived(
    @Root() event: WorkEvent,
    @Arg("slots", () => Int, { description: "Number of jobs that the daemon runs at a time, 1 to 64." }) _slots: number,
  ): WorkEvent {
    return event;
  }

  @Access({ openTo: ["provisioner"] })
  @Mutates("Starts a job that was assigned to the calling daemon. May be repeated.", {
    expiresAt: { type: () => DateTime, description: "When the lease expires, unless it is renewed." },
  })
  acceptProvisionerJob(
    @Arg("input", { description: "The job." }) input: AcceptProvisionerJobInput,
    @Ctx() ctx: Context,
  ) {
    return acceptProvisionerJob(ctx, input);
  }

  @Access({ openTo: ["provisioner"] })
  @Mutates("Adds lines to the log of a job that the calling daemon runs, and renews its lease.", {
    expiresAt: { type: () => DateTime, description: "When the lease expires, unless it is renewed." },
    cancelRequested: { type: () => Boolean, description: "Whether the daemon must stop the job." },
    logsOverflowed: { type: () => Boolean, description: "Whether the log is full: further lines are dropped." },
  })
  updateProvisionerJob(
    @Arg("input", { description: "The job and the lines." })
    input: UpdateProvisionerJobInput,
    @Ctx() ctx: Context,
  ) {
    return updateProvisionerJob(ctx, input);
  }

  @Access({ openTo: ["provisioner"] })
  @Mutates(
    "Reports the resources that a job is about to create. May be repeated with equal resources. Fails with the reason QUOTA_EXCEEDED, after which the job has failed.",
    {
      dailyCost: { type: () => Int, description: "Credits that the resources cost each day." },
      agents: { type: () => [ReportedAgentType], description: "The agents of the build.", countsAs: 20 },
    },
  )
  reportProvisionerResources(
    @Arg("input", { description: "The job and its resources." })
    input: ReportProvisionerResourcesInput,
    @Ctx() ctx: Context,
  ) {
    return reportProvisionerResources(ctx, input);
  }

  @Access({ openTo: ["provisioner"] })
  @Mutates("Ends a job that succeeded. May be repeated. A cancellation that was requested meanwhile is void.", endedJob)
  completeProvisionerJob(
    @Arg("input", { description: "The job and what it leaves." })
    input: CompleteProvisionerJobInput,
    @Ctx() ctx: Context,
  ) {
    return completeProvisionerJob(ctx, input);
  }

  @Access({ openTo: ["provisioner"] })
  @Mutates(
    "Ends a job that failed, or that was stopped because its cancellation was requested. May be repeated.",
    endedJob,
  )
  failProvisionerJob(
    @Arg("input", { description: "The job and its error." })
    input: FailProvisionerJobInput,
    @Ctx() ctx: Context,
  ) {
    return failProvisionerJob(ctx, input);
  }
}
