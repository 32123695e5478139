// What administrators do: users, groups, organizations, tokens, applications, licenses, and the audit log.
import {
  ActivateUser,
  Applications,
  AuditLog,
  CreateGroup,
  CreateToken,
  CreateUser,
  DeleteGroup,
  DeleteUser,
  Group,
  type GroupLineFragment,
  Groups,
  InviteUser,
  Licenses,
  Organizations,
  RevokeToken,
  SuspendUser,
  Tokens,
  UpdateGroup,
  User,
  type UserLineFragment,
  Users,
} from "./administration.gql.js";
import type { Api } from "./api.js";
import { choiceOf, command, flag, isId, limit, limitOf, text, texts, UsageError } from "./command.js";
import { confirm } from "./confirm.js";
import { existing, Failed } from "./failures.js";
import { moment, words as wordsOf } from "./output.js";

const rolesOf = ({ roles }: UserLineFragment): string =>
  roles
    .map(({ name }) => wordsOf(name))
    .filter((name) => name !== "member")
    .join(", ");

const listUsers = command({
  usage: "users list",
  summary: "List the users of the deployment.",
  options: {
    search: text("TEXT", "Part of the name, the username, or the email address."),
    status: text("STATUS", "active or suspended."),
    organization: text("O", "Members of an organization: name or ID."),
    limit,
  },
  run: async ({ api: open, options, output }) => {
    const filter = {
      search: options.search ?? null,
      organization: options.organization ?? null,
      status: choiceOf("status", options.status, ["ACTIVE", "SUSPENDED"]) ?? null,
    };
    const first = limitOf(options.limit);
    const { users } = await (await open()).run(Users, { filter, first });
    output.page(users, {
      USERNAME: ({ username }) => username,
      EMAIL: ({ email }) => email,
      STATUS: ({ status }) => wordsOf(status),
      ROLES: rolesOf,
      "SIGN-IN": ({ loginType, isServiceAccount }) => (isServiceAccount ? "service account" : wordsOf(loginType)),
      "LAST SEEN": ({ lastSeenAt }) => moment(lastSeenAt),
    });
  },
});

const showUser = command({
  usage: "users show USER",
  summary: "Show a user with its roles, organizations, and groups.",
  takes: [1, 1],
  run: async ({ api: open, words: [reference = ""], output }) => {
    const user = await findUser(await open(), reference);
    output.object(user, [
      ["Username", user.username],
      ["Name", user.name],
      ["Email", user.email],
      ["ID", user.id],
      ["Status", wordsOf(user.status)],
      ["Roles", rolesOf(user)],
      ["Organizations", user.organizations.map(({ name }) => name).join(", ")],
      ["Groups", user.groups.nodes.map(({ name, organization }) => `${organization.name}/${name}`).join(", ")],
      ["Created", moment(user.createdAt)],
      ["Last seen", moment(user.lastSeenAt)],
    ]);
  },
});

const findUser = (api: Api, reference: string) =>
  existing(
    `user "${reference}"`,
    api.run(User, { user: reference }).then(({ user }) => user),
  );

const createUser = command({
  usage: "users create USERNAME --email E",
  summary: "Create a user who signs in with the provider of the deployment, or a service account.",
  takes: [1, 1],
  options: {
    email: text("E", "Email address."),
    name: text("NAME", "Real name."),
    "service-account": flag("A service account, which has tokens and does not sign in."),
    organization: texts("O", "Organization: name or ID. Default: the default one."),
  },
  run: async ({ api: open, words: [username = ""], options, output }) => {
    if (options.email === undefined) throw new UsageError("Missing required options: --email.");
    const api = await open();
    const organizationIds = await organizationIdsOf(api, options.organization);
    const { createUser: made } = await api.run(CreateUser, {
      input: {
        username,
        email: options.email,
        ...(options.name !== undefined && { name: options.name }),
        ...(options["service-account"] ? { isServiceAccount: true } : { loginType: "OIDC" as const }),
        organizationIds,
      },
    });
    output.done(made.user, `User ${made.user.username} is created.`);
  },
});

