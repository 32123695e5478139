import { createUnionType, Field, Int, ObjectType } from "type-graphql";
import type { AssignedJob, Assignment } from "../../domain/provisioners/work.js";
import { ProvisionerJobType } from "../../domain/provisioners/provisioner-jobs.js";
import type { VariableValue } from "../../domain/templates/variables.js";
import { Access } from "../engine/access.js";
import { DateTime, JSONObject, Url, UUID } from "../engine/scalars.js";
import { WorkspaceTransition } from "../workspaces/transitions.js";
import "./provisioner-jobs.js";

@ObjectType("AssignedValue", { simpleResolvers: true, description: "A variable or a parameter with its value." })
class AssignedValueType implements VariableValue {
  @Field({ description: "Its name." }) name!: string;
  @Field({ description: "Its value as text." }) value!: string;
}

@ObjectType("AssignedOwner", { simpleResolvers: true, description: "The owner of the workspace of a job." })
class AssignedOwnerType {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Username." }) username!: string;
}

@ObjectType("AssignedWorkspace", { simpleResolvers: true, description: "The workspace of a job." })
class AssignedWorkspaceType {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Its name." }) name!: string;
  @Field({ description: "Its owner." }) owner!: AssignedOwnerType;
}

@ObjectType("AssignedTask", { simpleResolvers: true, description: "The task of the workspace of a job." })
class AssignedTaskType {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Its first prompt." }) prompt!: string;
}

@ObjectType("ProvisionerAssignment", {
  simpleResolvers: true,
  description: "A job for a daemon, with all data that it needs.",
})
class ProvisionerAssignmentType implements Assignment {
  @Field(() => JSONObject, { description: "The template document, with all defaults." }) document!: unknown;
  @Access({ countsAs: 20 })
  @Field(() => [AssignedValueType], { description: "Variables of the template, in the order of the document. Secret." })
  variables!: AssignedValueType[];
  @Access({ countsAs: 20 })
  @Field(() => [AssignedValueType], { description: "Parameters of the build; defaults for imports." })
  parameters!: AssignedValueType[];
  @Field(() => WorkspaceTransition, { description: "The requested transition; START for imports and dry runs." })
  transition!: WorkspaceTransition;
  @Field(() => Int, { nullable: true, description: "Number of the build; null for other jobs." })
  buildNumber!: number | null;
  @Field({ description: "Whether the build hands a prebuilt workspace to its owner." }) claim!: boolean;
  @Field(() => JSONObject, {
    nullable: true,
    description: "The state that the last build left for the next; null if there is none.",
  })
  state!: unknown;
  @Field(() => Url, { description: "URL of this server for agents." }) accessUrl!: string;
  @Field(() => AssignedWorkspaceType, { nullable: true, description: "The workspace of a build; null for other jobs." })
  workspace!: AssignedWorkspaceType | null;
  @Field(() => AssignedTaskType, { nullable: true, description: "The task of the workspace; null if it has none." })
  task!: AssignedTaskType | null;
}

@ObjectType("ProvisionerJobAssigned", { simpleResolvers: true, description: "The daemon gets a job." })
class ProvisionerJobAssigned implements AssignedJob {
  @Field(() => UUID, { description: "ID of the job." }) jobId!: string;
  @Field({ description: "Token with which the daemon reports on the job." }) lease!: string;
  @Field(() => DateTime, { description: "Until when the daemon must accept the job." }) expiresAt!: string;
  @Field(() => ProvisionerJobType, { description: "The kind of the job." }) type!: ProvisionerJobType;
  @Field(() => JSONObject, { description: "Its tags, values by key." }) tags!: Record<string, string>;
  @Field({ description: "The data that the daemon needs for it." })
  assignment!: ProvisionerAssignmentType;
}

@ObjectType("ProvisionerJobCancelRequested", {
  simpleResolvers: true,
  description: "The daemon must stop a job, and then end it with `failProvisionerJob`.",
})
class ProvisionerJobCancelRequested {
  @Field(() => UUID, { description: "ID of the job." }) jobId!: string;
}

@ObjectType("ProvisionerDrainRequested", {
  simpleResolvers: true,
  description: "The server closes the socket soon: the daemon must connect again. Its jobs go on.",
})
class ProvisionerDrainRequested {
  @Field({ description: "Why, in a sentence." }) reason!: string;
}

export const ProvisionerWorkEvent = createUnionType({
  name: "ProvisionerWorkEvent",
  description: "An event for a provisioner daemon.",
  types: () => [ProvisionerJobAssigned, ProvisionerJobCancelRequested, ProvisionerDrainRequested] as const,
});
