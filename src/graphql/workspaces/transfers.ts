import { Arg, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { usersById } from "../../domain/users/users.js";
import {
  acceptWorkspaceTransfer,
  declineWorkspaceTransfer,
  listWorkspaceTransfers,
  transferWorkspaces,
  type WorkspaceTransferRow,
  WorkspaceOffer,
  TransferWorkspaces,
} from "../../domain/workspaces/transfers.js";
import { workspacesById } from "../../domain/workspaces/workspaces.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";
import { WorkspaceType } from "./workspaces.js";
import { inputType } from "../engine/inputs.js";

@Access({ readWith: "workspace_transfer:read" })
@ObjectType("WorkspaceTransfer", {
  simpleResolvers: true,
  description: "A stopped workspace that an administrator offers to another user than its owner.",
})
class WorkspaceTransferType implements Omit<WorkspaceTransferRow, "formerOwnerId" | "offeredById"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => UUID, { description: "ID of the workspace." }) workspaceId!: string;
  @Field({ description: "Name of the workspace." }) workspaceName!: string;
  @Field(() => DateTime, { description: "When it was offered." }) createdAt!: string;
  @Field(() => DateTime, { description: "Until when it can be accepted." }) expiresAt!: string;
}

const TransferWorkspacesInput = inputType("TransferWorkspacesInput", TransferWorkspaces);

const AcceptWorkspaceTransferInput = inputType("AcceptWorkspaceTransferInput", WorkspaceOffer);

const DeclineWorkspaceTransferInput = inputType("DeclineWorkspaceTransferInput", WorkspaceOffer);

const offeredWorkspace = { workspaceId: { type: () => UUID, description: "ID of the workspace." } };

@Resolver(() => WorkspaceTransferType)
export class WorkspaceTransfersResolver {
  @FieldResolver(() => PublicUserType, { description: "The owner of the workspace." })
  formerOwner(@Root() { formerOwnerId }: WorkspaceTransferRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, formerOwnerId);
  }

  @FieldResolver(() => PublicUserType, { description: "The administrator who offers it." })
  offeredBy(@Root() { offeredById }: WorkspaceTransferRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, offeredById);
  }

  @Access({ needs: ["workspace_transfer:read"] })
  @Query(() => [WorkspaceTransferType], {
    description: "Lists the workspaces that are offered to the caller, the latest first, at most 100.",
  })
  workspaceTransfers(@Ctx() ctx: Context): Promise<WorkspaceTransferRow[]> {
    return listWorkspaceTransfers(ctx);
  }

  @Access({ needs: ["workspace_transfer:create"] })
  @Mutates(
    "Gives stopped workspaces another owner: all of them or none. Their shares, the tokens of their agents, their schedules, and the injection of secrets end; files of the former owner stay inside. For owners of the deployment, and for administrators of their organization if they may give every role that the owner holds.",
    {
      workspaces: { type: () => [WorkspaceType], description: "The workspaces after the change." },
      isOffered: {
        type: () => Boolean,
        description: "Whether they stay with their owner until the receiver accepts them.",
      },
    },
  )
  async transferWorkspaces(
    @Arg("input", () => TransferWorkspacesInput, { description: "The workspaces, and their new owner." })
    input: TransferWorkspaces,
    @Ctx() ctx: Context,
  ) {
    const { workspaceIds, isOffered } = await transferWorkspaces(ctx, input);
    return { isOffered, workspaces: () => Promise.all(workspaceIds.map((id) => ctx.load(workspacesById, id))) };
  }

  @Access({ needs: ["workspace_transfer:update"] })
  @Mutates(
    "Accepts a workspace that is offered to the caller, who owns it from then on. Fails with CONFLICT if it exceeds the quota of the caller, is not stopped, or may no longer be offered.",
    offeredWorkspace,
  )
  async acceptWorkspaceTransfer(
    @Arg("input", () => AcceptWorkspaceTransferInput, { description: "The offer." }) { id }: WorkspaceOffer,
    @Ctx() ctx: Context,
  ) {
    return { workspaceId: await acceptWorkspaceTransfer(ctx, id) };
  }

  @Access({ needs: ["workspace_transfer:update"] })
  @Mutates("Declines a workspace that is offered to the caller. It stays with its owner.", offeredWorkspace)
  async declineWorkspaceTransfer(
    @Arg("input", () => DeclineWorkspaceTransferInput, { description: "The offer." }) { id }: WorkspaceOffer,
    @Ctx() ctx: Context,
  ) {
    return { workspaceId: await declineWorkspaceTransfer(ctx, id) };
  }
}
