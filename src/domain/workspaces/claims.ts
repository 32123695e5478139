import { hasFeature } from "../entitlements/requirements.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { nameViolated } from "./names.js";

/** Who claims a prebuilt workspace, and as what. */
export interface Claim {
  ownerId: string;
  name: string;
  /** Seconds; null for the value of the template. */
  ttl: number | null;
}

// Claims the oldest whose agents are all ready. Of concurrent claims, each takes another one.
const claim = statement<{ id: string }>(`
  update workspaces set owner_id = $2, name = $3, ttl = $4, prebuilt_preset_id = null, updated_at = now()
  where id = (
    select w.id from workspaces w join template_presets p on p.id = w.prebuilt_preset_id
    where w.prebuilt_preset_id = $1 and w.deleted_at is null and w.latest_status = 'running'
      and w.created_at > coalesce(p.last_invalidated_at, '-infinity')
      and not exists (
        select from workspace_agents a where a.workspace_id = w.id and a.token_ended_at is null and a.lifecycle <> 'ready')
    order by w.created_at, w.id limit 1 for no key update of w skip locked
  )
  returning id`);

/**
 * Makes a prebuilt workspace of a preset that of a user, in the transaction of the mutation. Returns its id; `undefined`
 * if none is ready. The caller starts it once more.
 */
export async function claimPrebuild(ctx: Context, presetId: string, to: Claim): Promise<string | undefined> {
  if (!hasFeature(ctx, "workspace_prebuilds")) return undefined;
  const claimed = await ctx.row(claim, presetId, to.ownerId, to.name, to.ttl).catch(nameViolated);
  return claimed?.id;
}
