import { Arg, Ctx, Field, Int, ObjectType, Resolver } from "type-graphql";
import type { Need } from "../../domain/authorization/authorization.js";
import type { Context } from "../../domain/kernel/context.js";
import { type ImportedRow, importInvitations, ImportInvitations } from "../../domain/invitations/importing.js";
import { invitationsById } from "../../domain/invitations/invitations.js";
import { type AccessFields, InvitedOrganization } from "../../domain/invitations/invited-access.js";
import {
  InvitedLogin,
  inviteUser,
  InviteUser,
  resendInvitation,
  ResendInvitation,
  revokeInvitation,
  RevokeInvitation,
} from "../../domain/invitations/inviting.js";
import { Access } from "../engine/access.js";
import { enumType, Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { InvitationType } from "./invitations.js";

enumType({ InvitedLogin }, "How a person who is invited signs in.", {
  PASSWORD: "With a password of its own.",
  OIDC: "Through the OpenID Connect provider.",
  GITHUB: "Through GitHub.",
});

inputType("InvitedOrganization", InvitedOrganization, {
  description: "An organization that a person joins, and the roles there.",
});
const InviteUserInput = inputType("InviteUserInput", InviteUser);
const ResendInvitationInput = inputType("ResendInvitationInput", ResendInvitation);
const RevokeInvitationInput = inputType("RevokeInvitationInput", RevokeInvitation);
const ImportInvitationsInput = inputType("ImportInvitationsInput", ImportInvitations);

const changedInvitation = {
  invitation: {
    type: () => InvitationType,
    description: "The invitation after the change.",
    covers: "everything" as const,
  },
};

const sentInvitation = {
  ...changedInvitation,
  link: {
    type: () => String,
    nullable: true,
    description:
      "The link to hand over to the person: it creates the account, once, within seven days. It cannot be read again. Null if it is mailed.",
  },
};

const readChangedInvitation = (ctx: Context, id: string) => ({ invitation: () => ctx.load(invitationsById, id) });

/** The needs of giving access, besides those of inviting. */
const neededToGive = ({ roles, organizations, groups }: AccessFields): Need[] => [
  ...(roles?.length ? (["assign_role:assign"] as const) : []),
  ...(organizations?.some((each) => each.roles?.length) ? (["assign_org_role:assign"] as const) : []),
  ...(groups?.length ? (["group:update"] as const) : []),
];

@ObjectType("ImportedInvitationFault", { simpleResolvers: true, description: "A fault of a row of an import." })
class ImportedInvitationFaultType {
  @Field({ description: "Name of the column; empty for the row as a whole." }) column!: string;
  @Field({ description: "The violated rule as a sentence." }) detail!: string;
}

@ObjectType("ImportedInvitation", { simpleResolvers: true, description: "A row of an import of invitations." })
class ImportedInvitationType implements ImportedRow {
  @Field(() => Int, { description: "Number of its line in the file; the line of the names of the columns is 1." })
  line!: number;
  @Field({ description: "Email address." }) email!: string;
  @Field({ description: "Real name." }) name!: string;
  @Access({ countsAs: 2 })
  @Field(() => [ImportedInvitationFaultType], { description: "Its faults; none if it can be imported." })
  faults!: ImportedInvitationFaultType[];
  @Field(() => String, {
    nullable: true,
    description: "The link to hand over to the person; null in a preview, and if it is mailed.",
  })
  link!: string | null;
}

@Resolver()
export class InvitingResolver {
  @Access({
    needs: ["invitation:create", "organization_member:create"],
    openTo: ["session", "token"],
    byArguments: ({ input }: { input: InviteUser }) => ({ needs: neededToGive(input), openTo: ["session", "token"] }),
  })
  @Mutates(
    "Invites a person to create an account with an email address, by mail or by a link to hand over. It works once, for seven days. When it is accepted, it gives what the caller may give then; nothing, if the caller is suspended or may create no users any more. CONFLICT if the address has an account or an open invitation. At most 60 per minute.",
    sentInvitation,
  )
  async inviteUser(
    @Arg("input", () => InviteUserInput, { description: "The person, and what the person gets." }) input: InviteUser,
    @Ctx() ctx: Context,
  ) {
    const { id, link } = await inviteUser(ctx, input);
    return { ...readChangedInvitation(ctx, id), link };
  }

  @Access({
    // It returns a link to all that the invitation gives, as that which creates it.
    needs: [
      "invitation:update",
      "invitation:create",
      "assign_role:assign",
      "organization_member:create",
      "assign_org_role:assign",
      "group:update",
    ],
    openTo: ["session", "token"],
  })
  @Mutates(
    "Sends an invitation again that was not accepted, at most 10 times, once a minute: with a new link, for seven days. The former link stops working. By what the caller may give, it gives access from then on.",
    sentInvitation,
  )
  async resendInvitation(
    @Arg("input", () => ResendInvitationInput, { description: "The invitation." }) input: ResendInvitation,
    @Ctx() ctx: Context,
  ) {
    const { id, link } = await resendInvitation(ctx, input);
    return { ...readChangedInvitation(ctx, id), link };
  }

  @Access({ needs: ["invitation:delete"], openTo: ["session", "token"] })
  @Mutates("Revokes an invitation that was not accepted. Its link stops working.", changedInvitation)
  async revokeInvitation(
    @Arg("input", () => RevokeInvitationInput, { description: "The invitation." }) { id }: { id: string },
    @Ctx() ctx: Context,
  ) {
    return readChangedInvitation(ctx, await revokeInvitation(ctx, id));
  }

  @Access({
    needs: [
      "invitation:create",
      "assign_role:assign",
      "organization_member:create",
      "assign_org_role:assign",
      "group:update",
    ],
    openTo: ["session", "token"],
  })
  @Mutates(
    "Invites the people in a file of comma-separated values (RFC 4180), at most 1000: all of them or none. Its first line has the names of the columns: `email`, and optionally `name`, `organizations`, `groups`, and `roles`. Cells of the last three have several values, separated by semicolons; a role in an organization is written `organization/role`, a group `organization/group`. Without `organizations`, people join those of their roles, or else the default one.",
    {
      rows: {
        type: () => [ImportedInvitationType],
        description: "The rows of the file.",
        countsAs: 1000,
      },
      invitedCount: { type: () => Int, description: "Number of people who were invited; 0 in a preview." },
    },
  )
  async importInvitations(
    @Arg("input", () => ImportInvitationsInput, { description: "The file." }) input: ImportInvitations,
    @Ctx() ctx: Context,
  ) {
    return importInvitations(ctx, input);
  }
}