const inviteUser = command({
  usage: "users invite EMAIL",
  summary:
    "Invite a person by mail, or print the link of the invitation where the server sends no mail. The person chooses a username and a password, or signs in through a provider. Needs an API token: see STEWARD_TOKEN.",
  takes: [1, 1],
  options: {
    name: text("NAME", "Real name."),
    organization: texts("O", "Organization that the person joins: name or ID. Default: the default one."),
    group: texts("G", "Group that the person joins: name or ID."),
    link: flag("Print the link, instead of sending it."),
  },
  run: async ({ api: open, words: [email = ""], options, output }) => {
    const organizations = options.organization.map((organization) => ({ organization }));
    const input = {
      email,
      ...(options.name !== undefined && { name: options.name }),
      ...(organizations.length > 0 && { organizations }),
      ...(options.group.length > 0 && { groups: options.group }),
      ...(options.link && { delivery: "LINK" as const }),
    };
    const { inviteUser: sent } = await (await open()).run(InviteUser, { input });
    output.done(sent, sent.link ?? `An invitation is sent to ${sent.invitation.email}.`);
  },
});

/** The IDs of organizations; of the default one if there are none. */
async function organizationIdsOf(api: Api, references: readonly string[]): Promise<string[]> {
  const { organizations } = await api.run(Organizations, {});
  if (references.length === 0) return organizations.filter(({ isDefault }) => isDefault).map(({ id }) => id);
  return references.map((reference) => {
    const found = organizations.find(({ id, name }) => id === reference || name === reference);
    if (found) return found.id;
    throw new Failed(`There is no organization "${reference}", or you do not have access to it.`);
  });
}

const suspendUser = command({
  usage: "users suspend USER",
  summary: "Suspend a user: sessions and tokens end, and running workspaces stop as the deployment has it.",
  takes: [1, 1],
  run: async ({ api: open, words: [reference = ""], output }) => {
    const { suspendUser: done } = await (await open()).run(SuspendUser, { user: reference });
    output.done(done.user, `User ${done.user.username} is suspended.`);
  },
});

const activateUser = command({
  usage: "users activate USER",
  summary: "Activate a suspended user.",
  takes: [1, 1],
  run: async ({ api: open, words: [reference = ""], output }) => {
    const { activateUser: done } = await (await open()).run(ActivateUser, { user: reference });
    output.done(done.user, `User ${done.user.username} is active.`);
  },
});

const deleteUser = command({
  usage: "users delete USER",
  summary: "Delete a user.",
  takes: [1, 1],
  options: { yes: flag("Do not ask.") },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    if (!options.yes) await confirm(`Delete the user ${reference}?`, signal);
    const { deleteUser: done } = await api.run(DeleteUser, { user: reference });
    output.done(done.user, `User ${done.user.username} is deleted.`);
  },
});

const listGroups = command({
  usage: "groups list",
  summary: "List the groups that you may read.",
  options: {
    search: text("TEXT", "Part of the name."),
    organization: text("O", "Only those of an organization: name or ID."),
    limit,
  },
  run: async ({ api: open, options, output }) => {
    const filter = { search: options.search ?? null, organization: options.organization ?? null };
    const { groups } = await (await open()).run(Groups, { filter, first: limitOf(options.limit) });
    output.page(groups, {
      NAME: ({ name }) => name,
      ORGANIZATION: ({ organization }) => organization.name,
      MEMBERS: ({ totalMemberCount }) => String(totalMemberCount),
      QUOTA: ({ quotaAllowance }) => String(quotaAllowance),
      SOURCE: ({ source }) => wordsOf(source),
    });
  },
});

const showGroup = command({
  usage: "groups show GROUP",
  summary: "Show a group with its members.",
  takes: [1, 1],
  run: async ({ api: open, words: [reference = ""], output }) => {
    const group = await findGroup(await open(), reference);
    output.object(group, [
      ["Name", group.name],
      ["Display name", group.displayName],
      ["ID", group.id],
      ["Organization", group.organization.name],
      ["Quota", String(group.quotaAllowance)],
      ["Source", wordsOf(group.source)],
      ["Members", group.members.nodes.map(({ user }) => user.username).join(", ")],
    ]);
  },
});

