import { AuditResolver } from "./audit.js";
import { AuthorizationResolver } from "./authorization.js";
import { DeploymentResolver } from "./deployment.js";
import { GroupBudgetsResolver } from "./group-budgets.js";
import { GroupsResolver } from "./groups.js";
import { LoginResolver } from "./login.js";
import { NotificationsResolver } from "./notifications.js";
import { OrganizationsResolver } from "./organizations.js";
import { TokensResolver } from "./tokens.js";
import { UsersResolver } from "./users.js";
import { AccountsResolver } from "./users/accounts.js";

/** Every resolver of the schema, by area. */
export const resolvers: Function[] = [
  AccountsResolver,
  AuditResolver,
  AuthorizationResolver,
  DeploymentResolver,
  GroupBudgetsResolver,
  GroupsResolver,
  LoginResolver,
  NotificationsResolver,
  OrganizationsResolver,
  TokensResolver,
  UsersResolver,
];
