import { AuditResolver } from "./audit.js";
import { AuthorizationResolver } from "./authorization.js";
import { DeploymentResolver } from "./deployment.js";
import { EncryptionResolver } from "./encryption.js";
import { GroupBudgetsResolver } from "./group-budgets.js";
import { GroupsResolver } from "./groups.js";
import { LoginResolver } from "./login.js";
import { LoginConversionsResolver } from "./login-conversions.js";
import { NotificationsResolver } from "./notifications.js";
import { OneTimePasscodesResolver } from "./one-time-passcodes.js";
import { OrganizationsResolver } from "./organizations.js";
import { PasswordsResolver } from "./passwords.js";
import { QuietHoursResolver } from "./quiet-hours.js";
import { TokensResolver } from "./tokens.js";
import { UserSecretsResolver } from "./user-secrets.js";
import { UsersResolver } from "./users.js";
import { AccountsResolver } from "./users/accounts.js";

/** Every resolver of the schema, by area. */
export const resolvers: Function[] = [
  AccountsResolver,
  AuditResolver,
  AuthorizationResolver,
  DeploymentResolver,
  EncryptionResolver,
  GroupBudgetsResolver,
  GroupsResolver,
  LoginConversionsResolver,
  LoginResolver,
  NotificationsResolver,
  OneTimePasscodesResolver,
  OrganizationsResolver,
  PasswordsResolver,
  QuietHoursResolver,
  TokensResolver,
  UserSecretsResolver,
  UsersResolver,
];