const findGroup = (api: Api, reference: string) =>
  existing(
    `group "${reference}"`,
    api.run(Group, { group: reference }).then(({ group }) => group),
  );

const createGroup = command({
  usage: "groups create NAME",
  summary: "Create a group.",
  takes: [1, 1],
  options: {
    organization: text("O", "Its organization: name or ID. Default: the default one."),
    quota: text("N", "What each member may use, in addition to other groups. Default: 0."),
  },
  run: async ({ api: open, words: [name = ""], options, output }) => {
    const quotaAllowance = options.quota === undefined ? undefined : Number(options.quota);
    if (quotaAllowance !== undefined && !Number.isInteger(quotaAllowance))
      throw new UsageError("--quota must be a whole number.");
    const input = {
      name,
      organization: options.organization ?? "default",
      ...(quotaAllowance !== undefined && { quotaAllowance }),
    };
    const { createGroup: made } = await (await open()).run(CreateGroup, { input });
    output.done(made.group, `Group ${made.group.name} is created.`);
  },
});

const deleteGroup = command({
  usage: "groups delete GROUP",
  summary: "Delete a group.",
  takes: [1, 1],
  options: { yes: flag("Do not ask.") },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    if (!options.yes) await confirm(`Delete the group ${reference}?`, signal);
    const { deleteGroup: done } = await api.run(DeleteGroup, { group: reference });
    output.done(done.group, `Group ${done.group.name} is deleted.`);
  },
});

const changeMembers = (verb: "add" | "remove") =>
  command({
    usage: `groups ${verb}-members GROUP USER...`,
    summary: verb === "add" ? "Add users to a group." : "Remove users from a group.",
    takes: [2, 101],
    run: async ({ api: open, words: [reference = "", ...users], output }) => {
      const api = await open();
      const [group, ids] = await Promise.all([
        findGroup(api, reference),
        Promise.all(users.map((user) => userIdOf(api, user))),
      ]);
      const change = verb === "add" ? { addUsers: ids } : { removeUsers: ids };
      const { updateGroup: done } = await api.run(UpdateGroup, { input: { group: group.id, ...change } });
      output.done(done.group, membersOf(done.group));
    },
  });

const membersOf = ({ name, totalMemberCount: count }: GroupLineFragment): string =>
  `Group ${name} has ${count} member${count === 1 ? "" : "s"}.`;

const userIdOf = async (api: Api, reference: string): Promise<string> =>
  isId(reference) ? reference : (await findUser(api, reference)).id;

const listOrganizations = command({
  usage: "organizations list",
  summary: "List the organizations that you may read.",
  run: async ({ api: open, output }) => {
    const { organizations } = await (await open()).run(Organizations, {});
    output.list(organizations, {
      NAME: ({ name }) => name,
      "DISPLAY NAME": ({ displayName }) => displayName,
      MEMBERS: ({ memberCount }) => String(memberCount),
      DEFAULT: ({ isDefault }) => (isDefault ? "default" : ""),
      ID: ({ id }) => id,
    });
  },
});

const listTokens = command({
  usage: "tokens list",
  summary: "List your sessions and tokens, or those of another user. Needs an API token: see STEWARD_TOKEN.",
  options: { user: text("USER", "The user. Default: you.") },
  run: async ({ api: open, options, output }) => {
    const { apiKeys } = await (await open()).run(Tokens, { user: options.user ?? "me" });
    output.list(apiKeys, {
      ID: ({ id }) => id,
      NAME: ({ name }) => name,
      KIND: ({ kind }) => wordsOf(kind),
      SCOPES: ({ scopes }) => scopes.join(" "),
      EXPIRES: ({ expiresAt }) => moment(expiresAt),
      "LAST USED": ({ lastUsedAt }) => moment(lastUsedAt) || "never",
    });
  },
});

