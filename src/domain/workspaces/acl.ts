import { authorize } from "../authorization/authorization.js";
import { type AccessList, accessLists, type AclChanges } from "../groups/access-lists.js";
import { requireFeature } from "../entitlements/requirements.js";
import type { Context } from "../kernel/context.js";
import { lockWorkspace, ofWorkspace, workspaceHint, type WorkspaceRow } from "./workspaces.js";

export interface UpdateWorkspaceAcl extends AclChanges {
  /** Id, or `<owner>/<name>`. */
  workspace: string;
}

const entries = accessLists("workspaceAclEntries", "workspaceId");

/** Sets and removes entries of the access list of a workspace; others stay. Returns the id of the workspace. */
export async function updateWorkspaceAcl(ctx: Context, input: UpdateWorkspaceAcl): Promise<string> {
  const workspace = await lockWorkspace(ctx, input.workspace, "share");
  requireFeature(ctx, "template_rbac");
  const diff = await entries.change(ctx, workspace, input);
  if (Object.keys(diff).length > 0) {
    ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
    ctx.publish(workspaceHint(workspace.id));
  }
  return workspace.id;
}

/** Reads the access list of a workspace, for those who may share it. Throws FORBIDDEN for others. */
export async function readWorkspaceAcl(ctx: Context, workspace: WorkspaceRow): Promise<AccessList> {
  authorize(ctx.actor, "workspace:share", workspace);
  return entries.read(ctx, workspace.id);
}
