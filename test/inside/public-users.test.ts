// Records refer to users by their public fields; a full user takes permission to read it.
// Looks inside: the scopes that a selection needs are computed from the schema.
import { expect } from "chai";
import { getNamedType, type GraphQLField, isObjectType, parse } from "graphql";
import { selectionOf } from "../../src/graphql/engine/access.js";
import { getSchema } from "../support/catalog.js";

const schema = getSchema();
const objects = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) && !type.name.startsWith("__"));

/** The fields of all types that return a given type. */
const fieldsReturning = (wanted: string): string[] =>
  objects.flatMap((type) =>
    Object.values((type as { getFields: () => Record<string, GraphQLField<unknown, unknown>> }).getFields())
      .filter((field) => getNamedType(field.type).name === wanted)
      .map((field) => `${type.name}.${field.name}`),
  );

/** The fields that return a full user, and what decides that the caller may read it. */
const fullUsers: Record<string, string> = {
  "Query.me": "the caller",
  "Query.user": "findUser: user:read on the user",
  "UserConnection.nodes": "listUsers: user:read, row by row (lists.test.ts)",
  "UserEdge.node": "listUsers: user:read, row by row (lists.test.ts)",
  "PublicUser.account": "readableAccount: user:read on the user (lists.test.ts)",
  "GroupMember.account": "group_member:read, which shows no member whom the caller may not read (lists.test.ts)",
  "OrganizationMember.user": "asSeen: user:read on the members of the organization (lists.test.ts)",
  "TemplateUserEntry.user": "templateAcl: template:update, with the scope user:read (template-acl.test.ts)",
  "ScimResource.user": "forProvisioning: scim:provision, which only SCIM keys hold (scim.test.ts)",
};

/** Payloads that return the caller, or a user just created; all others take the scope `user:read`. */
const ownPayloads = [
  "AcceptInvitationPayload",
  "CreateUserPayload",
  "ChangePasswordPayload",
  "ConfirmAuthenticatorPayload",
  "ConfirmPasskeyPayload",
  "ConvertLoginPayload",
  "ForgetDevicePayload",
  "LoginPayload",
  "LoginWithPasskeyPayload",
  "RegenerateRecoveryCodesPayload",
  "RemoveAuthenticatorPayload",
  "RemovePasskeyPayload",
  "UpdatePasskeyPayload",
  "UpdateProfilePayload",
];

describe("full users", () => {
  const payloads = fieldsReturning("User").filter((field) => field.endsWith("Payload.user"));

  it("come only from fields that check the permission to read them", () => {
    const others = fieldsReturning("User").filter((field) => !payloads.includes(field));
    expect(others).to.have.members(Object.keys(fullUsers));
  });

  it("come from mutations only for the caller, for a user just created, or with the scope to read users", () => {
    const mutations = Object.values(schema.getMutationType()!.getFields());
    for (const payload of payloads.map((field) => field.split(".")[0]!)) {
      const { name, args } = mutations.find(({ type }) => getNamedType(type).name === payload)!;
      const input = args.map((arg) => `($${arg.name}: ${String(arg.type)})`).join("");
      const given = args.map((arg) => `(${arg.name}: $${arg.name})`).join("");
      const { needs } = selectionOf(schema, parse(`mutation ${input} { ${name}${given} { user { email } } }`));
      const isOwn = ownPayloads.includes(payload);
      expect(needs.includes("user:read"), `${payload} needs user:read`).to.equal(!isOwn);
    }
    expect(payloads.map((field) => field.split(".")[0])).to.include.members(ownPayloads);
  });

  it("alone have an email address, roles, a status, and a last-seen time", () => {
    expect(fieldsReturning("EmailAddress")).to.have.members([
      "User.email",
      "User.formerEmail",
      // Of people who have no account.
      "Invitation.email",
      "InvitationOffer.email",
    ]);
    expect(fieldsReturning("UserStatus")).to.deep.equal(["User.status"]);
    expect(fieldsReturning("UserRole")).to.have.members(["User.roles", "OrganizationMember.roles"]);
    const lastUses = objects.filter((type) => isObjectType(type) && type.getFields().lastSeenAt);
    expect(lastUses.map(({ name }) => name)).to.have.members(["User", "ProvisionerDaemon", "WorkspaceProxyReplica"]);
  });

  it("are replaced by public users where records refer to them", () => {
    expect(fieldsReturning("PublicUser")).to.have.members([
      "AiSpender.user",
      "ApiKey.user",
      "AuditEvent.actor",
      "AuditReader.user",
      "ConnectionLog.workspaceOwner",
      "ConnectionWebInfo.user",
      "ConversationMessage.sender",
      "EventEndpoint.maker",
      "GroupMember.user",
      "HealthCheck.mutedBy",
      "Invitation.inviter",
      "Invitation.user",
      "NotificationMessage.user",
      "OAuth2App.createdBy",
      "OAuth2App.serviceUser",
      "OAuth2Grant.user",
      "ProvisionerJob.initiator",
      "ScimKey.createdBy",
      "Task.owner",
      "TaskInput.sender",
      "TaskLogEntry.sender",
      "Template.creator",
      "TemplateVersion.creator",
      "Workspace.owner",
      "WorkspaceBuild.initiator",
      "WorkspaceTransfer.formerOwner",
      "WorkspaceTransfer.offeredBy",
      "WorkspaceUserEntry.user",
    ]);
    const { id, username, name, avatarUrl, account, ...more } = (
      schema.getType("PublicUser") as unknown as { getFields: () => Record<string, object> }
    ).getFields();
    expect([id, username, name, avatarUrl, account]).to.not.include(undefined);
    expect(more).to.deep.equal({});
  });
});