const createToken = command({
  usage: "tokens create NAME",
  summary: "Create an API token, and print it once. Needs an API token: see STEWARD_TOKEN.",
  takes: [1, 1],
  options: {
    scope: texts("SCOPE", "What it may do, such as workspace:read. Default: all that you may."),
    days: text("N", "Days until it expires. Default: that of the server."),
  },
  run: async ({ api: open, words: [name = ""], options, output }) => {
    const days = options.days === undefined ? undefined : Number(options.days);
    if (days !== undefined && !(days > 0 && days <= 3650)) throw new UsageError("--days must be from 1 to 3650.");
    const input = {
      name,
      ...(options.scope.length > 0 && { scopes: options.scope }),
      ...(days !== undefined && { expiresAt: new Date(Date.now() + days * 86_400_000).toISOString() }),
    };
    const { createApiKey: made } = await (await open()).run(CreateToken, { input });
    output.done(made, made.token);
  },
});

const revokeToken = command({
  usage: "tokens revoke ID",
  summary: "End a session or a token. Needs an API token: see STEWARD_TOKEN.",
  takes: [1, 1],
  run: async ({ api: open, words: [id = ""], output }) => {
    const { revokeApiKey: done } = await (await open()).run(RevokeToken, { id });
    output.done(done.apiKey, `Token ${done.apiKey.id} is revoked.`);
  },
});

const listApplications = command({
  usage: "applications list",
  summary: "List the OAuth2 applications of the deployment.",
  options: { limit },
  run: async ({ api: open, options, output }) => {
    const { oauth2Apps } = await (await open()).run(Applications, { first: limitOf(options.limit) });
    output.page(oauth2Apps, {
      NAME: ({ name }) => name,
      "CLIENT ID": ({ clientId }) => clientId,
      KIND: ({ kind }) => wordsOf(kind),
      STATUS: ({ disabled }) => (disabled ? "disabled" : "active"),
      "LAST USED": ({ lastUsedAt }) => moment(lastUsedAt) || "never",
    });
  },
});

const listLicenses = command({
  usage: "licenses list",
  summary: "List the licenses of the deployment.",
  run: async ({ api: open, output }) => {
    const { licenses } = await (await open()).run(Licenses, {});
    output.list(licenses, {
      ID: ({ id }) => String(id),
      UPLOADED: ({ uploadedAt }) => moment(uploadedAt),
      EXPIRES: ({ expiresAt }) => moment(expiresAt),
      "GRACE PERIOD ENDS": ({ gracePeriodEndsAt }) => moment(gracePeriodEndsAt),
    });
  },
});

const listAudit = command({
  usage: "audit list",
  summary: "List what happened, the newest first.",
  options: {
    actor: text("USER", "Only what this user did."),
    type: text("TYPE", "Only what happened to objects of a type, such as group."),
    organization: text("O", "Only what happened in an organization: name or ID."),
    since: text("TIME", "Only from this time on, such as 2026-11-29T08:00:00Z."),
    until: text("TIME", "Only until this time."),
    limit,
  },
  run: async ({ api: open, options, output }) => {
    const filter = {
      actor: options.actor ?? null,
      resourceType: options.type ?? null,
      organization: options.organization ?? null,
      after: options.since ?? null,
      before: options.until ?? null,
    };
    const { auditEvents } = await (await open()).run(AuditLog, { filter, first: limitOf(options.limit) });
    output.page(auditEvents, {
      TIME: ({ time }) => moment(time),
      ACTOR: ({ actorUsername, actorKind }) => actorUsername ?? wordsOf(actorKind),
      ACTION: ({ action }) => wordsOf(action),
      TYPE: ({ resourceType }) => wordsOf(resourceType),
      OBJECT: ({ resourceLabel, resourceId }) => resourceLabel ?? resourceId ?? "",
      ADDRESS: ({ ip }) => ip ?? "",
    });
  },
});

export const administrationCommands = {
  "users list": listUsers,
  "users show": showUser,
  "users create": createUser,
  "users invite": inviteUser,
  "users suspend": suspendUser,
  "users activate": activateUser,
  "users delete": deleteUser,
  "groups list": listGroups,
  "groups show": showGroup,
  "groups create": createGroup,
  "groups delete": deleteGroup,
  "groups add-members": changeMembers("add"),
  "groups remove-members": changeMembers("remove"),
  "organizations list": listOrganizations,
  "tokens list": listTokens,
  "tokens create": createToken,
  "tokens revoke": revokeToken,
  "applications list": listApplications,
  "licenses list": listLicenses,
  "audit list": listAudit,
};
