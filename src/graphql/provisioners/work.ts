import { Arg, Ctx, Field, Int, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { ProvisionerJobStatus } from "../../domain/provisioners/provisioner-jobs.js";
import {
  acceptProvisionerJob,
  completeProvisionerJob,
  failProvisionerJob,
  Leased,
  CompleteProvisionerJob,
  FailProvisionerJob,
} from "../../domain/provisioners/leases.js";
import { updateProvisionerJob, LogEntry, UpdateProvisionerJob } from "../../domain/provisioners/job-logs.js";
import { reportProvisionerResources, ReportProvisionerResources } from "../../domain/provisioners/resource-reports.js";
import { receiveWork, type WorkEvent } from "../../domain/provisioners/work.js";
import { Access, watchedBy } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { ProvisionerWorkEvent } from "./assignments.js";
import "./job-logs.js";
import { inputType } from "../engine/inputs.js";

const AcceptProvisionerJobInput = inputType("AcceptProvisionerJobInput", Leased);

inputType("LogEntryInput", LogEntry, { description: "A line for the log of a provisioner job." });

const UpdateProvisionerJobInput = inputType("UpdateProvisionerJobInput", UpdateProvisionerJob);

const ReportProvisionerResourcesInput = inputType("ReportProvisionerResourcesInput", ReportProvisionerResources);

const CompleteProvisionerJobInput = inputType("CompleteProvisionerJobInput", CompleteProvisionerJob);

const FailProvisionerJobInput = inputType("FailProvisionerJobInput", FailProvisionerJob);

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
    @Arg("input", () => AcceptProvisionerJobInput, { description: "The job." }) input: Leased,
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
    @Arg("input", () => UpdateProvisionerJobInput, { description: "The job and the lines." })
    input: UpdateProvisionerJob,
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
    @Arg("input", () => ReportProvisionerResourcesInput, { description: "The job and its resources." })
    input: ReportProvisionerResources,
    @Ctx() ctx: Context,
  ) {
    return reportProvisionerResources(ctx, input);
  }

  @Access({ openTo: ["provisioner"] })
  @Mutates("Ends a job that succeeded. May be repeated. A cancellation that was requested meanwhile is void.", endedJob)
  completeProvisionerJob(
    @Arg("input", () => CompleteProvisionerJobInput, { description: "The job and what it leaves." })
    input: CompleteProvisionerJob,
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
    @Arg("input", () => FailProvisionerJobInput, { description: "The job and its error." })
    input: FailProvisionerJob,
    @Ctx() ctx: Context,
  ) {
    return failProvisionerJob(ctx, input);
  }
}
