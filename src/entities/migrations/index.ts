import type { MigrationObject } from "@mikro-orm/core";
import { Foundation } from "./0001-foundation.js";
import { Secrets } from "./0002-secrets.js";
import { RateLimits } from "./0003-rate-limits.js";
import { SignIn } from "./0004-sign-in.js";
import { QuietHours } from "./0005-quiet-hours.js";
import { SiteSettings } from "./0006-site-settings.js";
import { Licenses } from "./0007-licenses.js";
import { ConnectionLogs } from "./0008-connection-logs.js";
import { WorkspaceProxies } from "./0009-workspace-proxies.js";
import { Applications } from "./0010-applications.js";
import { Folding } from "./0011-folding.js";
import { PageKey } from "./0012-page-key.js";
import { AuditOrder } from "./0013-audit-order.js";
import { Inbox } from "./0014-inbox.js";
import { MemberCounts } from "./0015-member-counts.js";
import { UserSearch } from "./0016-user-search.js";
import { OAuth2 } from "./0017-oauth2.js";
import { Scim } from "./0018-scim.js";
import { ExternalAuth } from "./0019-external-auth.js";
import { NotificationMessages } from "./0020-notification-messages.js";

/** In the order in which they run. Never edit one that has landed; add the next. */
export const migrations: MigrationObject[] = [
  { name: "0001-foundation", class: Foundation },
  { name: "0002-secrets", class: Secrets },
  { name: "0003-rate-limits", class: RateLimits },
  { name: "0004-sign-in", class: SignIn },
  { name: "0005-quiet-hours", class: QuietHours },
  { name: "0006-site-settings", class: SiteSettings },
  { name: "0007-licenses", class: Licenses },
  { name: "0008-connection-logs", class: ConnectionLogs },
  { name: "0009-workspace-proxies", class: WorkspaceProxies },
  { name: "0010-applications", class: Applications },
  { name: "0011-folding", class: Folding },
  { name: "0012-page-key", class: PageKey },
  { name: "0013-audit-order", class: AuditOrder },
  { name: "0014-inbox", class: Inbox },
  { name: "0015-member-counts", class: MemberCounts },
  { name: "0016-user-search", class: UserSearch },
  { name: "0017-oauth2", class: OAuth2 },
  { name: "0018-scim", class: Scim },
  { name: "0019-external-auth", class: ExternalAuth },
  { name: "0020-notification-messages", class: NotificationMessages },
];
